"""The file in which a store travels: JSON lines, compressed with zstd, with no path, no pickle and no code in it.

The first line says what it is; then a line for each entry as the store keeps it, checksum and all; then a line for
each row of the ledger; the last line counts them and hashes all that is before it. Whoever reads it trusts nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from memory.errors import BadInput
from tasks.models.entries import CALL_ID, BrokenEntry, check
from tasks.models.ledger import Entry

_HEAD = {"palimpsest": "store", "version": 1}
_LONGEST_LINE = 64 * 2**20
_ENTRY_OF_LEDGER = TypeAdapter(Entry)


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry of the store, as it is kept there."""

    call_id: str
    value: str | bytes


@dataclass(frozen=True, slots=True)
class Entered:
    """A row of the ledger: who entered it and when (seconds since 1970), and the row."""

    process: str
    time: float
    entry: Entry


class StoreFile:
    """Writes such a file, line by line."""

    def __init__(self, file: Path) -> None:
        self._stream = pa.output_stream(str(file), compression="zstd")
        self._digest = hashlib.sha256()
        self._entries = self._rows = 0
        self._line(_HEAD)

    def __enter__(self) -> StoreFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Without its last line, which only `finish` writes, the file is not whole."""
        self._stream.close()

    def keep(self, entry: Kept) -> None:
        """Write an entry. All entries come before all rows of the ledger."""
        text = entry.value if isinstance(entry.value, str) else base64.b64encode(entry.value).decode("ascii")
        self._line({"id": entry.call_id, "reply" if isinstance(entry.value, str) else "vector": text})
        self._entries += 1

    def enter(self, row: Mapping[str, Any]) -> None:
        """Write a row of the ledger, by column."""
        self._line({"call": dict(row)})
        self._rows += 1

    def finish(self) -> None:
        """Write the last line."""
        self._line({"entries": self._entries, "calls": self._rows, "sha256": self._digest.hexdigest()})

    def _line(self, fields: Mapping[str, Any]) -> None:
        line = json.dumps(fields, ensure_ascii=True).encode("ascii") + b"\n"
        self._digest.update(line)
        self._stream.write(line)


def read_store_file(file: Path) -> Iterator[Kept | Entered]:
    """What is in such a file, one thing at a time, each of it checked.

    Raises:
        BadInput: If it is anything else, or not whole; the message names the line.
    """
    if not file.is_file():
        raise BadInput(f"{file}: no such file")
    number = 1
    try:
        for line in _lines(file):
            if line is not None:
                yield _item(line)
            number += 1
    except (ValueError, KeyError, TypeError, RecursionError, OSError) as error:
        raise BadInput(
            f"{file}: line {number} is not what an export of a store holds: {_why(error)}"
        ) from error


def _lines(file: Path) -> Iterator[dict[str, Any] | None]:
    """The lines between the first and the last, which are checked here and given as none."""
    digest = hashlib.sha256()
    counted = {"entries": 0, "calls": 0}
    with pa.input_stream(str(file), compression="zstd") as compressed:
        stream = cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, compressed), 2**20))
        line = _next(stream)
        if line is None or json.loads(line) != _HEAD:
            raise ValueError("it does not begin as one of this version")
        yield None
        while line is not None:
            digest.update(line)
            line = _next(stream)
            if line is None:
                raise ValueError("the file ends too early")
            fields = json.loads(line)
            if "sha256" in fields:
                if fields != {**counted, "sha256": digest.hexdigest()} or _next(stream) is not None:
                    raise ValueError("its counts or its checksum are wrong")
                yield None
                return
            if "id" in fields and counted["calls"]:
                raise ValueError("an entry after rows of the ledger")
            counted["entries" if "id" in fields else "calls"] += 1
            yield fields


def _next(stream: BinaryIO) -> bytes | None:
    line = stream.readline(_LONGEST_LINE)
    if line and not line.endswith(b"\n"):
        raise ValueError("a line is too long, or cut short")
    return line or None


def _item(fields: dict[str, Any]) -> Kept | Entered:
    if "call" in fields:
        return _entered(fields["call"])
    call_id = fields["id"]
    if not isinstance(call_id, str) or not CALL_ID.fullmatch(call_id):
        raise ValueError("its id is no call id")
    value = fields["reply"] if "reply" in fields else base64.b64decode(fields["vector"], validate=True)
    check(value)
    return Kept(call_id, value)


def _entered(row: dict[str, Any]) -> Entered:
    process, time = row.pop("process"), row.pop("time")
    if not isinstance(process, str) or not isinstance(time, float) or not math.isfinite(time):
        raise ValueError("a row of the ledger without its process or its time")
    entry = _ENTRY_OF_LEDGER.validate_json(json.dumps({**row, "flags": row["flags"].split()}), strict=True)
    amounts = (
        entry.usd,
        entry.charged_usd,
        entry.charged_tokens,
        entry.prompt_tokens,
        entry.completion_tokens,
    )
    if any(amount is not None and not 0 <= amount < 1e15 for amount in amounts):
        raise ValueError("a row of the ledger with an amount that is none")
    return Entered(process, time, entry)


def _why(error: Exception) -> str:
    """The fault in plain words, without what the file says."""
    if isinstance(error, BrokenEntry):
        return f"a damaged entry ({error})"
    if isinstance(error, ValidationError):
        return f"a row of the ledger of another shape ({error.errors()[0]['type']})"
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | binascii.Error | RecursionError):
        return "it is no JSON, or torn"
    if isinstance(error, OSError):
        return "it cannot be read, or is no zstd"
    return str(error) if type(error) is ValueError else "it has other fields"
