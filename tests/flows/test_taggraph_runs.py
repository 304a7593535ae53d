"""TAGGRAPH's family in a whole study: offline, and over real HTTP with the calls that it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from memory.errors import CallRefused
from memory.prompts.five_ws import MAX_TOKENS
from memory.systems.taggraph import TagGraphMemory
from memory.taggraph.notes import from_table
from results.taggraph import fill_table
from tasks.models.catalogue import BUNDLES
from tests.flows.fake_llm import in_the_place_of_providers, kind_of, reply
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import Answer, FakeServer, Request, status

ARMS = ("localized", "chronological", "ppr", "adaptive", "notes_bm25")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


def run(folder: Path, *profiles: str, models: str = "published") -> Watched:
    arms: list[dict[str, Any]] = conditions(*(f"taggraph:{profile}" for profile in profiles))
    return run_in_loop(folder, conditions=arms, models=BUNDLES[models].model_dump(), limit=3, resamples=100)


def sent(server: FakeServer) -> Counter[str]:
    return Counter(kind_of(request) for request in server.requests if "messages" in request.body)


def test_offline_every_arm_recalls_and_the_notes_of_all_are_the_same(tmp_path: Path) -> None:
    made = run(tmp_path, *ARMS, "improved", models="offline")
    recalls = made.table("recalls")
    assert made.run.status == "complete"
    assert set(recalls["status"]) == {"ok"}
    assert set(recalls["condition"]) == {"taggraph-" + arm for arm in (*ARMS, "improved")}
    assert recalls["turns"].map(len).min() > 0
    notes = [pq.read_table(path) for path in sorted((made.folder / "graphs").glob("*/notes.parquet"))]
    assert len(notes) == len(ARMS) + 1
    assert all(table.equals(notes[0]) for table in notes)
    filled = fill_table(notes[0]).set_index("slot")
    assert filled.loc["walked", "evaluated"]
    assert len(from_table(notes[0].drop_columns(["history"]))) == notes[0].num_rows


def test_five_arms_cost_one_call_a_distinct_turn_and_one_a_question_within_the_cap(
    server: FakeServer, tmp_path: Path
) -> None:
    made = run(tmp_path, *ARMS)
    assert set(made.table("recalls")["status"]) == {"ok"}
    turns, questions = made.table("turns"), made.table("questions")
    distinct = len(turns[["speaker", "text", "caption"]].drop_duplicates())
    assert sent(server)["five_ws"] == distinct
    assert sent(server)["five_ws_query"] == questions["text"].nunique()
    assert sent(server)["extract"] == sent(server)["query"] == 0
    asked = [r.body for r in server.requests if "messages" in r.body and kind_of(r).startswith("five_ws")]
    assert {body.get("max_completion_tokens") or body.get("max_tokens") for body in asked} == {MAX_TOKENS}
    run(tmp_path, *ARMS)
    assert sent(server)["five_ws"] == distinct
    assert sent(server)["five_ws_query"] == questions["text"].nunique()


def test_a_run_that_was_stopped_in_the_middle_of_its_notes_buys_none_of_them_twice(
    server: FakeServer, tmp_path: Path
) -> None:
    asked: list[str] = []

    def half_way(request: Request) -> Answer:
        if "messages" in request.body and kind_of(request) == "five_ws":
            asked.append(request.user)
            if len(asked) > 10:
                return status(401)
        return reply(request)

    server.always(half_way)
    with pytest.raises(CallRefused):
        run(tmp_path, "localized", "adaptive")
    bought = set(asked[:10])
    server.requests.clear()
    server.always(reply)
    assert run(tmp_path, "localized", "adaptive").run.status == "complete"
    again = [r.user for r in server.requests if "messages" in r.body and kind_of(r) == "five_ws"]
    assert again and not bought.intersection(again)


def test_the_arms_are_built_by_no_setting_but_the_order_of_sessions() -> None:
    settings = [
        TagGraphMemory.Settings(**TagGraphMemory.profiles[arm]).model_dump()
        for arm in TagGraphMemory.profiles
    ]
    assert len({tuple(each[field] for field in TagGraphMemory.built_by) for each in settings}) == 1
