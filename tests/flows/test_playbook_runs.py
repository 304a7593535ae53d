"""The playbook and the reasoning items in a whole study over real HTTP: their calls, their caps, and a second run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.estimate import estimate
from tasks.kinds import make_study
from tasks.models.catalogue import BUNDLES
from tasks.models.simulated import REASKED
from tests.flows.fake_llm import in_the_place_of_providers, kind_of
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import FakeServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


def run(folder: Path, arms: list[dict[str, Any]]) -> Watched:
    return run_in_loop(folder, conditions=arms, models=BUNDLES["published"].model_dump(), limit=2)


def sent(server: FakeServer) -> Counter[str]:
    return Counter(kind_of(request) for request in server.requests if "messages" in request.body)


def caps(server: FakeServer, kind: str) -> set[int]:
    chats = [request for request in server.requests if "messages" in request.body]
    asked = [request.body for request in chats if kind_of(request) == kind]
    return {body.get("max_completion_tokens") or body.get("max_tokens") for body in asked}


def sessions(made: Watched) -> int:
    return len(made.table("turns").drop_duplicates(["history", "session_position"]))


def test_a_session_costs_the_playbook_a_reflection_and_a_curation_and_a_question_nothing(
    server: FakeServer, tmp_path: Path
) -> None:
    made = run(tmp_path, conditions("ace"))
    assert made.run.status == "complete"
    assert (sent(server)["ace_reflect"], sent(server)["ace_curate"]) == (sessions(made), sessions(made))
    assert (caps(server, "ace_reflect"), caps(server, "ace_curate")) == ({4096}, {4096})
    recalls = made.table("recalls")
    assert set(recalls["status"]) == {"ok"}
    assert (recalls["items"] > 0).all()
    assert set(made.table("metrics")["condition"]) == {"ace"}
    assert sent(server).keys() == {"ace_reflect", "ace_curate", "answer", "judge"}
    server.requests.clear()
    again = run(tmp_path, conditions("ace"))
    assert (again.made_stages, server.requests) == ([], [])


def test_a_session_costs_the_reasoning_items_a_judgement_and_an_extraction(
    server: FakeServer, tmp_path: Path
) -> None:
    made = run(tmp_path, conditions("reasoning_bank"))
    assert made.run.status == "complete"
    assert (sent(server)["rb_judge"], sent(server)["rb_extract"]) == (sessions(made), sessions(made))
    assert (caps(server, "rb_judge"), caps(server, "rb_extract")) == ({256}, {2048})
    recalls = made.table("recalls")
    assert set(recalls["status"]) == {"ok"}
    assert (recalls["items"] > 0).all()
    assert set(made.table("metrics")["condition"]) == {"reasoning_bank"}
    server.requests.clear()
    again = run(tmp_path, conditions("reasoning_bank"))
    assert (again.made_stages, server.requests) == ([], [])


def test_an_estimate_foresees_what_a_session_costs(server: FakeServer, tmp_path: Path) -> None:
    arms, models = conditions("ace", "reasoning_bank"), BUNDLES["published"].model_dump()
    study = make_study({"conditions": arms, "models": models, "limit": 2})
    lines = estimate(study, None, tmp_path / "store", tmp_path / "foreseen").lines
    foreseen = {
        heading.condition: line.calls
        for heading, line in lines.items()
        if (heading.stage, heading.chat) == ("merge", True)
    }
    number = sessions(run(tmp_path, arms))
    made = sent(server)
    assert foreseen["ace"].low == 2 * number == made["ace_reflect"] + made["ace_curate"]
    assert foreseen["ace"].high == pytest.approx(REASKED * 4 * number)  # three rounds, if none is finished
    assert foreseen["reasoning_bank"].low == 2 * number == made["rb_judge"] + made["rb_extract"]


def test_a_playbook_that_merges_runs_too_and_another_budget_of_the_context_buys_no_reflection(
    server: FakeServer, tmp_path: Path
) -> None:
    [arm] = conditions("ace:improved")
    small = {**arm, "name": "ace-small", "settings": {"budget_tokens": 40}}
    made = run(tmp_path, [arm, small, *conditions("reasoning_bank:improved")])
    recalls = made.table("recalls").groupby("condition")
    assert set(made.table("recalls")["status"]) == {"ok"}
    assert (
        recalls["context_tokens"].max()["ace-small"] <= 40 < recalls["context_tokens"].max()["ace-improved"]
    )
    assert (sent(server)["ace_reflect"], sent(server)["ace_curate"]) == (sessions(made), sessions(made))
