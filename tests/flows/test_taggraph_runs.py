"""TAGGRAPH's family in a whole study: offline, and over real HTTP with the calls that it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from memory.errors import BadInput, CallRefused
from memory.prompts.five_ws import MAX_TOKENS
from memory.systems.taggraph import TagGraphMemory
from results.columns import documented
from results.taggraph import fill_table
from tasks.kinds import make_study
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


def test_the_ranking_study_builds_the_notes_of_all_arms_once_and_says_how_full_they_are_and_what_missed_evidence_lacks(
    tmp_path: Path,
) -> None:
    arms = conditions(*(f"taggraph:{arm}" for arm in ("localized", "adaptive", "notes_bm25")))
    sparse = {"system": "taggraph", "name": "why-alone", "settings": {"slots": ["why"]}}
    made = run_in_loop(
        tmp_path, study="ranking", conditions=[*arms, sparse], resamples=100, sized_questions=0
    )
    assert made.made["merge"] == ["taggraph-localized-0000"]
    assert set(made.table("ranks")["status"]) == {"ok"}
    fill = made.table("five_ws_fill").set_index(["condition", "slot"])
    assert fill.loc[("taggraph-adaptive", "walked"), "evaluated"]
    assert not fill.loc[("why-alone", "walked"), "evaluated"]
    misses, ranks, turns = made.table("five_ws_misses"), made.table("ranks"), made.table("turns")
    said = turns[turns["history"].isin(ranks["history"]) & (turns["text"].str.strip() != "")]
    assert set(fill["notes"]) == {len(said)}
    for condition in ("taggraph-localized", "taggraph-adaptive", "why-alone"):
        own = ranks[(ranks["condition"] == condition) & (ranks["turn_recall_5"] == 0)]
        assert set(misses[misses["condition"] == condition]["question"]) == set(own["question"])
    assert not len(misses[misses["condition"] == "taggraph-notes_bm25"])
    causes = made.table("five_ws_causes")
    whole = causes[causes["side"] == "all"].groupby("condition")["questions"].sum()
    assert whole.to_dict() == misses.groupby("condition").size().to_dict()


def test_the_arms_are_built_by_no_setting_but_the_order_of_sessions() -> None:
    settings = [
        TagGraphMemory.Settings(**TagGraphMemory.profiles[arm]).model_dump()
        for arm in TagGraphMemory.profiles
    ]
    assert len({tuple(each[field] for field in TagGraphMemory.built_by) for each in settings}) == 1


def test_worse_tags_make_a_curve_of_every_arm_from_the_same_notes(tmp_path: Path) -> None:
    arms = conditions("bm25", "taggraph:localized", "taggraph:notes_bm25")
    made = run_in_loop(
        tmp_path, study="ranking", conditions=arms, limit=6, sizes=[], tag_noise=[0.5, 1.0], resamples=200
    )
    assert len(made.made["merge"]) == 1, "one set of notes"
    noise = made.table("ranking_tag_noise")
    assert list(noise.columns) == [column.name for column in documented()["ranking_tag_noise"].columns]
    assert {(row["condition"], row["change"]) for row in noise.to_dict("records")} == {
        (f"taggraph-{arm}", change) for arm in ("localized", "notes_bm25") for change in ("drop", "corrupt")
    }
    mrr = noise.query("side == 'all' and unit == 'turn' and metric == 'mrr'").set_index(
        ["condition", "change", "share"]
    )["mean"]
    means = (
        made.table("ranking")
        .query("side == 'all' and unit == 'turn' and metric == 'mrr'")
        .set_index("condition")
    )
    for arm in ("localized", "notes_bm25"):
        assert mrr[f"taggraph-{arm}", "drop", 0.0] == means.loc[f"taggraph-{arm}", "mean"]
        assert mrr[f"taggraph-{arm}", "drop", 0.0] > mrr[f"taggraph-{arm}", "drop", 1.0], (
            "without a tag nothing is found"
        )
    assert set(means.index) == {"bm25", "taggraph-localized", "taggraph-notes_bm25"}, (
        "no worse arm is ranked with others"
    )
    assert (made.folder / "ranking_tag_noise.md").exists()
    assert (made.folder / "figures/ranking_tag_noise.svg").exists()


def test_worse_tags_are_given_as_shares() -> None:
    with pytest.raises(BadInput, match="tag_noise: give shares above 0"):
        make_study({"study": "ranking", "tag_noise": [0.0, 0.5]})
