"""Stands in front of the fake model and mixes faults into its answers."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.flows.fake_llm import kind_of
from tests.tasks.models.fakes import Answer, Request
from tests.torture.faults import Fault, Kind


@dataclass(frozen=True)
class Given:
    """What was answered to a request; no fault is a good answer."""

    kind: Kind
    request: Request
    fault: Fault | None

    @property
    def ending(self) -> str:
        """As `Fault.ending`."""
        return "read" if self.fault is None else self.fault.ending


class Injector:
    """Answers requests, a share of them with a fault. Thread-safe.

    The fault depends on the seed, on what is asked, and on how often that was asked before: not on the order in which
    threads come.
    """

    def __init__(
        self, answer: Callable[[Request], Answer], faults: Sequence[Fault], share: float, seed: int
    ) -> None:
        self._answer = answer
        self._faults = faults
        self._share = share
        self._seed = seed
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.given: list[Given] = []

    def __call__(self, request: Request) -> Answer:
        """The answer to a request."""
        kind: Kind = "embed" if "embed" in request.path else kind_of(request)
        asked = hashlib.sha256(json.dumps(request.body, sort_keys=True).encode()).hexdigest()
        with self._lock:
            fault = self._fault(kind, f"{self._seed} {asked} {self._asked[asked]}")
            self._asked[asked] += 1
            self.given.append(Given(kind, request, fault))
        good = self._answer(request)
        return good if fault is None else fault.make(kind, request, good)

    def _fault(self, kind: Kind, drawn_from: str) -> Fault | None:
        rng = random.Random(drawn_from)
        if rng.random() >= self._share:
            return None
        possible = [fault for fault in self._faults if kind in fault.kinds]
        return rng.choices(possible, [fault.weight for fault in possible])[0]
