"""How far a run is, for whoever watches this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tasks.stage import Artefact, Work


@dataclass
class Progress:
    """The stage under way and its works; written by worker threads, read by a display.

    Attributes:
        stage: Name of the stage under way, empty before the first.
        total: Its works.
        done: Its works that are through.
        rows: Rows made or found by them, by what became of them.
    """

    stage: str = ""
    total: int = 0
    done: int = 0
    found: int = 0
    started: float = 0.0
    rows: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, stage: str, works: Sequence[Work]) -> None:
        """A stage starts."""
        with self.lock:
            self.stage, self.total, self.done, self.found, self.rows = stage, len(works), 0, 0, {}
            self.started = time.monotonic()

    def advance(self, artefact: Artefact, *, found: bool) -> None:
        """A work of the stage is through."""
        with self.lock:
            self.done += 1
            self.found += found
            for status, number in artefact.counts.items():
                self.rows[status] = self.rows.get(status, 0) + number


PROGRESS = Progress()
