"""A process that is killed loses no reply that it was billed for, but those on their way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from memory.models import ChatRequest
from tasks.models.chat import GatewayChat
from tasks.models.gateway import Gateway, Place
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import ChatSettings
from tests.tasks.models import fakes
from tests.tasks.models.fakes import FakeServer

SCRIPT = """
import sys
from pathlib import Path
from memory.models import ChatRequest
from tasks.models.chat import GatewayChat
from tasks.models.gateway import Gateway, Limits, Place
from tasks.models.ledger import Ledger
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import ChatSettings
from tasks.models.pace import Ceilings
from tasks.models.store import Store

folder, address = Path(sys.argv[1]), sys.argv[2]
gateway = Gateway(Store(folder), Ledger(folder), "run", Limits(pace=Ceilings(max_concurrency=2)))
chat = GatewayChat(gateway, OpenAIProvider("k", address), ChatSettings("m"), Place("answer"))
chat.ask_many([ChatRequest("answer", "", f"question {n}") for n in range(30)], str)
"""


def test_two_processes_on_one_store_buy_a_call_once(server: FakeServer, tmp_path: Path) -> None:
    together = threading.Event()

    def answer(request: fakes.Request) -> fakes.Answer:
        if len(server.requests) >= 2:
            together.set()
        together.wait(1.0)  # the first to ask is still waiting when the other process comes
        return fakes.chat("fine")

    server.always(answer)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "store"), server.openai]
    root = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": str(root)}
    both = [subprocess.Popen(command, cwd=root, env=environment) for _ in range(2)]
    assert [process.wait(timeout=300) for process in both] == [0, 0]
    assert server.count() == 30


def test_after_kill_9_only_calls_in_flight_are_bought_again(
    server: FakeServer, open_gateway: Callable[..., Gateway], tmp_path: Path
) -> None:
    victims: list[int] = []

    def answer(request: fakes.Request) -> fakes.Answer:
        if len(server.requests) == 12:
            os.kill(victims[0], signal.SIGKILL)
        return fakes.chat("fine")

    server.always(answer)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "store"), server.openai]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}) as process:
        victims.append(process.pid)
        assert process.wait(timeout=300) == -signal.SIGKILL
    before = server.count()
    gateway = open_gateway()
    chat = GatewayChat(gateway, OpenAIProvider("k", server.openai), ChatSettings("m"), Place("answer"))
    results = chat.ask_many([ChatRequest("answer", "", f"question {n}") for n in range(30)], str)
    assert len(results) == 30
    assert server.count() <= 30 + 2
    now = gateway.ledger.totals("run", now=True)
    assert (now.paid, now.replayed) == (server.count() - before, 30 - now.paid)
    ever = gateway.ledger.totals("run")
    assert 0 <= server.count() - ever.paid <= 2
