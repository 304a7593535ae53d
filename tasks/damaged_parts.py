"""Damaged parts of a run: seen before they are used, set aside in the run folder, told, and remembered.

A part is made again from the store at no cost. What its quarantine remembers is that its calls were bought once, so
that those which the store has lost, too, are not bought again unasked; see `was_set_aside`.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from results.errors import TornTable

_QUARANTINE = "quarantine"
_lock = threading.Lock()
_told: dict[Path, list[str]] = {}


def told(run: Path) -> list[str]:
    """What this process has set aside in a run so far, one line each."""
    with _lock:
        return list(_told.get(run, []))


def inside(run: Path, path: str) -> Path:
    """Where a path of a manifest leads, which must be a place inside the run folder.

    Raises:
        TornTable: If it leads out of it, by its words or by a symbolic link.
    """
    place = run / path
    try:
        leads_out = not place.resolve().is_relative_to(run.resolve())
    except (ValueError, OSError, RuntimeError):  # a NUL in it, or links in a circle
        leads_out = True
    if leads_out:
        raise TornTable(f"{run}: a manifest names {path!r}, outside the run folder; do not trust this folder")
    return place


def fault_of(file: Path, size: int, sha256: str) -> str | None:
    """What is wrong with a file that was so long and had that hash; its bytes are read once a process."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return "it is missing"
    if status.st_size != size:
        return f"it has {status.st_size} bytes instead of {size}"
    if _hash_of(file) != sha256:
        return "its checksum is wrong"
    return None


def _hash_of(file: Path) -> str:
    status = file.stat()
    return _hash(str(file), status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=100_000)
def _hash(file: str, inode: int, size: int, modified: int) -> str:
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hashes_of_tables(run: Path) -> dict[str, str]:
    """SHA-256 of each table that a run has published, by its path in the run folder."""
    found = sorted([*run.glob("*.parquet"), *run.glob("graphs/*/*.parquet")])
    return {file.relative_to(run).as_posix(): _hash_of(file) for file in found}


def set_aside_tables(run: Path, hashes: Mapping[str, str]) -> bool:
    """Move published tables that are not what they were into quarantine, and tell it; whether any was.

    Raises:
        TornTable: If one lies outside the run folder, or cannot be moved.
    """
    faults = {}
    for path, sha256 in hashes.items():
        file = inside(run, path)
        if not file.exists():
            faults[file] = "it is missing"
        elif _hash_of(file) != sha256:
            faults[file] = "its checksum is wrong"
    for file, fault in faults.items():
        set_aside(run, "tables", file, file, fault)
    return bool(faults)


def set_aside(run: Path, stage: str, manifest: Path, file: Path, fault: str) -> None:
    """Move a damaged file, and the manifest that it belongs to, into the run's quarantine, and tell it.

    Raises:
        TornTable: If it cannot be moved.
    """
    # The manifest goes last: whoever is killed in between finds it again, without its file.
    for damaged in dict.fromkeys((file, manifest)):
        place = run / _QUARANTINE / stage / damaged.name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            damaged.replace(place)
        except FileNotFoundError:
            continue  # it is what is missing, or another process has moved it
        except OSError as error:
            raise TornTable(
                f"{damaged} is damaged ({fault}) and cannot be moved to {place.parent} ({error.strerror})"
            ) from error
    with _lock:
        _told.setdefault(run, []).append(
            f"{file.relative_to(run)} was damaged ({fault}): set aside in {_QUARANTINE}/, and its work done again"
        )


def was_set_aside(run: Path, stage: str, manifest: Path) -> bool:
    """Whether a work was done once, its part was set aside, and it has not been done whole again since."""
    return (run / _QUARANTINE / stage / manifest.name).exists()


def mended(run: Path, stage: str, manifest: Path) -> None:
    """The work is done whole again: what was set aside stays as evidence."""
    kept = run / _QUARANTINE / stage / manifest.name
    if kept.exists():
        kept.replace(kept.with_suffix(".mended"))
