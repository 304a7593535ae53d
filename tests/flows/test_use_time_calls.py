"""The use-time study over real HTTP: which calls its arms make, within which caps, and what a killed run still pays."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tasks.context import closed_models
from tasks.kinds import make_study
from tasks.models.catalogue import BUNDLES
from tasks.stage import Artefact, Stage, Work, perform
from tasks.start import carry_out, start
from tests.flows.fake_llm import in_the_place_of_providers, kind_of
from tests.flows.study_in_loop import run_in_loop
from tests.tasks.models.fakes import FakeServer, Request
from tests.torture.crash import UNSETTLED
from tests.torture.shell import prefect_server, shell
from tests.torture.tables import calls_of, differing, run_folder

STUDY: dict[str, Any] = {
    "study": "use-time",
    "models": BUNDLES["published"].model_dump(exclude_none=True),
    "limit": 6,
    "conditions": [
        {"system": "bm25", "profile": "improved", "name": "bm25"},
        {"system": "ace", "settings": {"rounds": 1}},
        {"system": "reasoning_bank"},
        {"system": "rd_forget"},
    ],
    "budgets": [100, 2000],
    "kept": [],
    "resamples": 100,
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


def chats(server: FakeServer) -> list[Request]:
    return [request for request in server.requests if "messages" in request.body]


def sent(server: FakeServer) -> Counter[str]:
    return Counter(kind_of(request) for request in chats(server))


def in_threads(stage: Stage, works: list[Work]) -> list[Artefact]:
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda work: perform(stage, work), works))


def test_all_budgets_of_a_system_and_the_ablations_share_their_calls_though_they_run_side_by_side(
    server: FakeServer, tmp_path: Path
) -> None:
    out, run = start(make_study(dict(STUDY)), None, tmp_path / "store", tmp_path / "run")
    with closed_models():
        ended = carry_out(out, run, in_threads, retry_failed=False)  # type: ignore[arg-type]
    assert ended.status == "complete"
    counted = sent(server)
    asked, histories = ended.counts["load"]["questions"], ended.counts["load"]["histories"]
    sessions = counted["rb_judge"]
    assert counted["rd_curate"] == 3 * asked + histories, "Full; -CLOSURE; no labels; -QC once a history"
    assert (counted["ace_reflect"], counted["ace_curate"]) == (sessions, sessions)
    assert counted["rb_extract"] <= sessions
    bought = Counter(call for request in server.requests for call in calls_of(request))
    assert max(bought.values()) == 1, "no request is bought twice"


def test_every_call_keeps_within_the_caps_of_the_papers_protocol(server: FakeServer, tmp_path: Path) -> None:
    run_in_loop(tmp_path, **STUDY)
    caps = {
        (kind_of(one), one.body.get("max_completion_tokens") or one.body.get("max_tokens"))
        for one in chats(server)
    }
    of_rd_forget = {
        ("rd_curate", 4096),
        ("rd_curate", 8192),  # -QC
        ("rd_select", 256),
        ("answer", 256),
        ("judge", 256),
    }
    assert of_rd_forget <= caps
    assert {cap for kind, cap in caps if kind in ("answer", "judge", "rd_select")} == {256}


def test_a_process_that_is_killed_while_it_curates_goes_on_there(server: FakeServer, tmp_path: Path) -> None:
    undisturbed = run_in_loop(tmp_path / "undisturbed", **STUDY)
    expected = Counter(call for request in server.requests for call in calls_of(request))
    half = sent(server)["rd_curate"] // 2
    before = len(server.requests)
    victims: list[int] = []

    def kill(request: Request) -> None:
        made = Counter(kind_of(one) for one in chats(server)[len(expected_chats) :])
        if victims and made["rd_curate"] >= half:
            os.kill(victims.pop(), signal.SIGKILL)

    expected_chats = chats(server)
    words = ["run", "use-time", "--study", str(_toml(tmp_path)), "--models", "published"]
    with prefect_server(tmp_path / "prefect") as api, shell(tmp_path / "killed", server, api) as user:
        process = user.start(*words)
        victims.append(process.pid)
        server.on_answered = kill
        assert process.wait(timeout=300) == -signal.SIGKILL, user.error
        server.on_answered = lambda request: None
        assert user.run(*words) == 0, user.error
    bought = Counter(call for request in server.requests[before:] for call in calls_of(request))
    assert set(bought) == set(expected)
    assert bought.total() - len(bought) <= UNSETTLED
    assert differing(run_folder(tmp_path / "killed"), undisturbed.folder) == []


def _toml(folder: Path) -> Path:
    """The study as a file, its models left to the command line."""
    path = folder / "study.toml"
    path.write_text(
        'study = "use-time"\nlimit = 6\nbudgets = [100, 2000]\nkept = []\nresamples = 100\n'
        '[[conditions]]\nsystem = "bm25"\nprofile = "improved"\nname = "bm25"\n'
        '[[conditions]]\nsystem = "ace"\nsettings = { rounds = 1 }\n'
        '[[conditions]]\nsystem = "reasoning_bank"\n[[conditions]]\nsystem = "rd_forget"\n',
        encoding="utf-8",
    )
    return path
