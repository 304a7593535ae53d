from __future__ import annotations

import pandas as pd
import pytest

from results.frontier import FIGURES, against_chance, age_of, band, by_group, points


def row(policy: str, draw: int, question: str, figure: float, level: float = 0.5) -> dict[str, object]:
    point = {"store": "graph", "policy": policy, "level": level, "draw": draw, "question": question}
    return {**point, **dict.fromkeys(FIGURES, figure)}


ROWS = pd.DataFrame(
    [row("importance", 0, f"q{i}", 1.0) for i in range(4)]
    + [row("random", draw, f"q{i}", float((draw + i) % 2)) for draw in range(2) for i in range(4)]
)


def test_a_point_is_the_mean_over_its_questions() -> None:
    found = points(ROWS)
    assert len(found) == 3, "a row for the policy and for each draw"
    assert found["n"].tolist() == [4, 4, 4]
    assert found["recall_5"].tolist() == [1.0, 0.5, 0.5]


def test_the_band_spans_the_draws() -> None:
    rows = pd.DataFrame([row("random", draw, "q", draw / 10) for draw in range(11)])
    (found,) = band(rows, "mrr").to_dict("records")
    assert (found["low"], found["mean"], found["high"], found["draws"]) == (0.0, pytest.approx(0.5), 1.0, 11)
    assert found["p5"] == pytest.approx(0.05)


def test_chance_is_each_questions_mean_over_the_draws() -> None:
    found = against_chance(ROWS, resamples=200)
    line = found[found.figure == "survival"].iloc[0]
    assert (line["n"], line["mean"], line["chance"], line["difference"]) == (4, 1.0, 0.5, 0.5)
    assert line["low"] == line["high"] == 0.5, "every question's difference is one half"
    assert line["p_holm"] >= line["p"]


def test_a_question_without_a_figure_is_left_out_of_the_pair() -> None:
    rows = ROWS.copy()
    rows.loc[rows.question == "q0", "mrr"] = float("nan")
    found = against_chance(rows, resamples=200).set_index("figure")
    assert found.loc["mrr", "n"] == 3
    assert found.loc["survival", "n"] == 4


def test_without_chance_there_is_nothing_to_compare() -> None:
    assert against_chance(ROWS[ROWS.policy == "importance"]).empty


def test_groups_of_questions_have_their_own_means() -> None:
    group = pd.Series({"q0": "a", "q1": "a", "q2": "b"})
    found = by_group(ROWS[ROWS.policy == "importance"], group).set_index("group")
    assert found["n"].to_dict() == {"a": 2, "b": 1}


def test_ages_fall_into_bins_closed_on_the_left() -> None:
    ages = age_of(pd.Series([0.0, 29.9, 30, 364, 365, None]))
    assert ages[:5].tolist() == [
        "under 30 days",
        "under 30 days",
        "30 to 90",
        "180 to 365",
        "a year and more",
    ]
    assert pd.isna(ages[5])
