"""Two processes with 32 threads each on one store: no entry is lost or torn, and no call is bought twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tasks.models.ledger import Ledger
from tasks.models.store import Store
from tasks.models.store_use import damaged, summary
from tests.tasks.models import damage, fakes
from tests.tasks.models.fakes import FakeServer

CHATS, TEXTS = 150, 100
SCRIPT = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
from memory.models import ChatRequest
from tasks.models.chat import GatewayChat
from tasks.models.embedding import GatewayEmbedder
from tasks.models.gateway import Gateway, Limits, Place
from tasks.models.ledger import Ledger
from tasks.models.ollama_provider import OllamaProvider
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.pace import Ceilings
from tasks.models.providers import ChatSettings, EmbedSettings
from tasks.models.store import Store

folder, openai, ollama, name = Path(sys.argv[1]), *sys.argv[2:]
limits = Limits(pace=Ceilings(max_concurrency=32))
with Gateway(Store(folder), Ledger(folder), name, limits) as gateway:
    chat = GatewayChat(gateway, OpenAIProvider("k", openai), ChatSettings("m"), Place("answer"))
    embedder = GatewayEmbedder(gateway, OllamaProvider(ollama), EmbedSettings("e", 8, 50, batch=4), Place("embed"))
    def ask(number):
        if number < {CHATS}:
            return chat.ask(ChatRequest("answer", "", f"question {{number}}"), str).text
        return embedder.embed([f"text {{number}}", "text of all"]).failures
    numbers = list(range({CHATS + TEXTS})) * 2
    with ThreadPoolExecutor(32) as pool:
        results = list(pool.map(ask, numbers))
    assert all(result in ("fine", {{}}) for result in results), results
"""


def test_no_entry_is_lost_or_torn_and_no_call_is_bought_twice(server: FakeServer, tmp_path: Path) -> None:
    server.always(fakes.chat("fine"))
    store, root = tmp_path / "store", Path(__file__).parents[3]
    command = [sys.executable, "-c", SCRIPT, str(store), server.openai, server.ollama]
    environment = os.environ | {"PYTHONPATH": str(root)}
    both = [subprocess.Popen([*command, name], cwd=root, env=environment) for name in ("a", "b")]
    assert [process.wait(timeout=300) for process in both] == [0, 0]

    chats = [request.user for request in server.requests if "messages" in request.body]
    assert Counter(chats) == {f"question {number}": 1 for number in range(CHATS)}
    texts = {f"text {number}": 1 for number in range(CHATS, CHATS + TEXTS)} | {"text of all": 1}
    assert Counter(server.texts()) == texts

    assert list(damaged(store)) == []
    found = summary(store)
    assert (found.entries, found.set_aside) == (CHATS + TEXTS + 1, [])
    assert found.runs == {"a": found.entries, "b": found.entries}
    ledger = Ledger(store)
    assert ledger.totals().paid == found.entries
    opened = Store(store)
    kept = damage.keys_of(store)
    assert (
        sum(opened.reply(key) is not None for key in kept if isinstance(damage.value_of(store, key), str))
        == CHATS
    )
