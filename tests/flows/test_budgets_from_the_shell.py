"""A budget is kept to the token, whatever else befalls the run, and what it has bought is never bought again."""

from __future__ import annotations

import os
import signal
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest

from flows.running import BUDGET_EXHAUSTED
from memory.tokens import count
from tasks import context
from tasks.runs import read_run
from tests.flows.fake_llm import reply
from tests.flows.study_in_loop import run_in_loop
from tests.tasks.models.fakes import FakeServer, Request
from tests.torture.conversations import write_benchmark
from tests.torture.faults import TRANSPORT
from tests.torture.injector import Injector
from tests.torture.lies import LIMITS, asking
from tests.torture.shell import Shell, prefect_server, shell
from tests.torture.starved import billed, billed_at_worst
from tests.torture.tables import LEDGER, differing, run_folder

QUESTIONS = 5
CAP = 200
STUDY = f"""
benchmark = "longmemeval-s"
[models]
extractor = "openai:gpt-4o-mini"
query = "openai:gpt-4o-mini"
answerer = "openai:gpt-4o-mini"
judge = "openai:gpt-4o-mini"
embedder = "ollama:nomic-embed-text"
reply_cap = {CAP}
[[conditions]]
system = "flat"
[[conditions]]
system = "graph"
"""
WORDS = ["run", "--study", "study.toml", "--data", "conversations.json"]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prefect_server(tmp_path_factory.mktemp("prefect")) as address:
        yield address


@contextmanager
def user_of(folder: Path, api: str) -> Iterator[tuple[Shell, FakeServer]]:
    """A shell in a folder with the study and its data, and the provider that its commands ask."""
    with FakeServer(dimensions=768, tokens=count) as server, shell(folder, server, api) as user:
        server.always(reply)
        write_benchmark(folder / "conversations.json", QUESTIONS, sessions=2, turns=4)
        (folder / "study.toml").write_text(STUDY)
        yield user, server


@dataclass(frozen=True)
class Calm:
    """A run without a budget: its folder, and what it was billed."""

    run: Path
    tokens: int


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory, api: str) -> Calm:
    folder = tmp_path_factory.mktemp("calm")
    with user_of(folder, api) as (user, server):
        assert user.run(*WORDS) == 0, user.error
        assert (
            max(count(answer.text or "") for request, answer in server.answered if "messages" in request.body)
            <= CAP
        )
        return Calm(run_folder(folder), billed(server))


def charged(run: Path) -> int:
    """Tokens that the ledger has charged to a run."""
    return int(pd.read_parquet(run / LEDGER)["charged_tokens"].sum())


def test_half_of_what_a_run_costs_ends_it_in_a_state_of_its_own_and_the_rest_completes_it(
    calm: Calm, api: str, tmp_path: Path
) -> None:
    with user_of(tmp_path, api) as (user, server):
        half = calm.tokens // 2
        assert user.run(*WORDS, "--budget-tokens", str(half)) == BUDGET_EXHAUSTED, user.error
        assert user.error.startswith("budget_exhausted: ")
        run = run_folder(tmp_path)
        assert read_run(run).status == "budget_exhausted"
        assert half // 2 < billed(server) <= half
        assert charged(run) == billed(server)
        assert_says_what_is_missing(run)

        sent = server.count()
        assert user.run(*WORDS, "--budget-tokens", str(half)) == BUDGET_EXHAUSTED, "no more is given"
        assert billed(server) <= half
        assert user.run(*WORDS, "--budget-tokens", f"+{calm.tokens}") == 0, user.error
        assert server.count() > sent
        assert billed(server) == calm.tokens
        assert charged(run) == calm.tokens
        assert differing(run, calm.run) == []


def assert_says_what_is_missing(run: Path) -> None:
    extractions = pd.read_parquet(run / "extractions.parquet")
    assert len(extractions) == QUESTIONS * 2 * 4
    missing = extractions[extractions.status == "failed"]
    assert 0 < len(missing) < len(extractions)
    assert missing.reason.str.startswith("budget of the run exhausted").all()
    assert not missing.final.any()


def test_a_budget_is_kept_across_kills(calm: Calm, api: str, tmp_path: Path) -> None:
    with user_of(tmp_path, api) as (user, server):
        half = calm.tokens // 2
        for k in (3, 5):
            kill_after(server, user, k, "--budget-tokens", str(half))
        assert user.run(*WORDS, "--budget-tokens", str(half)) == BUDGET_EXHAUSTED, user.error
        run = run_folder(tmp_path)
        assert billed(server) <= charged(run) <= half
        lost = (pd.read_parquet(run / LEDGER).outcome == "lost").sum()
        assert lost > 0
        assert user.run(*WORDS, "--budget-tokens", f"+{calm.tokens}") == 0, user.error
        assert calm.tokens <= billed(server) <= charged(run)
        assert differing(run, calm.run) == []


def kill_after(server: FakeServer, user: Shell, replies: int, *words: str) -> None:
    victims: list[int] = []
    until = len(server.answered) + replies

    def strike(_: Request) -> None:
        if victims and len(server.answered) >= until:
            os.kill(victims.pop(), signal.SIGKILL)

    server.on_answered = strike
    process = user.start(*WORDS, *words)
    victims.append(process.pid)
    assert process.wait(timeout=300) == -signal.SIGKILL
    server.on_answered = lambda request: None


def test_a_budget_is_kept_though_requests_are_refused_and_lost(calm: Calm, tmp_path: Path) -> None:
    with FakeServer(dimensions=768, tokens=count) as server, asking(server):
        data = tmp_path / "conversations.json"
        write_benchmark(data, QUESTIONS, sessions=2, turns=4)
        half = calm.tokens // 2
        injector = Injector(reply, TRANSPORT, share=0.3, seed=2)
        server.always(injector)
        with mock.patch.object(context, "Limits", LIMITS):
            starved = run_in_loop(tmp_path, data=data, **tomllib.loads(STUDY), budget={"tokens": half})
        assert starved.run.status == "budget_exhausted"
        assert billed_at_worst(server, injector.given) <= charged(starved.folder) <= half
        assert {given.ending for given in injector.given} == {"read", "refused", "lost"}
        server.always(reply)
        mended = run_in_loop(tmp_path, data=data, **tomllib.loads(STUDY))
        assert differing(mended.folder, calm.run) == []


def test_two_processes_on_one_store_keep_their_budget_together(calm: Calm, api: str, tmp_path: Path) -> None:
    with user_of(tmp_path, api) as (user, server):
        half = calm.tokens // 2
        both = [user.start(*WORDS, "--budget-tokens", str(half)) for _ in range(2)]
        assert [process.wait(timeout=300) for process in both] == [BUDGET_EXHAUSTED] * 2
        assert billed(server) <= half
        assert user.run(*WORDS, "--budget-tokens", f"+{calm.tokens}") == 0, user.error
        assert billed(server) == calm.tokens
        assert differing(run_folder(tmp_path), calm.run) == []
