"""Damaged entries of a store, set aside whole: bought once already, and bought again only when the user says so."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from results.tables import write_bytes
from tasks.models.store_rows import Row


@dataclass(frozen=True, slots=True)
class SetAside:
    """An entry in quarantine.

    Attributes:
        key: The call id, or what stood in its place.
        fault: What is wrong with it.
        file: Where its bytes are.
    """

    key: str
    fault: str
    file: Path


class Quarantine:
    """A folder with a file for each entry that was set aside. Its presence forbids to buy that call again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, row: Row, fault: str) -> None:
        """Keep a damaged row, bytes and all; on the disk when this returns."""
        kept = {
            "key": row.name,
            "fault": fault,
            "mode": row.mode,
            "type": row.kind,
            "bytes": base64.b64encode(row.data).decode("ascii"),
        }
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_bytes(
            self._file(row.key.decode("utf-8", "replace")), json.dumps(kept, indent=1).encode("ascii")
        )

    def fault(self, key: str) -> str | None:
        """Why the entry of a key was set aside, or none if it was not."""
        file = self._file(key)
        return _read(file).fault if file.exists() else None

    def lift(self, key: str) -> None:
        """The call has a whole entry again: what was set aside stays as evidence and forbids nothing any more."""
        file = self._file(key)
        if file.exists():
            content = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
            file.replace(file.with_suffix(f".{content}.replaced"))

    def all(self) -> Iterator[SetAside]:
        """Every entry that may only be bought again with repair, by file name."""
        for file in sorted(self._folder.glob("*.json")):
            yield _read(file)

    def _file(self, key: str) -> Path:
        # A key may be anything; its hash is a name for a file.
        return self._folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}.json"


def _read(file: Path) -> SetAside:
    try:
        kept = json.loads(file.read_bytes())
        return SetAside(str(kept["key"]), str(kept["fault"]), file)
    except (ValueError, KeyError, TypeError):
        return SetAside("unknown", "its file in quarantine is torn, too", file)
