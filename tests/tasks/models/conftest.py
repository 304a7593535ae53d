"""A fake server, and gateways over a store in a temporary folder that wait for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.models.gateway import Gateway, Limits
from tasks.models.ledger import Ledger
from tasks.models.pace import Ceilings
from tasks.models.retries import Patience
from tasks.models.store import Store
from tests.tasks.models.batching import Asker, AskerOf
from tests.tasks.models.fakes import FakeServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with FakeServer() as fake:
        yield fake


@pytest.fixture
def waits() -> list[float]:
    """The seconds that the gateway would have slept."""
    return []


@pytest.fixture
def patience(waits: list[float]) -> Patience:
    return Patience(deadline=30.0, retries=3, sleep=waits.append, jitter=lambda: 0.0)


@pytest.fixture
def open_gateway(tmp_path: Path, patience: Patience) -> Iterator[Callable[..., Gateway]]:
    """Opens gateways on the one store, as one process after another would."""
    opened: list[Gateway] = []

    def open_one(run: str = "run", **limits: Any) -> Gateway:
        limits = {"chat": patience, "embed": patience, "pace": Ceilings(max_concurrency=4)} | limits
        gateway = Gateway(Store(tmp_path / "store"), Ledger(tmp_path / "store"), run, Limits(**limits))
        opened.append(gateway)
        return gateway

    yield open_one
    for gateway in opened:
        gateway.close()


@pytest.fixture
def batching(server: FakeServer, open_gateway: Callable[..., Gateway], waits: list[float]) -> AskerOf:
    """Makes askers that may buy in batches, each on a gateway of its own, as one process after another would."""
    return lambda model="gpt-4o-mini", **limits: Asker(server, open_gateway(**limits), waits, model)
