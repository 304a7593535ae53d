"""How a reply and a vector are written in the store, and how damage to them is seen.

A reply is canonical JSON with a field `checksum` over the rest; a vector is its length, its float32 and a CRC-32, all
little-endian. Entries of older versions have no checksum: their JSON has blanks after its separators, and their length
lacks the top bit. So no flipped bit makes one kind out of the other.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from diskcache.core import MODE_PICKLE, MODE_RAW

from memory.models import Vectors

Record = dict[str, Any]

CALL_ID = re.compile(r"[0-9a-f]{64}")
_CHECKSUM = "checksum"
_CHECKED = 1 << 31
_LENGTH = np.dtype("<u4")
_FLOATS = np.dtype("<f4")


class BrokenEntry(ValueError):
    """An entry is not what the store writes; the message says in a few words, without its text, why."""


def reply_text(record: Mapping[str, Any]) -> str:
    """A reply as the store keeps it."""
    return _canonical({**record, _CHECKSUM: _checksum(_canonical(record))})


def reply_of(value: str | bytes) -> Record:
    """The record of a kept reply.

    Raises:
        BrokenEntry: If it is torn, altered or no reply.
    """
    if not isinstance(value, str):
        raise BrokenEntry("wrong type: it is no reply")
    try:
        record = json.loads(value)
    except (ValueError, RecursionError):
        raise BrokenEntry("torn JSON") from None
    if not isinstance(record, dict):
        raise BrokenEntry("wrong type: its JSON is no object")
    checksum = record.pop(_CHECKSUM, None)
    if checksum is None:
        if json.dumps(record, ensure_ascii=True) != value:
            raise BrokenEntry("not written by this program")
    elif checksum != _checksum(_without(value, checksum)):
        raise BrokenEntry("checksum")
    return record


def _without(text: str, checksum: object) -> str:
    """Canonical JSON without its field `checksum`, cut out of the text itself: writing it anew would take longer."""
    before, _, after = text.partition(f'"{_CHECKSUM}":"{checksum}"')
    return before + after[1:] if after.startswith(",") else before.removesuffix(",") + after


def vector_bytes(vector: Vectors) -> bytes:
    """A vector as the store keeps it."""
    data = (
        np.array([len(vector) | _CHECKED], _LENGTH).tobytes()
        + np.ascontiguousarray(vector, _FLOATS).tobytes()
    )
    return data + zlib.crc32(data).to_bytes(4, "little")


def vector_of(value: str | bytes) -> Vectors:
    """A kept vector, as it was bought.

    Raises:
        BrokenEntry: If it is torn, altered or no vector.
    """
    if not isinstance(value, bytes):
        raise BrokenEntry("wrong type: it is no vector")
    if len(value) < 2 * _LENGTH.itemsize:
        raise BrokenEntry("wrong length")
    said = int(np.frombuffer(value, _LENGTH, 1)[0])
    checked, dimensions = said & _CHECKED, said & ~_CHECKED
    end = _LENGTH.itemsize + dimensions * _FLOATS.itemsize
    if len(value) != end + (4 if checked else 0) or not dimensions:
        raise BrokenEntry("wrong length")
    if checked and zlib.crc32(value[:end]) != int.from_bytes(value[end:], "little"):
        raise BrokenEntry("checksum")
    return np.frombuffer(value, _FLOATS, dimensions, _LENGTH.itemsize)


def check(value: str | bytes) -> None:
    """Read an entry of either kind.

    Raises:
        BrokenEntry: If it is not what the store writes.
    """
    reply_of(value) if isinstance(value, str) else vector_of(value)


def check_columns(mode: int, in_file: bool, kind: str) -> None:
    """Refuse database columns that the store never writes, above all pickles and names of files.

    Args:
        mode: diskcache's mode of storage.
        in_file: Whether a file is named that holds the value.
        kind: SQLite's name for the type of the value.

    Raises:
        BrokenEntry: Saying what is there instead.
    """
    if mode == MODE_PICKLE:
        raise BrokenEntry("a pickled value, which is never opened")
    if mode != MODE_RAW or in_file:
        raise BrokenEntry("a reference to a file, which is never followed")
    if kind not in ("text", "blob"):
        raise BrokenEntry(f"wrong type: a value of type {kind}")


def _canonical(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
