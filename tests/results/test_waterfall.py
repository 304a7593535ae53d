"""The rules of the loss waterfall, its counts and its figure, by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from results.report.sources import RunFolder
from results.report.waterfall_tables import waterfall
from results.waterfall import STEPS, cause_of, regained, shown, tracked_forms, wanted_turns
from results.waterfall_types import waterfall_text, waterfall_types

NONE = None


def steps(*known: bool | None) -> dict[str, bool | None]:
    return dict(zip(STEPS, known, strict=True))


@pytest.mark.parametrize(
    ("known", "cause"),
    [
        ((True, True, True, True, True), "answered"),
        ((True, True, True, True, False), "misread"),
        ((True, True, True, False, False), "not recalled"),
        ((True, True, False, False, False), "merged away"),
        ((True, False, False, False, False), "not extracted"),
        ((True, NONE, False, False, False), "not stored"),
        ((True, NONE, True, False, False), "not recalled"),
        ((True, True, NONE, False, False), "not recalled"),
        ((True, NONE, NONE, True, False), "misread"),
        ((True, False, False, True, False), "misread"),
        ((True, False, False, False, True), "answered"),
    ],
)
def test_the_cause_is_the_step_after_the_last_that_has_what_is_tracked(
    known: tuple[bool | None, ...], cause: str
) -> None:
    assert cause_of(steps(*known)) == cause


def test_what_a_later_step_has_and_an_earlier_one_lacks_is_regained() -> None:
    assert regained(steps(True, False, NONE, True, False))
    assert not regained(steps(True, True, NONE, False, False))
    assert not regained(steps(True, NONE, True, True, NONE))


@pytest.mark.parametrize(
    ("reference", "turn", "tracked"),
    [
        ("Business Administration", "a degree in Business Administration", True),
        ("the $1,300", "I paid $1,300 for it", True),
        ("2 am", "I was up until 2 AM", True),
        ("2", "I have 2 cats", False),
        ("fifteen", "There were 15 of us", False),
        ("Yes.", "Yes, I said so", False),
        ("Paris", "It was in Rome", False),
        ("", "Anything", False),
    ],
)
def test_an_answer_is_tracked_if_a_turn_says_it_and_it_is_long_enough_not_to_be_found_by_chance(
    reference: str, turn: str, tracked: bool
) -> None:
    assert bool(tracked_forms(reference, [turn])) is tracked


def test_wanted_are_the_turns_that_say_a_short_answer_or_else_all() -> None:
    turns = ["The cat was 3.", "The cat is four now."]
    assert wanted_turns("4", turns) == [False, True]
    assert wanted_turns("7", turns) == [True, True]


def test_a_text_is_shown_if_it_has_lines_of_its_own() -> None:
    assert shown(["Yes.\nI do."], "No.\n\n---\n\nYes.\nI do.")
    assert not shown(["Yes."], "Yes. I do.")
    assert not shown([], "Yes.")


def traced(condition: str, kind: str, cause: str, *known: bool | None) -> dict[str, object]:
    return {"condition": condition, "type": kind, "tracked": "answer", "cause": cause, **steps(*known)}


COUNTED = waterfall_types(
    pd.DataFrame(
        [
            traced("flat", "b", "answered", True, NONE, True, True, True),
            traced("flat", "b", "not recalled", True, NONE, True, False, False),
            traced("flat", "a", "not recalled", True, NONE, True, False, False),
            traced("flat", "a", "unjudged", True, NONE, True, True, NONE),
        ]
    )
).to_pandas()


def counted(kind: str, name: str) -> tuple[int, int]:
    rows = COUNTED[(COUNTED["type"] == kind) & (COUNTED["tracked"] == "all") & (COUNTED["name"] == name)]
    return int(rows["n"].iloc[0]), int(rows["of"].iloc[0])


def test_causes_and_steps_are_counted_of_the_questions_with_a_verdict_and_the_others_of_all() -> None:
    assert [counted(kind, "not recalled") for kind in ("a", "b", "all")] == [(1, 1), (1, 2), (2, 3)]
    assert counted("all", "in_context") == (1, 3)
    assert counted("all", "in_extraction") == (0, 0)
    assert counted("all", "unjudged") == (1, 4)


def test_shares_have_wilsons_interval_and_a_step_that_nobody_has_has_no_share() -> None:
    rows = COUNTED[(COUNTED["type"] == "all") & (COUNTED["tracked"] == "all")].set_index("name")
    # 1 of 3: (1/3 + z^2/6 -+ z sqrt(2/27 + z^2/36)) / (1 + z^2/3) with z = 1.96
    assert rows["low"]["answered"] == pytest.approx(0.0615, abs=5e-5)
    assert rows["high"]["answered"] == pytest.approx(0.7923, abs=5e-5)
    assert rows.loc["in_extraction", ["share", "low", "high"]].isna().all()


def test_the_text_has_a_row_a_condition_and_type_and_names_what_is_outside() -> None:
    text = waterfall_text(COUNTED)
    assert text.header[:4] == ("Condition", "Type", "n", "Answered")
    assert text.rows[0] == ("flat", "a", "1", "0", "0", "0", "0", "1 (1.00)", "0", "1")
    assert [row[1] for row in text.rows] == ["a", "b", "all, answer tracked", "all, evidence tracked", "all"]
    assert "| flat | b | 2 | 1 (0.50) |" in text.markdown()


def test_the_report_has_a_section_with_every_condition_and_a_dash_where_a_system_has_no_step(
    representation_run: Path,
) -> None:
    section = waterfall(RunFolder(representation_run))
    assert section is not None
    causes, surviving, _ = section.tables
    assert [row[0] for row in causes.rows] == [
        "none",
        "bm25",
        "flat",
        "flat-improved",
        "graph",
        "graph-improved",
    ]
    extraction = {row[0]: row[surviving.header.index("Extraction")] for row in surviving.rows}
    assert extraction["flat"] == "–"
    assert extraction["graph"] != "–"


def test_the_figure_has_each_type_condition_and_cause_and_is_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra report")
    from results.waterfall_figure import waterfall_figure

    files = waterfall_figure(COUNTED, tmp_path / "one")
    again = waterfall_figure(COUNTED, tmp_path / "two")
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in again]
    drawn = files[1].read_text(encoding="utf-8")
    assert all(f">{text}<" in drawn for text in ("a", "b", "all", "flat", "not recalled", "misread"))
