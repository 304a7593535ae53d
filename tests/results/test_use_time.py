"""The tables of the use-time study by hand, and what the paper prints beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from results import use_time
from results.use_time_figures import ablations_figure, joint_figure, rate_distortion_figure
from results.use_time_text import TEXTS, ablations_text, joint_text, use_time_text

SAMPLING = {"resamples": 200, "seed": 0}
NAN = float("nan")


def rows(
    arm: str, judged: list[float], *, tokens: int = 100, kept: int = 1000, history: str = "h"
) -> pd.DataFrame:
    """A question a verdict; every question is on a history of its own unless one is named."""
    count = range(len(judged))
    return pd.DataFrame(
        {
            "arm": arm,
            "question": [f"q{n}" for n in count],
            "history": [f"{history}{n}" if history == "h" else history for n in count],
            "judge": judged,
            "f1": judged,
            "context_evidence": judged,
            "context_tokens": tokens,
            "memory_bytes": kept,
            "archive_rescues": [n % 2 for n in count],
        }
    )


def point(arm: str, condition: str = "flat", tokens: int = 500, **more: object) -> dict[str, object]:
    fixed = {"part": "system", "variant": "", "retention": "", "kept": 1.0}
    return {"arm": arm, "condition": condition, "tokens": tokens, **fixed, **more}


def test_accuracy_is_over_completed_evaluations_and_missing_ones_are_counted() -> None:
    table = use_time.means(rows("a", [1, 0, 1, NAN]), pd.DataFrame([point("a")]), **SAMPLING)
    judged = table.set_index("figure").loc["judge"]
    assert (judged["n"], judged["missing"]) == (3, 1)
    assert judged["mean"] == pytest.approx(2 / 3)
    assert judged["with_missing"] == pytest.approx(2 / 4)
    assert judged["archive_rescues"] == 2


def test_evidence_that_a_benchmark_does_not_name_is_not_counted_as_not_found() -> None:
    some = rows("a", [1, 0, 1, 1]).assign(context_evidence=[1.0, NAN, 1.0, NAN])
    table = use_time.means(some, pd.DataFrame([point("a")]), **SAMPLING).set_index("figure")
    assert (table.loc["context_evidence", "mean"], table.loc["context_evidence", "missing"]) == (1.0, 2)
    assert np.isnan(table.loc["context_evidence", "with_missing"])
    assert table.loc["f1", "with_missing"] == 0.75


def test_the_rate_is_the_tokens_that_contexts_take_and_not_the_budget() -> None:
    both = pd.concat([rows("a", [1, 1], tokens=120, kept=7), rows("b", [1, 1], tokens=480, kept=9)])
    points = pd.DataFrame([point("a"), point("b")])
    table = use_time.means(both, points, **SAMPLING).drop_duplicates("arm").set_index("arm")
    assert (table["rate"].to_dict(), table["bytes"].to_dict()) == ({"a": 120, "b": 480}, {"a": 7, "b": 9})


def test_questions_on_one_history_are_resampled_and_those_on_several_by_history() -> None:
    one = rows("a", [1, 0, 1, 0], history="only")
    assert use_time.resampled(one) is None
    shared = one.assign(history=["x", "x", "y", "y"])
    assert use_time.resampled(shared) == ["x", "x", "y", "y"]
    table = use_time.means(one, pd.DataFrame([point("a")]), **SAMPLING).set_index("figure").loc["judge"]
    assert table["units"] == 4
    assert table["low"] < table["mean"] < table["high"]


def test_differences_are_paired_by_question_whatever_the_order_of_the_rows() -> None:
    left = rows("a", [1, 1, 0, 1])
    right = rows("b", [0, 1, 0, 0]).iloc[::-1]
    [judged] = (
        use_time.differences(pd.concat([left, right]), [("a", "b")], **SAMPLING)
        .query("figure == 'judge'")
        .to_dict("records")
    )
    assert judged["difference"] == pytest.approx(0.5)
    assert (judged["mean_a"], judged["mean_b"], judged["n"]) == (0.75, 0.25, 4)


@pytest.mark.parametrize(
    ("variant", "suite", "deficit"),
    [
        ("-FORGET", "AMB-Text", 23.26), ("-FORGET", "LME-KU", 33.33), ("-FORGET", "MAB-FC", 23.00),
        ("-QC", "AMB-Text", 13.95), ("-QC", "LME-KU", 11.54), ("-QC", "MAB-FC", 18.00),
        ("-CLOSURE", "AMB-Text", 4.65), ("-RESCUE", "LME-KU", 2.56), ("-SLOT", "MAB-FC", 10.00),
    ],
)  # fmt: skip
def test_printed_deficits_are_those_of_the_paper(variant: str, suite: str, deficit: float) -> None:
    assert use_time.PRINTED_FULL[suite] - use_time.PRINTED[variant][suite] == pytest.approx(deficit)


def turned(*changes: tuple[str, list[float]]) -> pd.DataFrame:
    """Variants against a Full that has three of four right."""
    parts = [rows("full", [1, 1, 1, 0]), *(rows(name, judged) for name, judged in changes)]
    return use_time.differences(pd.concat(parts), [(name, "full") for name, _ in changes], **SAMPLING)


def test_an_ablation_moves_as_printed_or_opposite_or_not_at_all() -> None:
    found = turned(
        ("worse", [0, 1, 1, 0]), ("better", [1, 1, 1, 1]), ("same", [1, 1, 1, 0]), ("own", [0, 0, 0, 0])
    )
    names = {"worse": "-FORGET", "better": "-QC", "same": "-SLOT", "own": "entry-0"}
    table = use_time.ablations(found, names, "MAB-FC")
    judged = table[table["figure"] == "judge"].set_index("variant")
    assert judged["direction"].tolist() == ["as printed", "opposite", "none", None]
    assert judged.loc["-FORGET", "printed_difference"] == pytest.approx(-23.0)
    assert judged.loc["entry-0", "printed":"printed_difference"].isna().all()  # type: ignore[misc]
    assert table[table["figure"] == "f1"]["printed"].isna().all()


def test_nothing_is_printed_beside_a_benchmark_that_the_paper_has_not() -> None:
    table = use_time.ablations(turned(("worse", [0, 1, 1, 0])), {"worse": "-FORGET"}, "")
    assert table["printed"].isna().all()
    assert table["direction"].isna().all()


def joint() -> pd.DataFrame:
    """Half of the bytes lose nothing at 500 tokens; a tenth loses a question; chance loses two."""
    arms = {
        "flat-b500": ([1, 1, 1, 0], 1000, {}),
        "half": ([1, 1, 1, 0], 500, {"part": "joint", "retention": "importance", "kept": 0.5}),
        "tenth": ([1, 1, 0, 0], 100, {"part": "joint", "retention": "importance", "kept": 0.1}),
        "chance": ([1, 0, 0, 0], 500, {"part": "joint", "retention": "random", "kept": 0.5}),
        "bm25-b500": ([1, 1, 1, 1], 1000, {"condition": "bm25"}),
    }
    made = pd.concat([rows(name, judged, kept=size) for name, (judged, size, _) in arms.items()])
    points = pd.DataFrame([point(name, **more) for name, (_, _, more) in arms.items()])
    return use_time.joint(use_time.means(made, points, **SAMPLING))


def test_the_joint_table_says_what_is_lost_and_which_points_nothing_dominates() -> None:
    table = joint()
    judged = table[table["figure"] == "judge"].set_index("arm")
    assert "bm25-b500" not in judged.index, "storage was not forgotten under it"
    assert judged["loss"].to_dict() == {"flat-b500": 0.0, "half": 0.0, "tenth": 0.25, "chance": 0.5}
    assert judged["undominated"].to_dict() == {
        "flat-b500": False,
        "half": True,
        "tenth": True,
        "chance": False,
    }


def test_a_point_of_which_nothing_was_evaluated_is_not_among_the_best() -> None:
    means = pd.concat([rows("flat-b500", [1, 0]), rows("half", [NAN, NAN], kept=1)])
    stored = {"part": "joint", "retention": "importance", "kept": 0.5}
    table = use_time.joint(
        use_time.means(means, pd.DataFrame([point("flat-b500"), point("half", **stored)]), **SAMPLING)
    )
    judged = table[table["figure"] == "judge"].set_index("arm")
    assert judged["undominated"].to_dict() == {"flat-b500": True, "half": False}
    assert joint_text(table).rows[1][-2:] == ("–", "")


def test_text_holds_every_mean_with_its_n_and_the_tokens_really_used() -> None:
    means = use_time.means(
        rows("flat-b500", [1, 0], tokens=321), pd.DataFrame([point("flat-b500")]), **SAMPLING
    )
    [line] = use_time_text(means).rows
    assert line[0] == "flat"
    assert line[1].startswith("0.500 [")
    assert line[1].endswith("(2; 321)")
    text = joint_text(joint())
    assert [row[-1] for row in text.rows] == ["", "yes", "yes", ""]
    shown = ablations_text(use_time.ablations(turned(("w", [0, 1, 1, 0])), {"w": "-FORGET"}, "LME-KU"))
    assert shown.rows[0][-3:] == ("60.26", "-33.33", "as printed")
    assert set(TEXTS) == {"use_time", "use_time_differences", "ablations", "joint"}


def test_a_system_that_shows_nothing_has_a_column_of_its_own() -> None:
    both = pd.concat([rows("none", [0, 0], tokens=0), rows("flat-b500", [1, 1])])
    points = pd.DataFrame([point("none", "none", tokens=None), point("flat-b500")])  # type: ignore[arg-type]
    means = use_time.means(both, points.astype({"tokens": "Int64"}), **SAMPLING)
    text = use_time_text(means)
    assert text.header == ("System", "no context", "500 tokens")
    assert [(row[0], row[1][:5], row[2][:5]) for row in text.rows] == [
        ("none", "0.000", "-"),
        ("flat", "-", "1.000"),
    ]


def test_a_cell_counts_what_is_missing_and_says_what_accuracy_is_with_it() -> None:
    means = use_time.means(rows("flat-b500", [1, 1, 0, NAN]), pd.DataFrame([point("flat-b500")]), **SAMPLING)
    [[_, cell]] = use_time_text(means).rows
    assert cell.startswith("0.667 [")
    assert cell.endswith("(3; 100; with 1 missing 0.500)")


def test_evidence_heads_the_table_where_nothing_could_be_judged() -> None:
    some = rows("a", [1, 0]).assign(judge=NAN)
    means = use_time.means(some, pd.DataFrame([point("a")]), **SAMPLING)
    assert use_time_text(means).caption.startswith("Evidence in context")


def test_the_axis_of_tokens_is_labelled_with_the_budgets(tmp_path: Path) -> None:
    both = pd.concat([rows("a", [1, 0], tokens=240), rows("b", [1, 1], tokens=900)])
    points = pd.DataFrame([point("a", tokens=250), point("b", tokens=1000)])
    _, svg = rate_distortion_figure(use_time.means(both, points, **SAMPLING), tmp_path / "rate")
    assert ">250<" in svg.read_text()
    assert ">1,000<" in svg.read_text()
    assert "mathdefault" not in svg.read_text()


@pytest.mark.filterwarnings("error")
def test_a_run_of_what_shows_nothing_or_of_what_was_never_judged_is_drawn_too(tmp_path: Path) -> None:
    nothing = use_time.means(rows("none", [0, 0], tokens=0), pd.DataFrame([point("none")]), **SAMPLING)
    unjudged = use_time.means(rows("a", [NAN, NAN]), pd.DataFrame([point("a")]), **SAMPLING)
    for name, means in (("nothing", nothing), ("unjudged", unjudged)):
        assert all(path.stat().st_size > 1000 for path in rate_distortion_figure(means, tmp_path / name))


def test_figures_are_drawn_twice_alike(tmp_path: Path) -> None:
    means = use_time.means(rows("a", [1, 0]), pd.DataFrame([point("a")]), **SAMPLING)
    found = use_time.ablations(turned(("w", [0, 1, 1, 0])), {"w": "-FORGET"}, "LME-KU")
    for name, draw, table in (
        ("rate", rate_distortion_figure, means),
        ("ablations", ablations_figure, found),
        ("joint", joint_figure, joint()),
    ):
        first, second = draw(table, tmp_path / f"{name}-1"), draw(table, tmp_path / f"{name}-2")
        assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
        assert first[0].read_bytes().startswith(b"\x89PNG")
        assert np.all([path.stat().st_size > 1000 for path in first])
