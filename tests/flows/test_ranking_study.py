"""The ranking study in a loop: what it asks and leaves out, what it reads, and what a second run still does."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from memory.errors import BadInput
from results.content_match import reference_relevant
from results.ranking import FIGURES
from tasks import ranking_plan
from tasks.kinds import make_study
from tasks.ranking_study import RankingStudy
from tests.flows.study_in_loop import Watched, conditions, run_in_loop

ARMS = conditions("bm25", "flat")


def study(folder: Path, **fields: object) -> Watched:
    return run_in_loop(folder, **{"study": "ranking", "resamples": 100, "sizes": [10, 20], **fields})


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return study(tmp_path_factory.mktemp("ranked"), conditions=ARMS, sized_questions=4)


def test_every_question_with_evidence_is_ranked_by_every_condition_and_others_are_counted(
    ranked: Watched,
) -> None:
    ranks, left_out = ranked.table("ranks"), ranked.table("ranking_left_out")
    whole = ranks[ranks["size"].isna()]
    assert whole["condition"].value_counts().to_dict() == {"bm25": 11, "flat": 11}
    assert left_out[["questions", "abstention", "asked"]].sum().tolist() == [12, 1, 11]
    assert (ranks["status"] == "ok").all()


def test_nothing_is_answered_or_judged(ranked: Watched) -> None:
    assert [stage for stage, works in ranked.made.items() if works] == [
        "load",
        "embed",
        "rank",
        "rank_tables",
    ]


def test_a_system_that_needs_extractions_is_built_beforehand_and_once_where_arms_are_built_alike(
    tmp_path: Path,
) -> None:
    arms = [*conditions("graph"), {"system": "graph", "name": "twin"}]
    run = study(tmp_path, conditions=arms, limit=1, sizes=[], sized_questions=0)
    assert run.made_stages == ["load", "extract", "embed", "merge", "rank", "rank_tables"]
    assert run.made["merge"] == ["graph-0000"]
    one, other = (rows.reset_index(drop=True) for _, rows in run.table("ranks").groupby("condition"))
    pd.testing.assert_frame_equal(one[list(FIGURES)], other[list(FIGURES)])


def test_systems_that_rank_turns_rank_all_of_them(ranked: Watched) -> None:
    ranks = ranked.table("ranks")
    assert (ranks["ranked"] == ranks["turns"]).all()


def test_a_second_relevance_rule_counts_every_turn_that_says_the_answer(ranked: Watched) -> None:
    ranks = ranked.table("ranks").query("condition == 'bm25' and size.isna()").set_index("question")
    turns = ranked.table("turns")
    assert ranks["content_mrr"].notna().any()
    for question in ranked.table("questions").to_dict("records"):
        if question["question"] not in ranks.index:
            continue
        texts = turns.loc[turns["history"] == question["history"], "text"]
        said = any(reference_relevant(text, question["reference"]) for text in texts)
        assert pd.notna(ranks.loc[question["question"], "content_mrr"]) == said


def test_smaller_stores_are_asked_a_few_questions_and_hold_their_evidence(ranked: Watched) -> None:
    ranks = ranked.table("ranks")
    small = ranks[ranks["size"].notna()]
    assert small.groupby("condition")["question"].nunique().to_dict() == {"bm25": 4, "flat": 4}
    bm25 = small[small["condition"] == "bm25"]
    assert (bm25["turn_ranks"].map(len) == bm25["evidence_turns"]).all()
    assert (bm25["turns"] >= bm25["size"]).all()


def test_a_second_run_makes_nothing_and_says_the_same(ranked: Watched) -> None:
    before = ranked.table("ranking")
    again = study(ranked.folder.parent, conditions=ARMS, sized_questions=4)
    assert again.made_stages == []
    pd.testing.assert_frame_equal(again.table("ranking"), before)


def test_how_histories_are_batched_changes_no_figure_and_each_batch_reads_its_own_vectors(
    ranked: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking_plan, "QUESTIONS_A_BATCH", 4)
    apart = study(tmp_path, conditions=conditions("flat"), sized_questions=0)
    assert apart.made["embed"] == ["0000", "0001", "0002"]
    whole = ranked.table("ranks").query("size.isna() and condition == 'flat'")
    pd.testing.assert_frame_equal(
        apart.table("ranks")[list(FIGURES)], whole[list(FIGURES)].reset_index(drop=True)
    )
    parts = [pd.read_parquet(path) for path in (apart.folder / "parts/embed").glob("*.vectors.*.parquet")]
    texts = apart.table("turns").groupby("history")["text"].nunique()
    assert sum(map(len, parts)) <= texts.sum() + len(texts), "its histories' turns, and a question each"
    assert max(map(len, parts)) <= texts.nlargest(4).sum() + 4


def test_all_histories_can_stand_in_one_store(tmp_path: Path) -> None:
    together = study(tmp_path, conditions=conditions("bm25"), store="together")
    ranks, turns = together.table("ranks"), together.table("turns")
    assert len(ranks) == 11
    sessions = turns.groupby(["history", "session_position"])
    distinct = sessions.agg({"session": "first", "text": tuple}).drop_duplicates()
    assert ranks["turns"].unique().tolist() == [distinct["text"].map(len).sum()]
    assert (ranks["store"] == "together").all()
    assert (ranks["turn_ranks"].map(len) == ranks["evidence_turns"]).all()


def test_for_development_alone_nobody_else_is_asked(tmp_path: Path) -> None:
    none = study(tmp_path, conditions=conditions("bm25"), side="development")
    assert none.run.status == "complete"
    assert none.table("ranking_left_out")["other_side"].sum() == 11, "nothing is tuned on the sample"
    assert not (none.folder / "ranking.parquet").exists()


def test_all_of_longmemeval_s_is_embedded_by_the_table_and_a_sample_by_the_model() -> None:
    def embedder(**fields: object) -> str:
        return make_study({"study": "ranking", **fields}).models.embedder

    assert embedder(benchmark="longmemeval-s") == "offline:static"
    assert embedder(benchmark="longmemeval-s", limit=50) == "offline:minilm"
    assert make_study({"study": "ranking", "benchmark": "longmemeval-s", "limit": 50}).model_dump()[
        "beside"
    ] == ("offline:static"), "so that what the table loses is seen"
    assert embedder(benchmark="locomo") == "offline:minilm"
    assert embedder(benchmark="longmemeval-s", models="offline") == "offline:minilm"


def test_conversations_between_named_people_are_searched_in_dated_turns_unless_a_condition_says_otherwise() -> (
    None
):
    arms = [{"system": "bm25"}, {"system": "bm25", "name": "bare", "settings": {"text": "raw"}}]
    made = make_study({"study": "ranking", "benchmark": "locomo", "conditions": arms})
    assert [made.arm(condition)["settings"]["text"] for condition in made.conditions] == ["dated", "raw"]


@pytest.mark.parametrize("sizes", [[20, 10], [0], [10, 10]])
def test_sizes_that_do_not_rise_are_refused(sizes: list[int]) -> None:
    with pytest.raises(BadInput, match="sizes"):
        make_study({"study": "ranking", "sizes": sizes})


def test_dense_conditions_are_ranked_with_another_embedder_beside_and_lexical_ones_are_not() -> None:
    made = make_study(
        {"study": "ranking", "conditions": conditions("bm25", "flat", "graph"), "beside": "ollama:all-minilm"}
    )
    assert isinstance(made, RankingStudy)
    assert [twin.name for twin in made.twins()] == ["flat-all-minilm"]
    same = make_study({"study": "ranking", "beside": "offline:minilm"})
    assert isinstance(same, RankingStudy)
    assert same.twins() == ()


def test_an_embedder_beside_must_be_known() -> None:
    with pytest.raises(BadInput, match="beside: nowhere:model: no embedder whose dimensions are known"):
        make_study({"study": "ranking", "beside": "nowhere:model"})
