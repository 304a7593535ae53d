"""An estimate bounds the run that follows it, leaves out what is bought, and leaves nothing behind."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from memory.errors import BadInput, CallRefused
from memory.tokens import count
from tasks.estimate import Estimate, estimate
from tasks.kinds import make_study
from tasks.models.catalogue import BUNDLES
from tasks.models.foreseen import Heading, Line, Span
from tasks.models.offline.chat import OfflineChat
from tasks.models.simulated import REASKED
from tests.flows import fake_llm
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import Answer, FakeServer, Request, chat, status

QUESTIONS = 6
PUBLISHED = BUNDLES["published"].model_dump()
STUDY: dict[str, Any] = {
    "models": PUBLISHED,
    "conditions": conditions("none", "oracle", "bm25", "flat", "graph"),
    "limit": QUESTIONS,
}
# Their contexts do not depend on what a model says.
DETERMINED = ("none", "oracle", "bm25")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with fake_llm.in_the_place_of_providers(monkeypatch, tokens=count) as fake:
        yield fake


def estimated(folder: Path, histories: int | None = None, **fields: Any) -> Estimate:
    return estimate(make_study(fields), None, folder / "store", folder / "run", histories=histories)


def run_again_from_the_store(folder: Path, **fields: Any) -> Estimate:
    """The estimate of the same study in another run folder: only the store can know what is bought."""
    return estimate(make_study(fields), None, folder / "store", folder / "another run")


def bought(run: Watched) -> dict[Heading, dict[str, float]]:
    """What a run has bought, by the headings of an estimate."""
    calls = run.table("calls").query("outcome in ['paid', 'unusable']")
    calls["chat"] = calls["task"] != "embed"
    sums = calls.groupby(["stage", "condition", "provider", "model", "chat"]).agg(
        calls=("call_id", "nunique"),
        prompt=("prompt_tokens", "sum"),
        reply=("completion_tokens", "sum"),
        usd=("usd", "sum"),
    )
    return {Heading(*key): row for key, row in sums.to_dict("index").items()}  # type: ignore[misc]


def left(found: Estimate) -> dict[Heading, Line]:
    """Lines that have something to buy."""
    return {heading: line for heading, line in found.lines.items() if line.calls.high}


def by_stage(lines: dict[Heading, Line], stage: str) -> dict[str, Line]:
    return {heading.condition: line for heading, line in lines.items() if heading.stage == stage}


def extractions(server: FakeServer) -> list[Request]:
    chats = [request for request in server.requests if "messages" in request.body]
    return [request for request in chats if fake_llm.kind_of(request) == "extract"]


def assert_within(span: Span, figure: float, what: object) -> None:
    assert span.low <= figure <= span.high, what


def talkative(request: Request) -> Answer:
    """Extractions and entities as many as the offline extractor finds; all else as the fake model says it."""
    kind = fake_llm.kind_of(request) if "messages" in request.body else ""
    offline = OfflineChat("noun-phrases")
    if kind == "extract":
        return chat(offline.complete("extract", {"role": "user", "text": request.user}))
    if kind == "query":
        return chat(offline.complete("query_entities", {"question": request.user}))
    return fake_llm.reply(request)


def test_an_estimate_bounds_the_run_that_follows_by_stage_and_condition(
    server: FakeServer, tmp_path: Path
) -> None:
    server.always(talkative)
    found = estimated(tmp_path, **STUDY)
    assert server.count() == 0
    real = bought(run_in_loop(tmp_path, **STUDY))
    assert set(real) <= set(found.lines)
    for priced in found.priced():
        spent = real.get(priced.heading, {"calls": 0, "prompt": 0, "reply": 0, "usd": 0.0})
        line = priced.line
        assert_within(line.calls, spent["calls"], priced)
        assert_within(line.prompt, spent["prompt"], priced)
        assert_within(line.reply, spent["reply"], priced)
        assert priced.usd is not None
        assert_within(priced.usd, spent["usd"], priced)


def test_a_model_that_hardly_extracts_anything_costs_no_more_than_estimated_and_in_all_no_less(
    server: FakeServer, tmp_path: Path
) -> None:
    found = estimated(tmp_path, **STUDY)
    real = bought(run_in_loop(tmp_path, **STUDY))
    for heading, spent in real.items():
        line = found.lines[heading]
        assert spent["calls"] <= line.calls.high
        assert spent["prompt"] <= line.prompt.high
        assert spent["reply"] <= line.reply.high
    tokens = sum((line.tokens for line in found.lines.values()), start=Span())
    assert_within(tokens, sum(spent["prompt"] + spent["reply"] for spent in real.values()), "tokens in all")


def test_calls_that_no_reply_decides_on_are_counted_exactly(server: FakeServer, tmp_path: Path) -> None:
    lines = estimated(tmp_path, **STUDY).lines
    real = bought(run_in_loop(tmp_path, **STUDY))
    for heading, line in lines.items():
        decided = heading.stage == "extract" or (heading.stage == "recall" and heading.chat)
        if decided or (heading.stage == "answer" and heading.condition in DETERMINED):
            assert line.calls.low == real[heading]["calls"], heading
    questions = next(
        line for heading, line in lines.items() if heading.condition == "flat" and not heading.chat
    )
    assert questions.calls == Span(QUESTIONS, QUESTIONS)


def test_what_half_a_run_has_bought_is_left_out(server: FakeServer, tmp_path: Path) -> None:
    def no_answers(request: Request) -> Answer:
        if "messages" in request.body and fake_llm.kind_of(request) == "answer":
            return status(401)
        return fake_llm.reply(request)

    server.always(no_answers)
    with pytest.raises(CallRefused):
        run_in_loop(tmp_path, **STUDY)
    found = estimated(tmp_path, **STUDY)
    assert {heading.stage for heading in left(found)} == {"answer", "judge"}
    turns = len({request.user for request in extractions(server)})
    assert by_stage(found.lines, "extract")[""] == Line(held=turns)
    server.always(fake_llm.reply)
    real = bought(run_in_loop(tmp_path, **STUDY))
    answers = by_stage(left(found), "answer")
    for condition, line in answers.items():
        heading = next(h for h in real if h.stage == "answer" and h.condition == condition)
        assert line.calls.low == real[heading]["calls"]
        # Every context is known by now: what is left open is what the provider adds around it.
        assert line.prompt.high < 1.5 * line.prompt.low


def test_a_run_that_is_complete_has_nothing_left_to_buy(server: FakeServer, tmp_path: Path) -> None:
    real = run_in_loop(tmp_path, **STUDY)
    assert estimated(tmp_path, **STUDY).complete
    again = run_again_from_the_store(tmp_path, **STUDY)
    assert not again.complete
    assert left(again) == {}
    assert sum(line.held for line in again.lines.values()) == real.table("calls")["call_id"].nunique()


def test_another_judge_leaves_only_verdicts_to_buy(server: FakeServer, tmp_path: Path) -> None:
    run_in_loop(tmp_path, **STUDY)
    other = {**STUDY, "models": {**PUBLISHED, "judge": "openai:gpt-4o"}}
    found = run_again_from_the_store(tmp_path, **other)
    assert {(heading.stage, heading.model) for heading in left(found)} == {("judge", "gpt-4o")}
    sent = server.count()
    (tmp_path / "run" / "run.json").unlink()
    run_in_loop(tmp_path, **other)
    assert sum(line.calls.low for line in left(found).values()) == server.count() - sent


def test_a_reply_that_stayed_unusable_is_bought_again_only_if_failed_rows_are_retried(
    server: FakeServer, tmp_path: Path
) -> None:
    def no_verdicts(request: Request) -> Answer:
        if "messages" in request.body and fake_llm.kind_of(request) == "judge":
            return chat("I would rather not say.")
        return fake_llm.reply(request)

    server.always(no_verdicts)
    study = {**STUDY, "conditions": conditions("none"), "max_failed": 1.0}
    run_in_loop(tmp_path, **study)
    assert left(run_again_from_the_store(tmp_path, **study)) == {}
    retried = run_again_from_the_store(tmp_path, **study, retry_failed=True)
    assert {heading.stage: line.calls.low for heading, line in left(retried).items()} == {"judge": QUESTIONS}


def test_the_forgetting_study_is_walked_without_its_frontier_and_left_with_nothing_to_buy(
    tmp_path: Path,
) -> None:
    small: dict[str, Any] = {
        "study": "forgetting",
        "limit": 3,
        "intervals": [],
        "policies": [{"policy": "importance"}],
        "draws": 2,
        "levels": [0.5],
        "resamples": 100,
    }
    before = estimated(tmp_path, **small)
    assert {"extract", "embed", "entities", "answer", "judge"} <= {heading.stage for heading in before.lines}
    real = run_in_loop(tmp_path, **small)
    assert by_stage(before.lines, "extract")[""].calls.low == len(real.table("extractions"))
    assert left(run_again_from_the_store(tmp_path, **small)) == {}


def test_of_many_histories_a_sample_is_scaled_and_extraction_still_counted_over_all(
    server: FakeServer, tmp_path: Path
) -> None:
    whole = estimated(tmp_path, **STUDY)
    some = estimated(tmp_path, 2, **STUDY)
    assert (whole.scaled, some.scaled) == (False, True)
    assert some.histories == (2, QUESTIONS)
    assert by_stage(some.lines, "extract") == by_stage(whole.lines, "extract")
    assert by_stage(some.lines, "answer")["none"].calls.low == QUESTIONS
    assert next(iter(some.lines)).stage == "extract"


def test_nothing_is_written_and_nothing_stays(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    estimated(tmp_path, **STUDY)
    assert list(tmp_path.iterdir()) == [scratch]
    run_in_loop(tmp_path, **STUDY)

    def everything() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before = everything()
    run_again_from_the_store(tmp_path, **STUDY)
    assert everything() == before
    assert list(scratch.iterdir()) == []


def test_a_damaged_part_of_the_run_is_left_where_it_is_and_its_calls_are_held(tmp_path: Path) -> None:
    study: dict[str, Any] = {"conditions": conditions("none"), "limit": 2}
    run_in_loop(tmp_path, **study)
    part = next((tmp_path / "run" / "parts" / "answer").glob("*.parquet"))
    part.write_bytes(b"torn")
    found = estimated(tmp_path, **study)
    assert (found.complete, left(found)) == (False, {})
    assert part.read_bytes() == b"torn"
    assert not (tmp_path / "run" / "quarantine").exists()


def test_no_key_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert left(estimated(tmp_path, **STUDY))


def test_a_cap_on_replies_lowers_what_they_may_come_to(tmp_path: Path) -> None:
    free = by_stage(estimated(tmp_path, **STUDY).lines, "answer")["none"]
    capped = by_stage(
        estimated(tmp_path, **{**STUDY, "models": {**PUBLISHED, "reply_cap": 16}}).lines, "answer"
    )["none"]
    assert free.reply.high == pytest.approx(QUESTIONS * 60 * 1.1)
    assert capped.reply.high == pytest.approx(QUESTIONS * 16 * 1.1)


def test_batches_cost_their_share_and_vectors_the_full_price(tmp_path: Path) -> None:
    models = BUNDLES["openai"].model_dump()
    live = {p.heading: p.usd for p in estimated(tmp_path, **{**STUDY, "models": models}).priced()}
    batched = {
        p.heading: p.usd for p in estimated(tmp_path, **{**STUDY, "models": models, "batch": True}).priced()
    }
    for heading, usd in live.items():
        found = batched[heading]
        assert usd is not None
        assert found is not None
        assert found.high == pytest.approx(usd.high / 2 if heading.chat else usd.high)


def test_a_model_without_a_price_costs_an_unknown_amount_and_not_nothing(tmp_path: Path) -> None:
    models = {**PUBLISHED, "answerer": "openai:gpt-9"}
    priced = estimated(tmp_path, **{**STUDY, "models": models}).priced()
    assert all((each.usd is None) == (each.heading.model == "gpt-9") for each in priced)
    mine = {"as_of": "2030-01", "models": {"openai:gpt-9": {"prompt": 1.0, "completion": 2.0}}}
    again = estimated(tmp_path, **{**STUDY, "models": models, "prices": mine})
    line = by_stage(again.lines, "answer")["none"]
    usd = next(p.usd for p in again.priced() if p.heading.stage == "answer")
    assert usd is not None
    assert usd.high == pytest.approx((line.prompt.high + 2 * line.reply.high) / 1e6, rel=1e-3)


def test_a_folder_of_another_run_is_refused_as_by_run(tmp_path: Path) -> None:
    run_in_loop(tmp_path, conditions=conditions("none"))
    with pytest.raises(BadInput, match="another run"):
        estimated(tmp_path, **STUDY)


def test_the_calls_of_answers_and_verdicts_say_whose_they_are(tmp_path: Path) -> None:
    calls: pd.DataFrame = run_in_loop(tmp_path, conditions=conditions("none", "bm25")).table("calls")
    assert set(calls[calls.stage.isin(["answer", "judge"])].condition) == {"none", "bm25"}


# The association study

ASSOCIATION: dict[str, Any] = {
    "study": "association",
    "models": PUBLISHED,
    "conditions": [
        {"system": "flat", "profile": "tuned", "name": "rag", "answer_prompt": "detailed"},
        {"system": "gaama", "name": "gaama", "answer_prompt": "detailed"},
    ],
    "limit": 4,
    "planted": 4,
    "resamples": 100,
}


def remembering(request: Request) -> Answer:
    """Facts and concepts as many as clauses state; all else as the fake model says it."""
    if "messages" in request.body and fake_llm.kind_of(request) == "concept_facts":
        new = request.user.split("\n\n", maxsplit=1)[0].splitlines()[1:]
        episodes = [line.removeprefix("[").split("] ", maxsplit=1) for line in new]
        inputs = {"episodes": json.dumps(episodes), "observed": "[]"}
        return chat(OfflineChat("noun-phrases").complete("concept_facts", inputs))
    return fake_llm.reply(request)


def test_an_estimate_of_the_association_study_bounds_its_calls(server: FakeServer, tmp_path: Path) -> None:
    server.always(remembering)
    found = estimated(tmp_path, **ASSOCIATION)
    assert server.count() == 0
    real = bought(run_in_loop(tmp_path, **ASSOCIATION))
    for heading, line in found.lines.items():
        if heading.chat and heading.stage in ("merge", "answer", "judge"):
            assert_within(line.calls, real.get(heading, {"calls": 0})["calls"], heading)
    assert {heading.stage for heading in real} <= {heading.stage for heading in found.lines} | {"plant"}


def test_an_estimate_of_the_use_time_study_counts_what_arms_share_once(
    server: FakeServer, tmp_path: Path
) -> None:
    study = {
        "study": "use-time",
        "models": PUBLISHED,
        "conditions": [{"system": "bm25", "profile": "improved", "name": "bm25"}, {"system": "rd_forget"}],
        "limit": 3,
        "budgets": [100, 2000],
        "resamples": 100,
    }
    found = estimated(tmp_path, **study)
    assert server.count() == 0
    real = bought(run_in_loop(tmp_path, **study))
    curations = [heading for heading in real if heading.stage == "recall"]
    assert curations
    for heading in curations:
        assert_within(found.lines[heading].calls, real[heading]["calls"], heading)
    assert {heading.stage for heading in real} <= {heading.stage for heading in found.lines}


def test_with_a_repair_it_counts_the_most_that_a_repair_can_ask(server: FakeServer, tmp_path: Path) -> None:
    repairing = ASSOCIATION | {"repair": True, "noise_runs": 1}
    lines = estimated(tmp_path, **repairing).lines
    [asked] = [line for heading, line in lines.items() if heading.stage == "repair" and heading.chat]
    # For each of four questions: diagnosis, probes, plan, verification; the answer may be one that is there already.
    assert 4 * 4 <= asked.calls.high <= 4 * 5 * REASKED + 1e-9
    assert asked.calls.low < 4 * 4
    assert server.count() == 0
