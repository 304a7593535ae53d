"""HippoRAG 2 in a whole study: offline, and over real HTTP with the calls that it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.prompts import fact_filter
from tasks.models.catalogue import BUNDLES
from tests.flows.fake_llm import in_the_place_of_providers, kind_of
from tests.flows.study_in_loop import conditions, run_in_loop
from tests.tasks.models.fakes import FakeServer

ARMS = ("hipporag:published", "hipporag:improved", "hipporag:without_llm")
QUESTIONS = 5


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


def sent(server: FakeServer) -> Counter[str]:
    return Counter(kind_of(request) for request in server.requests if "messages" in request.body)


def test_offline_every_arm_ranks_turns_for_every_question_and_a_second_run_makes_nothing(
    tmp_path: Path,
) -> None:
    arms = conditions(*ARMS, "none")
    made = run_in_loop(tmp_path, conditions=arms, limit=QUESTIONS)
    assert made.run.status == "complete"
    recalls = made.table("recalls")
    own = recalls[recalls["condition"].str.startswith("hipporag")]
    assert set(own["status"]) == {"ok"}
    assert (own["turns"].map(len) > 5).all()
    by_graph = ~own["flags"].map(lambda flags: "dense_fallback" in flags)
    assert by_graph.groupby(own["condition"]).sum().min() > 0, "some questions go by the graph in every arm"
    found = made.table("metrics").groupby("condition")["turn_recall_5"].mean()
    assert found.drop("none").min() > found["none"]
    assert run_in_loop(tmp_path, conditions=arms, limit=QUESTIONS).made_stages == []


def test_triples_are_the_shared_extraction_and_a_question_costs_one_call_that_profiles_share(
    server: FakeServer, tmp_path: Path
) -> None:
    study = {"conditions": conditions(*ARMS, "graph"), "models": BUNDLES["published"].model_dump()}
    made = run_in_loop(tmp_path, **study, limit=QUESTIONS)
    assert made.run.status == "complete"
    turns = made.table("extractions")
    assert sent(server)["extract"] == turns["call"].nunique()
    chats = [request for request in server.requests if "messages" in request.body]
    filters = [request for request in chats if kind_of(request) == "fact_filter"]
    assert 0 < len(filters) <= QUESTIONS
    caps = {one.body.get("max_completion_tokens") or one.body.get("max_tokens") for one in filters}
    assert caps == {fact_filter.MAX_TOKENS}
    bought = len(server.requests)
    run_in_loop(tmp_path, **study, limit=QUESTIONS)
    assert len(server.requests) == bought
