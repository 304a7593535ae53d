"""One clear line for each fault of a disk or of a database on it."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.errors import BadInput, CallRefused
from results.tables import NO_ROOM

_NO_ACCESS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_READ_ONLY = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})


@contextmanager
def told(database: Path) -> Iterator[None]:
    """Tell the faults that the block meets with a database of the store, each by file and remedy.

    Raises:
        CallRefused: If the disk is full or failing: nothing more can be kept, so nothing more may be bought.
        BadInput: If the database is damaged, locked, or may not be written.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise _fault(database, error) from error


def _fault(database: Path, error: OSError | sqlite3.Error) -> BadInput | CallRefused:
    why = " ".join(str(error).split())
    code = getattr(error, "sqlite_errorcode", -1) & 0xFF if isinstance(error, sqlite3.Error) else -1
    number = error.errno if isinstance(error, OSError) else None
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR) or number in NO_ROOM:
        return CallRefused(
            f"{database} cannot be written ({why}): the disk is full or failing; make room on it and give the same "
            "command again, what is bought is kept"
        )
    if code in _DAMAGED:
        return BadInput(
            f"{database} is damaged ({why}); save what can be read with palimpsest cache export FILE --store "
            f"{database.parent}, and palimpsest cache import FILE into a new --store"
        )
    if code in _READ_ONLY or number in _NO_ACCESS:
        return BadInput(f"{database} cannot be written ({why}); allow it, or use another --store")
    if code == sqlite3.SQLITE_BUSY:
        return BadInput(f"{database}: another process has kept it locked for a minute")
    return BadInput(f"{database} cannot be used ({why}); mend it, or use another --store")
