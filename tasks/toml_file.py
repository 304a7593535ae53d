"""Reading what a user wrote as TOML, with one clear line for whatever is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from memory.errors import BadInput

M = TypeVar("M", bound=BaseModel)


def read_fields(path: Path) -> dict[str, Any]:
    """The fields of a TOML file.

    Raises:
        BadInput: If the file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # also text that is no UTF-8, and numbers of thousands of digits
        raise BadInput(f"{path}: not TOML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise BadInput(f"{path}: not TOML that can be read: it is nested too deeply") from error


def read_as(path: Path, shape: type[M]) -> M:
    """A TOML file as an object of a shape.

    Raises:
        BadInput: As `read_fields`, or naming the first field that is wrong.
    """
    fields = read_fields(path)
    try:
        return shape.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
