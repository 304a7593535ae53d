"""The switch tables, on rows so few that every figure can be worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from results.switches import (
    ALL,
    Sampling,
    Switched,
    budget_table,
    rule_table,
    sweep_table,
    switch_table,
)
from results.switches_text import TEXTS

FEW = Sampling(resamples=200)
MRR = "turn_mrr"


def rows_of(arm: tuple[str, str, str], *mrr: float | None, **more: float) -> list[dict[str, Any]]:
    base, field, value = arm
    figures = {
        "turn_recall_5": 0.5,
        "turn_ndcg_10": 0.5,
        "answer_in_context": 1.0,
        "context_tokens": 100,
        "floor_acts": 0.0,
        "hub_share": 0.0,
        "nodes": 5,
        **more,
    }
    key = {"base": base, "field": field, "value": value}
    return [{"question": f"q{n}", **key, **figures, MRR: value} for n, value in enumerate(mrr)]


def one(table: pd.DataFrame, **named: Any) -> pd.Series[Any]:
    found = table[(table[list(named)] == pd.Series(named)).all(axis=1)]
    assert len(found) == 1
    return found.iloc[0]


def switched(field: str, value: str, own: str, *uses: str) -> Switched:
    return Switched("published", field, value, own, frozenset(uses))


ROWS = pd.DataFrame(
    [
        *rows_of(("published", "", "null"), 0.5, 0.2, None, 0.4),
        *rows_of(("published", "merge", '"old_wins"'), 0.7, 0.4, 0.9, 0.6, context_tokens=150),
        *rows_of(("published", "max_edges", "10"), 0.5, 0.2, 0.1, 0.4, floor_acts=1.0),
    ]
)
ARMS = [
    switched("merge", '"old_wins"', '"new_wins"', "switch", "rule"),
    switched("max_edges", "10", "null", "sweep"),
]


def test_a_switch_is_its_arm_minus_its_profile_over_the_questions_that_both_have() -> None:
    table = switch_table(ROWS, ARMS, FEW)
    assert set(table["field"]) == {"merge"}
    line = one(table, figure=MRR)
    assert (line["n"], line["missing"]) == (3, 1)
    assert line["moved"] == pytest.approx((0.7 + 0.4 + 0.6) / 3)
    assert line["unmoved"] == pytest.approx((0.5 + 0.2 + 0.4) / 3)
    assert line["difference"] == pytest.approx(0.2)
    assert line["low"] == pytest.approx(0.2) == line["high"]  # every question gains the same
    assert one(table, figure="context_tokens")["difference"] == 50
    assert one(table, figure="answer_in_context")["p"] == 1.0


def test_holm_counts_the_rows_of_a_figure_and_takes_no_p_for_less_than_can_be_known() -> None:
    equal = rows_of(("published", "merge", '"other"'), 0.7, 0.4, 0.9, 0.6, context_tokens=150)
    arms = [*ARMS, switched("merge", '"other"', '"new_wins"', "switch")]
    table = switch_table(pd.concat([ROWS, pd.DataFrame(equal)]), arms, FEW)
    # Two equal switches. Of their rows for MRR, and for tokens, both have p 0: below 2 in 200 resamples.
    assert table.loc[table["p"] == 0, "figure"].tolist() == [MRR, "context_tokens"] * 2
    assert table.loc[table["p"] == 0, "p_holm"].tolist() == [2 * 2 / 200] * 4
    assert table.loc[table["p"] > 0, "p_holm"].tolist() == [1.0] * 6


def test_merge_rules_are_compared_by_type_and_over_all_questions() -> None:
    types = pd.Series({"q0": "knowledge-update", "q1": "knowledge-update", "q2": "other", "q3": "other"})
    table = rule_table(ROWS, types, ARMS, FEW)
    assert list(dict.fromkeys(table["type"])) == ["knowledge-update", ALL]
    assert one(table, type="knowledge-update", figure=MRR)["n"] == 2
    assert one(table, type=ALL, figure=MRR)["n"] == 3


def test_a_sweep_has_the_profile_itself_at_its_own_value_and_no_cap_last() -> None:
    table = sweep_table(ROWS, ARMS, FEW)
    part = table[table["figure"] == MRR]
    assert part["value"].tolist()[0] == 10.0
    assert math.isnan(part["value"].tolist()[1])
    assert part["own"].tolist() == [False, True]
    assert part["mean"].tolist() == pytest.approx([0.3, (0.5 + 0.2 + 0.4) / 3])
    assert table[table["figure"] == "floor_acts"]["mean"].tolist() == [1.0, 0.0]


def test_questions_of_one_conversation_are_resampled_together() -> None:
    shared = Sampling({f"q{n}": "one" if n < 2 else "other" for n in range(4)}, 200)
    assert one(switch_table(ROWS, ARMS, shared), figure=MRR)["units"] == 2


def budget_rows(system: str, *recall: float) -> list[dict[str, Any]]:
    key = {"system": system, "profile": "published", "unit": "tokens", "budget": 250}
    return [
        {"question": f"q{n}", **key, "evidence_recall": r, "answer_in_context": 1.0, "context_tokens": 240}
        for n, r in enumerate(recall)
    ]


def test_at_an_equal_budget_the_graph_is_compared_with_flat_question_by_question() -> None:
    rows = pd.DataFrame([*budget_rows("graph", 1.0, 0.5), *budget_rows("flat", 0.5, 0.5)[::-1]])
    line = one(budget_table(rows, FEW), figure="evidence_recall")
    assert (line["graph"], line["flat"], line["difference"]) == (0.75, 0.5, 0.25)
    assert (line["unit"], line["budget"]) == ("tokens", 250)


def test_every_table_is_written_as_markdown_with_a_line_an_arm() -> None:
    types = pd.Series(dict.fromkeys(ROWS["question"], "knowledge-update"))
    budgets = pd.DataFrame([*budget_rows("graph", 1.0, 0.5), *budget_rows("flat", 0.5, 0.5)])
    tables = {
        "switches": (switch_table(ROWS, ARMS, FEW), 1),
        "merge_rules": (rule_table(ROWS, types, ARMS, FEW), 2),
        "sweep": (sweep_table(ROWS, ARMS, FEW), 2),
        "equal_budget": (budget_table(budgets, FEW), 1),
    }
    assert tables.keys() == TEXTS.keys()
    for name, (table, lines) in tables.items():
        text = TEXTS[name](table)
        assert text.name == name
        assert len(text.rows) == lines
        assert all(len(row) == len(text.header) for row in text.rows)
    switches = TEXTS["switches"](tables["switches"][0])
    assert "+0.200 [+0.200, +0.200]* (3)" in switches.rows[0]
    assert "+50 [+50, +50]* (4)" in switches.rows[0]
    assert [row[2] for row in TEXTS["sweep"](tables["sweep"][0]).rows] == ["10", "no cap (own)"]


def test_an_interval_of_one_conversation_and_a_figure_of_no_question_are_dashes() -> None:
    rows = pd.DataFrame(
        [
            *rows_of(("published", "", "null"), None, None),
            *rows_of(("published", "merge", '"old_wins"'), None, None, context_tokens=150),
            *rows_of(("published", "max_edges", "10"), None, None, nodes=math.nan),
        ]
    )
    alone = Sampling({"q0": "c", "q1": "c"}, resamples=200)
    (line,) = TEXTS["switches"](switch_table(rows, ARMS, alone)).rows
    assert line[-1] == "+50 [–, –] (2)"
    assert "– [–, –] (0)" in line
    assert "nan" not in str(TEXTS["sweep"](sweep_table(rows, ARMS, FEW)).rows)
