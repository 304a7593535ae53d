"""The tables of the association study by hand, and what the printed tables say of themselves."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from results import association

COUNTS = (282, 321, 96, 841)
"""LoCoMo's questions of the categories 1 to 4 (facts on GAAMA, section 9)."""
SAMPLING = {"resamples": 200, "seed": 0}


def words(*rows: tuple[str, str, str, int, float]) -> pd.DataFrame:
    """Rows of stage `words`: condition, conversation, question, words, evidence recall."""
    frame = pd.DataFrame(rows, columns=["condition", "history", "question", "words", "evidence_recall"])
    return frame.assign(verbatim_recall=frame["evidence_recall"], answer_in_context=np.nan)


EVIDENCE = words(
    ("a", "h", "q1", 100, 0.0),
    ("a", "h", "q2", 100, 1.0),
    ("a", "i", "q3", 100, 0.5),
    ("a", "h", "q1", 500, 1.0),
    ("a", "h", "q2", 500, 1.0),
    ("a", "i", "q3", 500, 0.5),
    ("b", "h", "q1", 100, 0.0),
    ("b", "h", "q2", 100, 0.0),
    ("b", "i", "q3", 100, 0.0),
)


# What is printed


@pytest.mark.parametrize("system", association.PRINTED_3)
def test_a_printed_overall_is_the_mean_of_its_categories_by_their_questions(system: str) -> None:
    *cells, overall = association.PRINTED_3[system]
    mean = sum(n * cell for n, cell in zip(COUNTS, cells, strict=True)) / sum(COUNTS)
    # A cell is rounded to one decimal, and so is what is compared with it.
    assert abs(mean - overall) <= 0.1


def test_the_cells_of_mem0_in_locomos_numbering_come_to_its_own_overall() -> None:
    said = association.NOTES.partition("they read ")[2]
    *cells, overall = (float(cell) for cell in said.partition(". No")[0].replace("overall ", "").split(", "))
    assert sorted(cells) == sorted(association.PRINTED_3["Mem0"][:4])
    mean = sum(n * cell for n, cell in zip(COUNTS, cells, strict=True)) / sum(COUNTS)
    assert abs(mean - overall) <= 0.1


def test_the_printed_table_4_adds_up() -> None:
    rows = association.PRINTED_4
    *categories, overall = (rows[name] for name in rows)
    for _, _, _, gain, loss, net in rows.values():
        assert gain + loss == pytest.approx(net, abs=0.11)
    assert [row[0] for row in categories] == list(COUNTS)
    assert overall[:2] == (sum(COUNTS), sum(row[1] for row in categories))
    for column in (2, 3, 4):
        assert sum(row[0] * row[column] for row in categories) / 1540 == pytest.approx(
            overall[column], abs=0.1
        )


# Evidence by words


def test_evidence_is_averaged_over_questions_by_condition_and_size() -> None:
    table = association.evidence(EVIDENCE, {"b": "somebody else"}, **SAMPLING)
    own = table[table["figure"] == "evidence_recall"].set_index(["condition", "words"])
    assert own["mean"].to_dict() == {("a", 100): 0.5, ("a", 500): pytest.approx(2.5 / 3), ("b", 100): 0.0}
    assert set(own["n"]) == {3}
    assert own["facts_by"].to_dict() == {("a", 100): "", ("a", 500): "", ("b", 100): "somebody else"}
    missing = table[table["figure"] == "answer_in_context"]
    assert (missing["n"] == 0).all()
    assert missing["mean"].isna().all()


def test_as_text_a_condition_has_a_line_and_a_size_that_it_lacks_is_no_fault() -> None:
    both = EVIDENCE[EVIDENCE["words"] == 100]
    text = association.evidence_text(association.evidence(both, {"b": "somebody else"}, **SAMPLING))
    assert text.header == ("Condition", "100 words", "facts written by")
    assert [(row[0], row[1][:5], row[1][-3:], row[2]) for row in text.rows] == [
        ("a", "0.500", "(3)", "-"),
        ("b", "0.000", "(3)", "somebody else"),
    ]


def test_differences_are_paired_by_question_and_only_where_both_have_the_size() -> None:
    table = association.evidence_differences(EVIDENCE, [("a", "b"), ("b", "nobody")], **SAMPLING)
    own = table[table["figure"] == "evidence_recall"]
    assert list(zip(own["a"], own["b"], own["words"], strict=True)) == [("a", "b", 100)]
    row = own.iloc[0]
    assert (row["n"], row["units"], row["mean_a"], row["mean_b"], row["difference"]) == (3, 2, 0.5, 0.0, 0.5)
    text = association.difference_text(table, "evidence_differences", "A minus B.")
    assert text.rows[0][0] == "a minus b"
    assert text.rows[0][1].startswith("+0.500")


def test_p_is_adjusted_over_all_pairs_and_sizes_of_a_figure() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (condition, f"h{number % 8}", f"q{number}", size, float(rng.random() + shift > 0.7))
        for condition, shift in (("a", 0.5), ("b", 0.2), ("c", 0.0))
        for size in (100, 500)
        for number in range(24)
    ]
    table = association.evidence_differences(words(*rows), [("a", "c"), ("b", "c")], **SAMPLING)
    own = table[table["figure"] == "evidence_recall"]
    smallest = own["p"].idxmin()
    assert own.loc[smallest, "p_holm"] == pytest.approx(min(1.0, 4 * own.loc[smallest, "p"]))
    assert (own["p_holm"] >= own["p"]).all()


# Hubs


def test_what_pagerank_gains_is_against_no_pagerank_in_the_same_graph() -> None:
    sizes = pd.DataFrame(
        {
            "condition": "g",
            "history": ["h", "i"],
            "graph": "concepts",
            "items": [10, 20],
            "degree_max": [4, 8],
        }
    )
    rows = pd.DataFrame(
        [
            ("g", "h", "concepts", "q1", 0.0, 0.0, 0.0),
            ("g", "i", "concepts", "q2", 0.0, 0.5, 0.0),
            ("g", "h", "concepts", "q1", 0.1, 1.0, 0.2),
            ("g", "i", "concepts", "q2", 0.1, 0.5, 0.4),
        ],
        columns=["condition", "history", "graph", "question", "ppr_weight", "evidence_recall", "hub_mass"],
    )
    [row] = association.hub_summary(sizes, rows, **SAMPLING).to_dict("records")
    assert (row["ppr_weight"], row["items"], row["degree_max"]) == (0.1, 15.0, 6.0)
    assert row["hub_mass"] == pytest.approx(0.3)
    assert (row["mean_a"], row["mean_b"], row["difference"], row["n"]) == (0.75, 0.25, 0.5, 2)


# Rewards


def metrics(*rows: tuple[str, str, str, str, float | None]) -> pd.DataFrame:
    """Condition, conversation, question, type, reward."""
    return pd.DataFrame(rows, columns=["condition", "history", "question", "type", "judge"]).astype(
        {"judge": float}
    )


REWARDS = metrics(
    ("ppr", "conv-30", "q1", "multi-hop", 1.0),
    ("ppr", "conv-30", "q2", "temporal", 0.67),
    ("ppr", "own", "q3", "temporal", None),
    ("flat", "conv-30", "q1", "multi-hop", 0.5),
    ("flat", "conv-30", "q2", "temporal", 0.67),
    ("flat", "own", "q3", "temporal", 0.0),
)


def test_table_3_is_in_percent_by_category_and_leaves_out_a_missing_reward() -> None:
    table = association.table_3(REWARDS, ["ppr"], **SAMPLING)
    own = table.data[table.data["source"] == "measured"].set_index("category")
    assert own["mean"].round(6).to_dict() == {"multi-hop": 100.0, "temporal": 67.0, "overall": 83.5}
    assert own["n"].to_dict() == {"multi-hop": 1, "temporal": 1, "overall": 2}
    shown = {(row[0], row[1]): row[2:] for row in table.rows}
    assert shown["ppr", "measured"][2] == "-"
    assert shown["GAAMA, after GRAFT", "printed"] == ("72.4", "75.1", "47.3", "86.6", "79.1")


def test_table_5_is_paired_by_question_beside_what_is_printed_of_the_conversation() -> None:
    table = association.table_5(REWARDS, "ppr", "flat")
    assert table.rows == (
        ("conv-30", "+50.0 (+2.2)", "+0.0 (-2.6)", "- (-)", "- (+1.9)", "+25.0 (+0.5)"),
        ("own", "- (-)", "- (-)", "- (-)", "- (-)", "- (-)"),
    )
    overall = table.data[table.data["category"] == "overall"].set_index("history")
    assert overall["n"].to_dict() == {"conv-30": 2, "own": 0}
    assert math.isnan(overall.loc["own", "difference"])


def test_what_a_run_keeps_of_a_table_is_enough_to_write_it_again() -> None:
    for table, again in (
        (association.table_3(REWARDS, ["ppr"], **SAMPLING), association.table_3_text),
        (association.table_5(REWARDS, "ppr", "flat"), association.table_5_text),
    ):
        kept = table.arrow().to_pandas()
        assert (again(kept).caption, again(kept).rows) == (table.caption, table.rows)
