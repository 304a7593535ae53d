import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results import ranking_text
from results.ranking import FIGURES, ranked_figures
from results.ranking_tables import ranking, ranking_ages, ranking_costs, ranking_differences, ranking_sizes

SAMPLING = {"resamples": 200, "seed": 0}
TURNS = [f"h#{session}.{turn}" for session in range(4) for turn in range(3)]


def few_words(turn: str) -> int:
    return 10


def test_turns_and_sessions_are_ranked_from_one_and_a_session_stands_where_its_best_turn_does() -> None:
    ranked = ["h#2.0", "h#0.1", "h#2.2", "h#1.0"]
    found = ranked_figures(ranked, {"h#2.2", "h#1.0"}, {"h#2", "h#1"}, few_words)
    assert found["turn_ranks"] == [3, 4]
    assert found["session_ranks"] == [1, 3]
    assert found["turn_mrr"] == pytest.approx(1 / 3)
    assert found["turn_recall_3"] == 0.5
    assert found["session_recall_1"] == 0.5
    assert found["session_recall_3"] == 1.0
    # Gains at ranks 1 and 3, over the best, at ranks 1 and 2.
    assert found["session_ndcg_10"] == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))


def test_evidence_that_is_not_ranked_has_no_rank_and_counts_as_not_found() -> None:
    found = ranked_figures(["h#0.0"], {"h#3.1"}, {"h#3"}, few_words)
    assert found["turn_ranks"] == found["session_ranks"] == []
    assert found["turn_mrr"] == found["session_recall_10"] == 0.0


def test_a_question_without_evidence_turns_has_figures_of_sessions_alone() -> None:
    found = ranked_figures(["h#0.0"], set(), {"h#0"}, few_words)
    assert found["session_mrr"] == 1.0
    assert not any(name.startswith("turn_") and name in FIGURES for name in found)


@pytest.mark.parametrize(("last", "share"), [(400, 1.0), (401, 0.5)])
def test_turns_are_taken_until_one_does_not_fit_into_a_thousand_words(last: int, share: float) -> None:
    words = {"h#0.0": 600, "h#1.0": last, "h#2.0": 1}
    found = ranked_figures(list(words), {"h#0.0", "h#1.0"}, {"h#0", "h#1"}, words.__getitem__)
    assert found["turn_within_1000_words"] == share


@given(st.permutations(TURNS), st.sets(st.sampled_from(TURNS), min_size=1))
def test_of_a_whole_ranking_every_figure_is_a_share_and_all_evidence_has_a_rank(
    ranked: list[str], evidence: set[str]
) -> None:
    sessions = {turn.partition(".")[0] for turn in evidence}
    found = ranked_figures(ranked, evidence, sessions, few_words, evidence)
    assert [ranked[rank - 1] in evidence for rank in found["turn_ranks"]] == [True] * len(evidence)
    assert len(found["session_ranks"]) == len(sessions)
    assert all(0 <= found[name] <= 1 for name in FIGURES)
    assert found["session_mrr"] >= found["turn_mrr"]
    assert (
        found["turn_recall_1"] <= found["turn_recall_3"] <= found["turn_recall_5"] <= found["turn_recall_10"]
    )


def rows_of(condition: str, mrr: dict[str, float], size: float = math.nan, **more: object) -> pd.DataFrame:
    """Rows of the table `ranks` with one figure, everything else as it is in an easy run."""
    base = dict.fromkeys(FIGURES, math.nan)
    about = {
        "condition": condition,
        "type": "t",
        "side": "rest",
        "store": "histories",
        "status": "ok",
        "size": size,
    }
    cost = {"turns": 100, "latency_ms": 1.0, "build_ms": 50.0, "memory_bytes": 1_000}
    age = {"age_days": math.nan, "age_sessions": 1.0}
    rows = [
        {**base, **about, **cost, **age, "question": q, "history": q, "session_mrr": v, "turn_mrr": v, **more}
        for q, v in mrr.items()
    ]
    return pd.DataFrame(rows)


def test_every_mean_says_its_side_and_over_how_many_questions_it_is() -> None:
    rest, tuned = rows_of("bm25", {"a": 1.0, "b": 0.5}), rows_of("bm25", {"c": 0.2}, side="development")
    table = ranking(pd.concat([rest, tuned]), **SAMPLING)
    own = table[(table["unit"] == "session") & (table["metric"] == "mrr")].set_index("side")
    assert own["n"].to_dict() == {"all": 3, "development": 1, "rest": 2}
    assert own.loc["rest", "mean"] == 0.75


def test_a_conversation_apart_counts_among_all_and_on_neither_side() -> None:
    table = ranking(rows_of("bm25", {"a": 1.0}, side="apart"), **SAMPLING)
    assert set(table["side"]) == {"all"}


def test_conditions_are_compared_with_the_best_baseline_which_the_hybrid_is_not() -> None:
    parts = [
        rows_of("weak", {"a": 0.1, "b": 0.2, "c": 0.3}),
        rows_of("strong", {"a": 0.6, "b": 0.7, "c": 0.5}),
        rows_of("ours", {"a": 1.0, "b": 0.9, "c": 1.0}),
    ]
    systems = {"weak": "flat", "strong": "bm25", "ours": "palimpsest"}
    table = ranking_differences(pd.concat(parts), systems, **SAMPLING)
    own = table[(table["side"] == "rest") & (table["unit"] == "session") & (table["metric"] == "mrr")]
    assert own[["a", "b"]].to_numpy().tolist() == [["weak", "strong"], ["ours", "strong"]]
    assert own["difference"].tolist() == pytest.approx([-0.4, 1.1 / 3])
    assert (own["p_holm"] >= own["p"]).all()


def test_a_difference_is_over_the_questions_that_both_have() -> None:
    parts = [rows_of("x", {"a": 1.0, "b": 0.0}), rows_of("best", {"b": 1.0, "c": 1.0})]
    table = ranking_differences(pd.concat(parts), {"x": "flat", "best": "bm25"}, **SAMPLING)
    own = table[(table["side"] == "all") & (table["unit"] == "turn") & (table["metric"] == "mrr")]
    assert own[["n", "difference"]].to_numpy().tolist() == [[1, -1.0]]


def test_evidence_is_binned_by_quarters_of_its_age() -> None:
    rows = rows_of("bm25", {f"q{n}": n / 8 for n in range(8)})
    rows["age_days"] = [float(n) for n in range(8)]
    table = ranking_ages(rows, **SAMPLING)
    own = table[(table["unit"] == "session") & (table["metric"] == "mrr")]
    assert own[["by", "quarter", "from", "to", "n"]].to_numpy().tolist() == [
        ["days", 1, 0.0, 1.0, 2], ["days", 2, 2.0, 3.0, 2], ["days", 3, 4.0, 5.0, 2], ["days", 4, 6.0, 7.0, 2],
    ]  # fmt: skip


def test_a_store_that_many_questions_share_counts_once_in_bytes_a_turn() -> None:
    shared = rows_of("bm25", {"a": 1.0, "b": 1.0}, history="h", memory_bytes=3_000)
    other = rows_of("bm25", {"c": 1.0}, turns=200, memory_bytes=1_500)
    costs = ranking_costs(pd.concat([shared, other])).iloc[0]
    assert costs["bytes_a_turn"] == 4_500 / 300
    assert costs["turns"] == 150


def test_sizes_are_compared_on_the_questions_that_smaller_stores_were_asked() -> None:
    whole = rows_of("bm25", {"a": 0.5, "b": 0.1})
    small = rows_of("bm25", {"a": 1.0}, size=10, turns=14)
    table = ranking_sizes(pd.concat([whole, small]), **SAMPLING)
    assert table["turns"].tolist() == [14, 100]
    assert table["session_mrr"].tolist() == [1.0, 0.5]
    assert table["n"].tolist() == [1, 1]


def test_by_the_permissive_rule_any_turn_that_says_the_answer_counts() -> None:
    found = ranked_figures(["h#0.0", "h#0.1", "h#0.2"], {"h#0.2"}, {"h#0"}, few_words, {"h#0.1", "h#9.9"})
    assert found["content_mrr"] == 1 / 2
    assert found["turn_mrr"] == 1 / 3
    assert ranked_figures(["h#0.0"], {"h#0.0"}, {"h#0"}, few_words, {"h#9.9"})["content_mrr"] == 0.0
    assert "content_mrr" not in ranked_figures(["h#0.0"], {"h#0.0"}, {"h#0"}, few_words)


def test_the_rate_of_extraction_is_that_of_what_was_asked_anew() -> None:
    calls = pd.DataFrame(
        {
            "provider": ["offline", "offline", "offline", "openai", "offline"],
            "task": ["extract", "extract", "extract", "extract", "judge"],
            "latency_ms": [1.0, 3.0, 0.0, 500.0, 9.0],
        }
    )
    assert (
        ranking_text.rate_line(calls) == "Extraction without a model, by the clock: extract 500 a second (2)."
    )
    assert ranking_text.rate_line(calls[calls["latency_ms"] == 0]) == ""
