"""GAM in whole studies: with offline models, and over real HTTP with the calls that each profile makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.systems.gam import Gam
from tasks.models.catalogue import BUNDLES
from tests.flows.fake_llm import in_the_place_of_providers, kind_of
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import FakeServer

PROFILES = tuple(Gam.profiles)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


def arms(*profiles: str) -> list[dict[str, object]]:
    return conditions(*(f"gam:{profile}" for profile in profiles))


def sent(server: FakeServer) -> Counter[str]:
    return Counter(kind_of(request) for request in server.requests if "messages" in request.body)


def caps(server: FakeServer, kind: str) -> set[int]:
    asked = [
        request.body for request in server.requests if "messages" in request.body and kind_of(request) == kind
    ]
    return {body.get("max_completion_tokens") or body.get("max_tokens") for body in asked}


def built(folder: Path, *profiles: str) -> Watched:
    return run_in_loop(folder, conditions=arms(*profiles), models=BUNDLES["published"].model_dump(), limit=2)


def test_all_profiles_run_offline_say_what_a_query_takes_and_a_second_run_makes_nothing(
    tmp_path: Path,
) -> None:
    made = run_in_loop(tmp_path, conditions=arms(*PROFILES), limit=3, resamples=200)
    recalls = made.table("recalls")
    assert made.run.status == "complete"
    assert set(recalls["status"]) == {"ok"} and (recalls["context_tokens"] > 0).all()
    assert len(recalls) == 3 * len(PROFILES)
    again = run_in_loop(tmp_path, conditions=arms(*PROFILES), limit=3, resamples=200)
    assert again.made_stages == []


def test_a_study_asks_the_builder_within_its_caps_and_a_second_run_buys_nothing(
    server: FakeServer, tmp_path: Path
) -> None:
    made = built(tmp_path, "published")
    topics = len(made.table("graphs/gam/topics"))
    counts = sent(server)
    assert topics > 0
    assert counts["gam_topic"] == topics == counts["gam_boundary"]
    histories = made.table("graphs/gam/topics")["history"].nunique()
    assert counts["gam_links"] == topics - histories
    assert [caps(server, kind) for kind in ("gam_boundary", "gam_topic", "gam_links")] == [
        {200},
        {500},
        {250},
    ]
    before = server.count()
    built(tmp_path, "published")
    assert server.count() == before


@pytest.mark.parametrize("profile", ["no_state_switching", "no_topics"])
def test_ablations_that_need_no_detector_do_not_ask_it(
    server: FakeServer, tmp_path: Path, profile: str
) -> None:
    built(tmp_path, profile)
    assert sent(server)["gam_boundary"] == 0


def test_ablations_of_recall_cost_no_call_more(server: FakeServer, tmp_path: Path) -> None:
    made = built(tmp_path, "published", "no_multi_factor")
    topics = [len(made.table(f"graphs/{name}/topics")) for name in ("gam", "gam-no_multi_factor")]
    assert topics == [sent(server)["gam_topic"]] * 2
