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
        waiting: What is waited for before the next stage begins, empty if nothing is.
    """

    stage: str = ""
    total: int = 0
    done: int = 0
    found: int = 0
    started: float = 0.0
    waiting: str = ""
    rows: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, stage: str, works: Sequence[Work]) -> None:
        """A stage starts."""
        with self.lock:
            self.stage, self.total, self.done, self.found, self.rows = stage, len(works), 0, 0, {}
            self.started = time.monotonic()

    def wait_for(self, what: str) -> None:
        """Something is waited for, or, for the empty text, nothing any more."""
        with self.lock:
            self.waiting = what

    def advance(self, artefact: Artefact, *, found: bool) -> None:
        """A work of the stage is through."""
        with self.lock:
            self.done += 1
            self.found += found
            for status, number in artefact.counts.items():
                self.rows[status] = self.rows.get(status, 0) + number


PROGRESS = Progress()
