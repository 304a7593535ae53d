"""Prefect's global concurrency limits, on a real server: kept where there are any, and never in a call's way."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.testing.utilities import prefect_test_harness

from memory.models import ChatRequest, Reply
from tasks.models import shared_limits
from tasks.models.chat import GatewayChat
from tasks.models.gateway import Gateway, Place
from tasks.models.ledger import Ledger
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import ChatSettings
from tasks.models.shared_limits import PREFIX, shared_turn
from tasks.models.store import Store
from tests.tasks.models.fakes import FakeServer, status


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with prefect_test_harness(server_startup_timeout=180):
        yield


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    """What is written to the log of a flow run."""
    heard: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    ear = Ear(logging.WARNING)
    logger = logging.getLogger("prefect.flow_runs")
    logger.addHandler(ear)
    yield heard
    logger.removeHandler(ear)


def make_limit(alias: str, slots: int, decay: float = 0.0) -> None:
    with get_client(sync_client=True) as client:
        client.create_global_concurrency_limit(
            GlobalConcurrencyLimitCreate(name=PREFIX + alias, limit=slots, slot_decay_per_second=decay)
        )


def slots_taken(alias: str) -> int:
    with get_client(sync_client=True) as client:
        return client.read_global_concurrency_limit_by_name(PREFIX + alias).active_slots


def take_slots(alias: str, slots: int) -> None:
    """As another run would."""
    with get_client(sync_client=True) as client:
        client.increment_concurrency_slots_with_lease([PREFIX + alias], slots, "concurrency", 300)


@contextmanager
def no_server() -> Iterator[None]:
    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        yield


def in_threads(work: Callable[[], None], times: int) -> None:
    """As the gateway does: each with the context of the run."""
    with ThreadPoolExecutor(times) as threads:
        for done in [threads.submit(copy_context().run, work) for _ in range(times)]:
            done.result()


class Inside:
    """Counts who is inside at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0
        self.ever = 0

    def __enter__(self) -> None:
        with self._lock:
            self._now += 1
            self.ever += 1
            self.most = max(self.most, self._now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._now -= 1


def test_a_limit_bounds_the_requests_of_all_threads_of_a_run_and_its_slots_are_given_back() -> None:
    make_limit("bounded", 1)
    inside = Inside()

    def send() -> None:
        with shared_turn("bounded"), inside:
            assert slots_taken("bounded") == 1

    @flow
    def sending() -> None:
        in_threads(send, 3)

    sending()
    assert (inside.ever, inside.most) == (3, 1)
    assert slots_taken("bounded") == 0


def test_a_request_that_fails_gives_its_slot_back() -> None:
    make_limit("failing", 1)

    @flow
    def failing() -> None:
        with pytest.raises(ConnectionError, match="gone"), shared_turn("failing"):
            raise ConnectionError("gone")

    failing()
    assert slots_taken("failing") == 0


def test_a_limit_with_slot_decay_is_a_rate_whose_slots_are_not_given_back() -> None:
    make_limit("rate", 2, decay=1e-6)

    @flow
    def asking() -> None:
        for _ in range(2):
            with shared_turn("rate"):
                pass

    asking()
    assert slots_taken("rate") == 2


def test_without_a_limit_or_without_a_run_nothing_waits(warnings: list[str]) -> None:
    sent: list[str] = []

    def send() -> None:
        with shared_turn("unlimited"):
            sent.append("sent")

    @flow
    def sending() -> None:
        in_threads(send, 2)

    send()
    sending()
    assert len(sent) == 3
    assert warnings == []


def test_a_limit_without_free_slots_is_waited_for_in_bounds_with_a_word_in_the_log(
    warnings: list[str],
) -> None:
    make_limit("busy", 1)
    take_slots("busy", 1)
    sent: list[str] = []

    @flow
    def patient() -> None:
        for _ in range(2):
            with shared_turn("busy", longest=0.2):
                sent.append("sent")

    patient()
    assert len(sent) == 2
    assert warnings == [f"{PREFIX}busy gave no slot in 0.2 s: going on without it"]


def test_a_run_that_is_being_stopped_does_not_wait_for_a_slot() -> None:
    make_limit("stopped", 1)
    take_slots("stopped", 1)

    def stopped() -> None:
        raise KeyboardInterrupt

    @flow
    def stopping() -> None:
        with pytest.raises(KeyboardInterrupt), shared_turn("stopped", stopped):
            raise AssertionError("it got a slot")

    stopping()


def test_a_server_that_is_gone_stops_no_request(warnings: list[str]) -> None:
    make_limit("gone", 1)
    sent: list[str] = []

    @flow
    def before_the_first() -> None:
        with no_server():
            for _ in range(2):
                with shared_turn("gone"):
                    sent.append("sent")

    @flow
    def in_the_middle() -> None:
        for _ in range(2):
            with shared_turn("gone"):
                sent.append("sent")
            shared_limits_lose_their_server()

    def shared_limits_lose_their_server() -> None:
        with no_server(), shared_turn("gone"):
            sent.append("sent")

    before_the_first()
    in_the_middle()
    assert len(sent) == 6
    assert len(warnings) == 2
    assert all("going on without it" in warning for warning in warnings)


def test_every_request_of_a_runs_gateway_takes_a_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_limit("openai", 100, decay=1e-6)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    asks = [ChatRequest(task="answer", system="Answer.", user=str(number)) for number in range(6)]

    @flow
    def asking(address: str) -> None:
        with Gateway(Store(tmp_path), Ledger(tmp_path), "run") as gateway:
            provider = OpenAIProvider("sk-test", address)
            chat = GatewayChat(gateway, provider, ChatSettings("m"), Place("answer"))
            assert all(isinstance(reply, Reply) for reply in chat.ask_many(asks, str))

    with FakeServer() as fake:
        fake.then(status(503, {"Retry-After": "0"}))
        asking(fake.openai)
        assert fake.count() == 7
    assert slots_taken("openai") == 7


def test_prefect_is_not_imported_for_it() -> None:
    program = (
        "import sys; from tasks.models.shared_limits import shared_turn\n"
        "with shared_turn('openai'): pass\n"
        "sys.exit('prefect' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_what_was_looked_up_belongs_to_one_run() -> None:
    @flow
    def asking() -> None:
        with shared_turn("later"):
            pass

    asking()
    make_limit("later", 1, decay=1e-6)
    asking()
    assert slots_taken("later") == 1
    assert len({run for run, alias in shared_limits._limits if alias == "later"}) == 2
