"""Reading a benchmark's file: JSON arrays and JSON lines, gzipped or not, one row at a time.

Rows are streamed, because LongMemEval S is 277 MB of JSON. Whatever is wrong with a file ends in `BadInput`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import ijson  # type: ignore[import-untyped]
from ijson.common import ObjectBuilder  # type: ignore[import-untyped]
from pydantic import BaseModel, ValidationError

from memory.errors import BadInput

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_SHOWN = 80
_DEEPEST = 64
_HALF_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")

Model = TypeVar("Model", bound=BaseModel)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"{path}: the gzip file is damaged or cut short ({error}); fetch it again") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _open(path: Path) -> io.BufferedIOBase:
    with path.open("rb") as file:
        zipped = file.read(2) == _GZIP_MAGIC
    return gzip.GzipFile(path) if zipped else path.open("rb")


def sha256(path: Path) -> str:
    """Hash of the file's bytes, uncompressed if it is gzipped, in hexadecimal.

    Raises:
        BadInput: If the file cannot be read.
    """
    with _readable(path), _open(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rows(
    path: Path,
    *,
    remedy: str = "fetch the file again",
    hint: str = "give the benchmark's own file",
) -> Iterator[tuple[str, Any]]:
    """The rows of a JSON array, or of JSON lines, each with its place such as `row 3`, counted from one.

    Args:
        path: The file; a byte order mark at its start is passed over.
        remedy: What an error message advises where a row is broken.
        hint: The same where the file is none of this kind.

    Raises:
        BadInput: If the file cannot be read, is neither, is broken, or has no row.
    """
    with _readable(path), _open(path) as file:
        head = file.read(1 << 16)
        start = head.removeprefix(_BOM).lstrip()[:1]
        file.seek(len(_BOM) if head.startswith(_BOM) else 0)
        if start == b"[":
            found = _array(path, file, remedy)
        elif start == b"{":
            found = _lines(path, file, remedy)
        else:
            raise BadInput(f"{path}: neither a JSON array nor JSON lines; {hint}")
        first = list(islice(found, 1))
        if not first:
            raise BadInput(f"{path}: holds no rows; {hint}")
        yield from first
        yield from found


def begins_as_json(path: Path) -> bool:
    """Whether a file's first character is one that JSON rows begin with.

    Raises:
        BadInput: If the file cannot be read.
    """
    with _readable(path), _open(path) as file:
        return file.read(1 << 16).removeprefix(_BOM).lstrip()[:1] in (b"[", b"{")


def beginning(path: Path, length: int) -> bytes:
    """A file's first bytes, unpacked if it is gzipped.

    Raises:
        BadInput: If the file cannot be read.
    """
    with _readable(path), _open(path) as file:
        return file.read(length)


def whole_bytes(path: Path, most: int) -> bytes:
    """A file's bytes, unpacked if it is gzipped.

    Raises:
        BadInput: If the file cannot be read, or is longer than `most` bytes.
    """
    with _readable(path), _open(path) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise BadInput(f"{path}: unpacks to more than {most:,} bytes; give the benchmark's own file")
    return found


def parsed(raw: bytes, where: str) -> Any:
    """What JSON in UTF-8 says, without halves of characters.

    Raises:
        BadInput: If it is none, or nested too deeply; the message names `where`.
    """
    try:
        return _whole(json.loads(raw.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{where}: not JSON ({reason}); fetch the file again") from error


def whole_text(path: Path) -> str:
    """A file's text, without a byte order mark.

    Raises:
        BadInput: If the file cannot be read, or is not UTF-8.
    """
    with _readable(path), _open(path) as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadInput(f"{path}: byte {error.start + 1}: no UTF-8; save the file as UTF-8") from error


def values(path: Path, *, remedy: str, hint: str) -> Iterator[tuple[str, Any]]:
    """As `rows`, but a file that is one JSON object, over however many lines, is one row.

    Raises:
        BadInput: As `rows`.
    """
    found = rows(path, remedy=remedy, hint=hint)
    try:
        first = next(found)
    except BadInput:
        whole = _object(path)
        if whole is None:
            raise
        yield "row 1", whole
        return
    yield first
    yield from found


def _object(path: Path) -> dict[str, Any] | None:
    """The JSON object that a file is, if it is one."""
    with _readable(path), _open(path) as file:
        try:
            value = _whole(json.loads(file.read().decode("utf-8-sig")))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _array(path: Path, file: io.BufferedIOBase, remedy: str) -> Iterator[tuple[str, Any]]:
    number = 0
    try:
        for number, value in enumerate(_items(file), start=1):
            yield f"row {number}", value
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path}: row {number + 1}: no UTF-8, or an escape such as \\ud83d that is half of a character; "
            "correct the row, or fetch the file again"
        ) from error
    except (ijson.JSONError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{path}: row {number + 1}: not JSON ({reason}); {remedy}") from error


def _items(file: io.BufferedIOBase) -> Iterator[Any]:
    """The items of the outermost array.

    The parser would build a path for every level, gigabytes for a file of nothing but brackets: so levels are counted.

    Raises:
        ValueError: If something is nested deeper than any benchmark nests.
    """
    depth, builder = 0, ObjectBuilder()
    for event, value in ijson.basic_parse(file, use_float=True):
        depth -= event in ("end_array", "end_map")
        if depth > 0:
            builder.event(event, value)
            if depth == 1 and event not in ("start_array", "start_map"):
                yield builder.value
                builder = ObjectBuilder()
        depth += event in ("start_array", "start_map")
        if depth > _DEEPEST:
            raise ValueError(f"nested deeper than {_DEEPEST} levels")


def _lines(path: Path, file: io.BufferedIOBase, remedy: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            text = line.decode("utf-8")
            value = json.loads(text)
            if _HALF_ESCAPED.search(text):
                value = _whole(value)
        except (ValueError, RecursionError) as error:
            reason = str(error).splitlines()[0]
            raise BadInput(f"{path}: line {number}: not JSON ({reason}); {remedy}") from error
        yield f"line {number}", value


def _whole(value: Any) -> Any:
    """JSON without halves of characters, which no table can hold: each is `?`, as the parser of arrays makes it."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(item) for name, item in value.items()}
    return value


def checked(model: type[Model], value: Any, where: str) -> Model:
    """`value` as a `model`.

    Raises:
        BadInput: If it has another shape; the message names `where`, the field and what stands there.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        # Of the alternatives of a union, the error that lies deepest is about the one that was meant.
        fault = max(error.errors(include_url=False), key=lambda fault: len(fault["loc"]))
        field = ".".join(str(part) for part in fault["loc"]) or "the row"
        found = fault["input"]
        shown = f", found {shortened(found)}" if isinstance(found, str | int | float | None) else ""
        raise BadInput(f"{where}: {field}: {fault['msg']}{shown}") from error


def shortened(value: object) -> str:
    """A scalar as an error message shows it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
