"""RD-Forget in a whole study over real HTTP: the calls that each protocol makes, their caps, and what a kill costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.errors import CallRefused
from tasks.models.catalogue import BUNDLES
from tests.flows.fake_llm import in_the_place_of_providers, kind_of, reply
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import Answer, FakeServer, Request, status

ABLATIONS = ("no_forget", "no_rescue", "no_slot", "no_closure", "no_qc")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


def run(folder: Path, *profiles: str, **caps: int) -> Watched:
    arms = conditions(*(f"rd_forget:{profile}" for profile in profiles))
    return run_in_loop(folder, conditions=arms, models={**BUNDLES["published"].model_dump(), **caps})


def sent(server: FakeServer) -> Counter[str]:
    return Counter(kind_of(request) for request in server.requests if "messages" in request.body)


def caps(server: FakeServer, kind: str) -> set[int]:
    asked = [request.body for request in server.requests if kind_of(request) == kind]
    return {body.get("max_completion_tokens") or body.get("max_tokens") for body in asked}


def test_each_question_costs_one_curation_a_chunk_and_one_selection_within_their_caps(
    server: FakeServer, tmp_path: Path
) -> None:
    made = run(tmp_path, "published")
    questions = len(made.table("questions"))
    assert made.run.status == "complete"
    assert set(made.table("recalls")["status"]) == {"ok"}
    assert (sent(server)["rd_curate"], sent(server)["rd_select"]) == (questions, questions)
    assert (caps(server, "rd_curate"), caps(server, "rd_select")) == ({4096}, {256})
    run(tmp_path, "published")
    assert sent(server)["rd_curate"] == questions


def test_the_ablations_share_their_curation_and_without_the_question_a_history_is_curated_once(
    server: FakeServer, tmp_path: Path
) -> None:
    made = run(tmp_path, "published", *ABLATIONS)
    questions, histories = len(made.table("questions")), made.table("questions")["history"].nunique()
    assert set(made.table("recalls")["status"]) == {"ok"}
    assert sent(server)["rd_curate"] == 2 * questions + histories  # Full and -CLOSURE; -QC
    assert sent(server)["extract"] == 0


def test_query_intent_has_the_larger_caps(server: FakeServer, tmp_path: Path) -> None:
    run(tmp_path, "query_intent")
    assert (caps(server, "rd_curate"), caps(server, "rd_select")) == ({8192}, {2048})


@pytest.mark.parametrize("cap", ["answer_cap", "reply_cap"])
def test_answers_and_verdicts_are_capped_as_the_study_says_and_a_request_with_a_cap_of_its_own_keeps_it(
    server: FakeServer, tmp_path: Path, cap: str
) -> None:
    run(tmp_path, "published", **{cap: 256})
    assert caps(server, "rd_curate") == {4096}
    assert [caps(server, kind) for kind in ("rd_select", "answer", "judge")] == [{256}] * 3


def test_a_run_that_was_stopped_between_curation_and_selection_buys_no_call_twice(
    server: FakeServer, tmp_path: Path
) -> None:
    def until_selection(request: Request) -> Answer:
        if "messages" in request.body and kind_of(request) == "rd_select":
            return status(401)
        return reply(request)

    server.always(until_selection)
    with pytest.raises(CallRefused):
        run(tmp_path, "published")
    curated = {request.user for request in server.requests if kind_of(request) == "rd_curate"}
    assert curated
    server.requests.clear()
    server.always(reply)
    assert run(tmp_path, "published").run.status == "complete"
    again = [request.user for request in server.requests if kind_of(request) == "rd_curate"]
    assert not curated.intersection(again)
    assert sent(server)["rd_select"] == len(curated) + len(again)
