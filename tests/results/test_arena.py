"""MemoryArena by step: what counts to which range, pairs, marks, and the printed figures."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from results.arena import PRINTED, RANGES, arena_slopes, arena_steps, arena_text

QUICK = {"resamples": 100}


def rewards(condition: str, by_entry: dict[str, list[float]]) -> pd.DataFrame:
    rows = [
        {
            "question": f"{entry}:{step}",
            "history": entry,
            "condition": condition,
            "step": step,
            "judge": reward,
        }
        for entry, figures in by_entry.items()
        for step, reward in enumerate(figures)
    ]
    return pd.DataFrame(rows)


def steps_of(*parts: pd.DataFrame, benchmark: str = "memoryarena-shopping") -> pd.DataFrame:
    return arena_steps(pd.concat(parts, ignore_index=True), benchmark, **QUICK).to_pandas()


def own(steps: pd.DataFrame, counted: str, first: int, condition: str = "a") -> pd.Series:
    found = steps[(steps["source"] == "run") & steps["against"].isna() & (steps["condition"] == condition)]
    [row] = found[(found["counted"] == counted) & (found["first"] == first)].iloc
    return row


def test_early_and_late_rewards_by_hand_without_step_0_and_without_what_comes_after():
    steps = steps_of(rewards("a", {"x": [1, 0.2, 0.4, 1, 1, 0.4, 0], "y": [1, 0.6]}))
    early, late = own(steps, "range", 1), own(steps, "range", 3)
    assert (early["last"], early["n"], early["reward"]) == (2, 3, pytest.approx(0.4))
    assert (late["last"], late["n"], late["reward"]) == (5, 3, pytest.approx(0.8))
    assert (early["above_half"], late["above_half"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert own(steps, "step", 0)["reward"] == 1
    later = own(steps, "later", 1)
    assert (later["last"], later["n"], later["reward"]) == (6, 7, pytest.approx(3.6 / 7))


@pytest.mark.parametrize(
    ("task", "spans"),
    [("travel", ((1, 3), (4, 7))), ("shopping", ((1, 2), (3, 5))), ("search", ((1, 4), (5, 8)))],
)
def test_the_ranges_are_those_of_table_6_and_its_figures_stand_beside_them(task, spans):
    benchmark = f"memoryarena-{task}"
    steps = steps_of(rewards("a", {"x": [0.5] * 9}), benchmark=benchmark)
    ranges = steps[(steps["source"] == "run") & (steps["counted"] == "range")]
    assert tuple(zip(ranges["first"], ranges["last"], strict=True)) == spans == RANGES[benchmark]
    printed = steps[(steps["source"] == "printed") & steps["against"].isna()]
    assert sorted(set(printed["condition"])) == ["A-Mem", "Full-Context", "HippoRAG", "Mem0", "Nemori"]
    assert set(zip(printed["first"], printed["last"], strict=True)) == set(spans)
    assert printed["n"].isna().all()


def test_the_printed_full_context_leads_or_trails_as_the_paper_says():
    late = {task: figures["Full-Context"][1] for task, figures in PRINTED.items()}
    assert late == {"memoryarena-travel": 71.5, "memoryarena-shopping": 69.8, "memoryarena-search": 81.3}


def test_a_verdict_that_is_missing_is_left_out_and_counted():
    row = own(steps_of(rewards("a", {"x": [1, 0.5, math.nan]})), "range", 1)
    assert (row["n"], row["missing"], row["reward"]) == (1, 1, 0.5)


def test_figures_over_fewer_than_five_entries_are_marked():
    four = {str(entry): [0.0, 1.0] for entry in range(4)}
    assert own(steps_of(rewards("a", four)), "step", 1)["few"]
    assert not own(steps_of(rewards("a", {**four, "fifth": [0.0, 1.0]})), "step", 1)["few"]


def test_the_gain_over_the_full_context_is_paired_by_question():
    """The full context lacks the reward of a question on which the other does well."""
    steps = steps_of(
        rewards("a", {"x": [0, 0.5, 1.0], "y": [0, 0.5, 0.7]}),
        rewards("full_context", {"x": [0, 0.2, math.nan], "y": [0, 0.4, 0.5]}),
    )
    [gain] = steps[
        (steps["against"] == "full_context") & (steps["counted"] == "range") & (steps["first"] == 1)
    ].iloc
    assert (gain["condition"], gain["n"], gain["missing"], gain["entries"]) == ("a", 3, 1, 2)
    assert gain["difference"] == pytest.approx((0.3 + 0.1 + 0.2) / 3)
    assert gain["low"] == pytest.approx(0.15)
    assert gain["high"] == pytest.approx(0.3)


def test_the_slope_of_the_gain_leaves_out_step_0_and_the_steps_after_table_6():
    a = {"x": [9, 0.1, 0.2, 0.3, 0.4, 0.5, 9], "y": [9, 0.1, 0.2, 0.3]}
    both = [rewards("a", a), rewards("full_context", {entry: [0.0] * len(row) for entry, row in a.items()})]
    [row] = arena_slopes(pd.concat(both), "memoryarena-shopping", **QUICK).to_pylist()
    assert (row["condition"], row["against"], row["first"], row["last"]) == ("a", "full_context", 1, 5)
    assert (row["n"], row["entries"]) == (8, 2)
    assert row["slope"] == pytest.approx(0.1)
    assert row["within"] == pytest.approx(0.1)


def test_without_a_full_context_there_is_no_gain_and_no_slope():
    alone = rewards("a", {"x": [1, 0.5]})
    assert steps_of(alone)["against"].dropna().unique().tolist() == ["Full-Context"], "the abstract's"
    assert arena_slopes(alone, "memoryarena-shopping", **QUICK).num_rows == 0


def test_people_read_percent_with_counts_marks_and_the_printed_rows():
    both = [rewards("a", {"x": [1, 0.5, 0.7]}), rewards("full_context", {"x": [1, 0.4, 0.4]})]
    steps = steps_of(*both)
    text = arena_text(steps, arena_slopes(pd.concat(both), "memoryarena-shopping", **QUICK).to_pandas())
    rows = {row[0]: row[1:] for row in text.rows}
    assert rows["a"][:4] == ("100.0* (1)", "60.0* (2)", "60.0* (2)", "–")
    assert rows["a"][4].startswith("+20.0*")
    assert rows["a"][6].startswith("+20.0*")
    assert rows["Full-Context (printed)"] == ("–", "–", "68.1", "69.8", "–", "–", "–", "–")
    assert "+3.4 points" in text.caption
