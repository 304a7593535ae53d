"""A whole study over real HTTP against a fake provider: what is sent, what is paid, and what becomes of bad replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.errors import BadInput, CallRefused
from tasks.models.retries import Patience
from tests.flows.fake_llm import in_the_place_of_providers, kind_of, reply
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import Answer, FakeServer, Request, chat, status

KEY = "sk-planted-key-never-to-be-written-0123456789"
STUDY: dict[str, Any] = {"conditions": conditions("flat", "graph", "oracle")}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch, KEY) as fake:
        yield fake


def run_published(folder: Path, **fields: Any) -> Watched:
    from tasks.models.catalogue import BUNDLES

    return run_in_loop(folder, **{**STUDY, "models": BUNDLES["published"].model_dump(), **fields})


def chats(server: FakeServer) -> list[Request]:
    return [request for request in server.requests if "messages" in request.body]


def test_the_published_study_runs_and_a_second_run_sends_nothing(server: FakeServer, tmp_path: Path) -> None:
    first = run_published(tmp_path)
    assert first.run.status == "complete"
    sent = server.count()
    assert sent > 0
    (tmp_path / "run" / "run.json").unlink()
    for part in (tmp_path / "run" / "parts").rglob("*.json"):
        part.unlink()  # every stage is made anew: only the store can keep it from paying again
    again = run_published(tmp_path)
    assert again.made_stages == first.made_stages
    assert server.count() == sent
    assert again.table("metrics").equals(first.table("metrics"))


def test_a_run_publishes_how_fast_each_provider_was_asked(server: FakeServer, tmp_path: Path) -> None:
    pace = run_published(tmp_path).table("pace")
    started = pace[pace.event == "started"]
    assert sorted(started.provider) == ["ollama", "openai"]
    assert set(started["limit"]) == {2}
    assert set(pace.event) <= {"started", "grown"}


def test_no_prompt_but_the_judges_holds_a_reference_answer(server: FakeServer, tmp_path: Path) -> None:
    data = tmp_path / "planted.json"
    rows = json.loads(
        (Path(__file__).parents[2] / "tasks/benchmarks/sample.json").read_text(encoding="utf-8")
    )
    for number, row in enumerate(rows):
        row["answer"] = f"PLANTED-{number:03}-GOLD"
    data.write_text(json.dumps(rows), encoding="utf-8")
    run = run_published(tmp_path, benchmark="longmemeval-s", data=data)
    assert run.run.status == "complete"
    holding = {kind_of(request) for request in chats(server) if "PLANTED" in json.dumps(request.body)}
    assert holding == {"judge"}
    assert not any("PLANTED" in text for text in server.texts())


def test_turns_reach_the_extractor_once_each(server: FakeServer, tmp_path: Path) -> None:
    run = run_published(tmp_path)
    extractions = [request.user for request in chats(server) if kind_of(request) == "extract"]
    assert len(extractions) == len(set(extractions)) == len(run.table("extractions"))


def test_a_bad_reply_is_asked_again_and_then_a_typed_row(server: FakeServer, tmp_path: Path) -> None:
    turn = run_in_loop(tmp_path / "offline", conditions=conditions("none")).table("turns")["text"][0]

    def bad_for_one(request: Request) -> Answer:
        if "messages" in request.body and kind_of(request) == "extract" and turn in request.user:
            return chat("I would rather not.")
        return reply(request)

    server.always(bad_for_one)
    run = run_published(tmp_path)
    failed = run.table("extractions").query("status == 'failed'")
    assert len(failed) == 1
    assert failed["final"].all()
    assert run.run.status == "complete", "a reply that stays bad is final, and counted"
    asked = sum(turn in request.user for request in chats(server) if kind_of(request) == "extract")
    assert asked == 3

    server.always(reply)
    sent = server.count()
    assert run_published(tmp_path).made_stages == []
    assert server.count() == sent
    mended = run_published(tmp_path, retry_failed=True)
    assert mended.table("extractions").query("status == 'failed'").empty
    assert server.count() > sent


def test_one_failing_question_hides_no_other(server: FakeServer, tmp_path: Path) -> None:
    question = run_in_loop(tmp_path / "offline", conditions=conditions("none")).table("questions")["text"][3]

    def bad_for_one(request: Request) -> Answer:
        if "messages" in request.body and kind_of(request) == "answer" and question in request.user:
            return status(400, error="no")
        return reply(request)

    server.always(bad_for_one)
    run = run_published(tmp_path)
    metrics = run.table("metrics")
    failed = metrics[metrics.status == "failed"]
    assert len(failed) == 3, "one in each condition"
    assert failed["f1"].isna().all()
    assert failed["judge"].isna().all()
    assert failed["reason"].notna().all()
    assert (metrics.status == "answered").sum() == 3 * 11


def test_a_judge_that_is_down_is_no_zero_and_is_tried_again(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.models import gateway

    quick = Patience(retries=0)
    monkeypatch.setattr(
        gateway.Limits, "__init__", _with_defaults(gateway.Limits, chat=quick, failures_in_a_row=1000)
    )

    def judge_down(request: Request) -> Answer:
        if "messages" in request.body and kind_of(request) == "judge":
            return status(503)
        return reply(request)

    server.always(judge_down)
    run = run_published(tmp_path)
    assert run.run.status == "incomplete"
    assert run.table("metrics")["judge"].isna().all()
    server.always(reply)
    asked = len([request for request in chats(server) if kind_of(request) == "answer"])
    again = run_published(tmp_path)
    assert again.run.status == "complete"
    assert again.table("metrics")["judge"].notna().all()
    assert len([request for request in chats(server) if kind_of(request) == "answer"]) == asked


def test_an_embedder_that_is_down_leaves_no_memory_with_holes(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.models import gateway

    quick = Patience(retries=0)
    monkeypatch.setattr(gateway.Limits, "__init__", _with_defaults(gateway.Limits, embed=quick))
    down = [True]

    def answer(request: Request) -> Answer:
        if "messages" not in request.body and down:
            down.pop()
            return status(503)
        return reply(request)

    server.always(answer)
    first = run_published(tmp_path)
    assert first.run.status == "incomplete"
    assert first.run.counts["embed"]["pending"] > 0
    again = run_published(tmp_path)
    assert again.run.status == "complete"
    assert again.run.counts["embed"].get("failed", 0) == 0


def test_vectors_that_come_after_all_build_the_memories_anew(server: FakeServer, tmp_path: Path) -> None:
    def rejects_one(request: Request) -> Answer:
        if "messages" not in request.body and "Corran" in json.dumps(request.body):
            return status(400)
        return reply(request)

    server.always(rejects_one)
    first = run_published(tmp_path, conditions=conditions("flat"))
    assert first.run.counts["embed"]["failed"] > 0
    assert run_published(tmp_path, conditions=conditions("flat")).made_stages == []
    server.always(reply)
    again = run_published(tmp_path, conditions=conditions("flat"), retry_failed=True)
    assert again.run.counts["embed"]["failed"] == 0
    assert "recall" in again.made_stages


def _with_defaults(limits: type[Any], **defaults: Any) -> Any:
    original = limits.__init__

    def init(self: Any, **given: Any) -> None:
        original(self, **{**defaults, **given})

    return init


def test_a_refused_key_stops_the_run_and_what_was_bought_is_kept(server: FakeServer, tmp_path: Path) -> None:
    def refuses_answers(request: Request) -> Answer:
        if "messages" in request.body and kind_of(request) == "answer":
            return status(401, error=f"Incorrect API key provided: {KEY}")
        return reply(request)

    server.always(refuses_answers)
    with pytest.raises(CallRefused) as refused:
        run_published(tmp_path)
    assert KEY not in str(refused.value)
    assert "\n" not in str(refused.value)
    extracted = len([request for request in chats(server) if kind_of(request) == "extract"])
    server.always(reply)
    assert run_published(tmp_path).run.status == "complete"
    assert len([request for request in chats(server) if kind_of(request) == "extract"]) == extracted


def test_the_key_is_written_nowhere(server: FakeServer, tmp_path: Path) -> None:
    run_published(tmp_path)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_a_missing_key_is_said_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadInput, match="OPENAI_API_KEY is not set"):
        run_published(tmp_path)
    assert not (tmp_path / "run" / "parts" / "extract").exists()


def test_another_repeat_buys_the_extraction_anew_and_nothing_that_does_not_depend_on_it(
    server: FakeServer, tmp_path: Path
) -> None:
    run_published(tmp_path / "a")
    first = [request.user for request in chats(server) if kind_of(request) == "extract"]
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "store").symlink_to(tmp_path / "a" / "store")
    run_published(tmp_path / "b", repeat=1)
    both = [request.user for request in chats(server) if kind_of(request) == "extract"]
    assert sorted(both) == sorted(first * 2)
    queries = [request.user for request in chats(server) if kind_of(request) == "query"]
    assert len(queries) == len(set(queries)), "the questions' entities are the same calls in both"
