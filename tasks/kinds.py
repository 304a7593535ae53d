"""The kinds of study, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from memory.errors import BadInput
from tasks.forgetting_study import ForgettingStudy
from tasks.study import Study

KINDS: dict[str, type[Study]] = {"representation": Study, "forgetting": ForgettingStudy}


def kind_of(fields: Mapping[str, Any]) -> type[Study]:
    """The class of a study's fields.

    Raises:
        BadInput: If there is no such kind.
    """
    name = fields.get("study", "representation")
    if name not in KINDS:
        raise BadInput(f"study {name!r}: unknown; choose one of {', '.join(KINDS)}")
    return KINDS[name]


def make_study(fields: dict[str, Any]) -> Study:
    """A study whose conditions can be resolved.

    Raises:
        BadInput: Naming the first field that is wrong.
    """
    try:
        study = kind_of(fields)(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "study"
        raise BadInput(f"{where}: {first['msg'].removeprefix('Value error, ')}") from error
    for condition in study.conditions:
        study.arm(condition)
    return study
