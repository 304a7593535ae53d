"""Use-time runs beside one another."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from memory.errors import BadInput
from results.suites import MEAN, PRINTED_MEANS, SuiteRun, suites, suites_figure, suites_text


def run(benchmark: str, mean: float, family: str = "m", *, missing: int = 0, tokens: int = 2000) -> SuiteRun:
    row = {
        "condition": "rd_forget", "tokens": tokens, "part": "system", "variant": "", "figure": "judge", "n": 10,
        "missing": missing, "mean": mean, "sem": 0.03, "low": mean - 0.06, "high": mean + 0.06, "with_missing": mean,
    }  # fmt: skip
    half = {"mean": mean / 2, "low": mean / 2 - 0.06, "high": mean / 2 + 0.06}
    ablation = {**row, **half, "part": "ablation", "variant": "-FORGET"}
    return SuiteRun(benchmark, family, pd.DataFrame([row, ablation, {**row, "figure": "f1"}]))


def test_the_three_suite_mean_weighs_suites_equally() -> None:
    table = suites([run("amb-text", 0.9), run("lme-ku", 0.6), run("mab-fc", 0.3, missing=2)], 2000)
    own = table[(table["source"] == "measured") & (table["suite"] == MEAN)].set_index("condition")
    assert own.loc["rd_forget", "mean"] == pytest.approx(0.6)
    assert own.loc["-FORGET", "mean"] == pytest.approx(0.3)
    assert own.loc["rd_forget", "missing"] == 2
    half = (own.loc["rd_forget", "high"] - own.loc["rd_forget", "low"]) / 2
    assert half == pytest.approx(1.959964 * (3 * 0.03**2) ** 0.5 / 3)


def test_there_is_no_mean_of_two_suites() -> None:
    table = suites([run("amb-text", 0.9), run("lme-ku", 0.6)], 2000)
    assert MEAN not in set(table[table["source"] == "measured"]["suite"])


def test_a_suite_without_an_evaluation_leaves_the_mean_of_three_unknown() -> None:
    unknown = run("mab-fc", float("nan"), missing=10)
    table = suites([run("amb-text", 0.9), run("lme-ku", 0.6), unknown], 2000)
    own = table[(table["source"] == "measured") & (table["suite"] == MEAN)]
    assert own[["mean", "low", "high", "with_missing"]].isna().all(axis=None)
    [line] = [row for row in suites_text(table, 2000).rows if row[:3] == ("measured", "m", "rd_forget")]
    assert line[-2:] == ("-", "-")


def test_an_interval_needs_the_spread_of_every_suite() -> None:
    one = run("mab-fc", 0.3)
    one.means["sem"] = float("nan")
    table = suites([run("amb-text", 0.9), run("lme-ku", 0.6), one], 2000)
    own = table[(table["source"] == "measured") & (table["suite"] == MEAN)].set_index("condition")
    assert own.loc["rd_forget", "mean"] == pytest.approx(0.6)
    assert own[["low", "high"]].isna().all(axis=None)


def test_families_stand_beside_one_another_and_the_papers_rows_are_marked() -> None:
    table = suites([run("mab-fc", 0.9, "x"), run("mab-fc-mh-6k", 0.8, "y")], 2000)
    text = suites_text(table, 2000)
    assert {(row[0], row[1]) for row in text.rows} >= {
        ("measured", "x"),
        ("measured", "y"),
        ("printed", "Kimi-K2.5"),
    }
    printed = table[(table["source"] == "printed") & (table["suite"] == MEAN)].set_index(
        ["family", "condition"]
    )
    for family, mean in PRINTED_MEANS.items():
        assert printed.loc[(family, "rd_forget"), "mean"] == pytest.approx(mean / 100)
    assert printed.loc[("GPT-5.6-Luna, matched batch", "-FORGET"), "mean"] == pytest.approx(
        (0.6860 + 0.6026 + 0.5100) / 3
    )


@pytest.mark.parametrize(
    ("runs", "fault"),
    [
        ([run("longmemeval-oracle", 0.9)], "none of the paper's suites"),
        ([run("mab-fc", 0.9), run("mab-fc", 0.8)], "two runs are of m on MAB-FC"),
        ([run("mab-fc", 0.9, tokens=500)], "no run has a budget of 2,000 tokens"),
    ],
)
def test_what_cannot_be_put_together_is_one_clear_line(runs: list[SuiteRun], fault: str) -> None:
    with pytest.raises(BadInput, match=fault):
        suites(runs, 2000)


def test_the_figure_has_a_panel_a_suite(tmp_path: Path) -> None:
    table = suites([run("amb-text", 0.9), run("lme-ku", 0.6), run("mab-fc", 0.3)], 2000)
    _, svg = suites_figure(table, tmp_path / "suites")
    assert all(f">{suite}<" in svg.read_text() for suite in ("AMB-Text", "LME-KU", "MAB-FC", MEAN))
