import csv
import json
import math
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memory.errors import BadInput
from results.compare import compare
from results.question_rows import read_question_rows

PUBLISHED = Path(__file__).parents[2] / "../shared/data/published_results"

# Paired differences and intervals of the paper's Table 7, as the data's own description repeats them.
EXPERIMENT_1 = {
    "f1": (0.417, 0.468, -0.0504, -0.085, -0.016),
    "precision": (0.505, 0.532, -0.0276, -0.067, +0.011),
    "recall": (0.413, 0.486, -0.0731, -0.107, -0.039),
    "judge": (0.454, 0.536, -0.0820, -0.128, -0.034),
}
EXPERIMENT_2 = {
    "f1": (0.293, 0.292, +0.0010, -0.015, +0.016),
    "precision": (0.359, 0.363, -0.0045, -0.023, +0.014),
    "recall": (0.294, 0.295, -0.0007, -0.017, +0.016),
    "judge": (0.284, 0.300, -0.0160, -0.038, +0.006),
}


def row(question, f1=0.5, judge=1, **others):
    return {
        "question_id": question,
        "f1": f1,
        "precision": f1,
        "recall": f1,
        "judge_correct": judge,
        **others,
    }


ERROR = {"f1": 0.0, "judge": 0, "predicted": None, "error": "no reply"}


def jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def metrics(path, rows):
    columns = {"history": None, "type": "t", "abstention": False, "status": "answered", "reason": None}
    table = [{"question": r["question_id"], "judge": r.get("judge_correct"), **columns, **r} for r in rows]
    path.mkdir()
    pq.write_table(pa.Table.from_pylist(table), path / "metrics.parquet")
    return str(path)


# --- published results ---


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("exp1_graph.jsonl", "exp1_baseline.jsonl", EXPERIMENT_1),
        ("exp2_forget.csv", "exp2_no_forget.csv", EXPERIMENT_2),
    ],
)
def test_the_paper_s_comparisons_are_reproduced(a, b, expected):
    if not PUBLISHED.exists():
        pytest.skip(f"the published rows are not there: {PUBLISHED}")
    result = compare(str(PUBLISHED / a), str(PUBLISHED / b)).to_json()
    assert result["n"] == 500
    for metric, (mean_a, mean_b, difference, low, high) in expected.items():
        found = result["metrics"][metric]
        assert round(found["a"], 3) == mean_a
        assert round(found["b"], 3) == mean_b
        assert found["difference"] == pytest.approx(difference, abs=0.0001)
        assert found["low"] == pytest.approx(low, abs=0.0025)
        assert found["high"] == pytest.approx(high, abs=0.0025)
        assert (low > 0 or high < 0) == (found["p"] < 0.05)


def test_the_published_error_row_is_dropped_and_its_retry_kept_and_both_are_said():
    if not PUBLISHED.exists():
        pytest.skip(f"the published rows are not there: {PUBLISHED}")
    rows = read_question_rows(str(PUBLISHED / "exp1_graph.jsonl"))
    assert rows.notes == (
        "1 error row dropped (4dfccbf7)",
        "its successful retry kept (4dfccbf7)",
    )
    assert rows.frame.set_index("question").loc["4dfccbf7", "precision"] == 1.0
    assert rows.frame["abstention"].sum() == 30


# --- pairing ---


def test_json_has_the_promised_keys_and_worked_values(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row("q1", 1.0), row("q2", 0.5), row("q3", 0.0, 0)])
    b = jsonl(tmp_path / "b.jsonl", [row("q3", 0.0, 0), row("q2", 0.0, 0), row("q1", 1.0)])
    result = compare(a, b).to_json()
    assert result["n"] == 3
    assert list(result["metrics"]) == ["f1", "precision", "recall", "judge"]
    assert {"a", "b", "difference", "low", "high", "p"} <= set(result["metrics"]["f1"])
    assert result["metrics"]["f1"]["a"] == 0.5
    assert result["metrics"]["f1"]["difference"] == pytest.approx(0.5 / 3)
    assert result["mcnemar"] == {"n": 3, "missing": 0, "only_a": 1, "only_b": 0, "p": 1.0}
    json.dumps(result, allow_nan=False)


def test_a_minus_b_is_paired_by_id_not_by_place(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row("q1", 1.0), row("q2", 0.0)])
    b = jsonl(tmp_path / "b.jsonl", [row("q2", 0.0), row("q1", 1.0)])
    found = compare(a, b).metrics["f1"]
    assert (found.low, found.high, found.p) == (0.0, 0.0, 1.0)


def test_questions_on_one_side_alone_are_counted_and_the_first_few_named(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row(f"q{n}") for n in range(6)])
    b = jsonl(tmp_path / "b.jsonl", [row("q0"), row("z")])
    result = compare(a, b)
    assert result.n == 1
    assert "a: 5 questions not in b (q1, q2, q3 and 2 more)" in result.notes
    assert "b: 1 question not in a (z)" in result.notes


def test_a_question_that_only_failed_is_not_scored_zero_and_said_once(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row("q1"), row("q2", **ERROR), row("q2", **ERROR)])
    b = jsonl(tmp_path / "b.jsonl", [row("q1"), row("q2")])
    result = compare(a, b)
    assert result.n == 1
    assert result.notes == (
        "a: 2 error rows dropped (q2)",
        "a: 1 question without a good row (q2)",
    )


def test_two_good_rows_for_one_question_are_refused(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row("q1"), row("q1")])
    with pytest.raises(BadInput, match=r"a\.jsonl: two good rows for question q1"):
        compare(a, a)


def test_unequal_references_and_types_are_noticed(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row("q1", ground_truth=5, question_type="x")])
    b = jsonl(tmp_path / "b.jsonl", [row("q1", reference="6", type="y")])
    same = jsonl(tmp_path / "c.jsonl", [row("q1", ground_truth="5", question_type="x")])
    assert "the references of 1 pair differ (q1)" in compare(a, b).notes
    assert "the types of 1 pair differ (q1)" in compare(a, b).notes
    assert compare(a, same).notes == ()


def test_a_retry_is_kept_in_place_of_its_error_row_and_both_facts_are_said(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row("q1", **ERROR), row("q2", 0.0), row("q1", 1.0)])
    b = jsonl(tmp_path / "b.jsonl", [row("q1", 0.0), row("q2", 0.0)])
    result = compare(a, b)
    assert (result.n, result.metrics["f1"].a) == (2, 0.5)
    assert result.notes == ("a: 1 error row dropped (q1)", "a: its successful retry kept (q1)")


def test_two_sources_of_one_name_are_told_apart(tmp_path):
    runs = [metrics(tmp_path / name, [row("q1", condition="flat")]) for name in ("one", "two")]
    result = compare(*runs)
    assert [result.a, result.b] == runs


def test_nothing_in_common_is_said_and_is_json_without_nan(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row("q1")])
    b = jsonl(tmp_path / "b.jsonl", [row("q2")])
    result = compare(a, b)
    assert result.n == 0
    assert result.to_json()["metrics"]["f1"]["difference"] is None
    assert any("no question is in both" in note for note in result.notes)
    json.dumps(result.to_json(), allow_nan=False)
    assert "n = 0" in result.to_text()


def test_a_missing_verdict_is_left_out_and_counted(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row("q1", judge=None), row("q2"), row("q3", judge=float("nan"))])
    b = jsonl(tmp_path / "b.jsonl", [row("q1"), row("q2"), row("q3")])
    result = compare(a, b)
    assert (result.n, result.metrics["f1"].n, result.metrics["judge"].n) == (3, 3, 1)
    assert "judge: 2 pairs left out, a side has no figure" in result.notes


def test_a_graded_judge_has_no_mcnemar_test(tmp_path):
    a = jsonl(tmp_path / "a.jsonl", [row("q1", judge=0.5), row("q2")])
    assert compare(a, a).mcnemar is None


# --- sources ---


def test_a_run_with_several_conditions_needs_one_named(tmp_path):
    run = metrics(tmp_path / "run", [row("q1", 1.0, condition="flat"), row("q1", 0.0, condition="graph")])
    result = compare(f"{run}:flat", f"{run}:graph")
    assert (result.a, result.b, result.metrics["f1"].difference) == ("flat", "graph", 1.0)
    with pytest.raises(BadInput, match=r"conditions flat, graph; name one of them, as .*run:flat"):
        compare(run, run)
    with pytest.raises(BadInput, match="no condition 'none'; it holds: flat, graph"):
        compare(f"{run}:none", run)


def test_a_run_with_one_condition_needs_none_named_and_may_be_set_against_a_file(tmp_path):
    run = metrics(tmp_path / "run", [row("q1", 1.0, condition="flat")])
    file = jsonl(tmp_path / "b.jsonl", [row("q1", 0.25)])
    assert compare(run, file).metrics["f1"].difference == 0.75


def test_failed_rows_of_a_run_are_error_rows(tmp_path):
    run = metrics(
        tmp_path / "run",
        [row("q1", condition="x"), row("q2", None, None, condition="x", status="failed", reason="refused")],
    )
    rows = read_question_rows(run)
    assert rows.failed == ("q2",)
    assert list(rows.frame["question"]) == ["q1"]


def test_questions_of_one_conversation_are_resampled_together(tmp_path):
    rows = [row(f"q{n}", float(n < 5), condition="x", history=f"h{n // 5}") for n in range(10)]
    other = [row(f"q{n}", 0.5, condition="x", history=f"h{n // 5}") for n in range(10)]
    result = compare(metrics(tmp_path / "a", rows), metrics(tmp_path / "b", other))
    assert result.unit == "conversation"
    assert (result.metrics["f1"].low, result.metrics["f1"].high) == (-0.5, 0.5)
    assert "intervals resample only 2 conversations: they are coarse" in result.notes


def test_type_codes_and_flags_of_a_csv_are_read(tmp_path):
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["question_id", "question_type_code", "f1", "precision", "recall", "judge_correct", "error_flag"]
        )
        writer.writerow(["q1", "ku", "0.285714", "0.5", "0.2", "1", "0"])
        writer.writerow(["q2", "ku", "0", "0", "0", "0", "1"])
        writer.writerow(["q2_abs", "tr", "0", "0", "0", "", "0"])
    rows = read_question_rows(str(path))
    assert list(rows.frame["type"]) == ["knowledge-update", "temporal-reasoning"]
    assert list(rows.frame["abstention"]) == [False, True]
    assert rows.frame["f1"].tolist() == [0.285714, 0.0]
    assert math.isnan(rows.frame["judge"].iloc[1])
    assert rows.failed == ("q2",)


def test_a_boolean_judge_column_is_read(tmp_path):
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame({"question": ["q1", "q2"], "f1": 1.0, "precision": 1.0, "recall": 1.0})
    frame["judge"] = pd.array([True, None], dtype="boolean")
    frame.to_parquet(path)
    assert read_question_rows(str(path)).frame["judge"].fillna(-1).tolist() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", "holds no rows"),
        ("a.jsonl", '{"question_id": "q1"', r"line 1: not JSON"),
        ("a.jsonl", "[1]\n", r"line 1: row: .*each row needs an id"),
        ("a.jsonl", '{"f1": 1, "precision": 1, "recall": 1}', "line 1: question: Field required"),
        (
            "a.jsonl",
            '{"question_id": "q", "f1": 1.5, "precision": 1, "recall": 1}',
            "line 1: f1: .*less than",
        ),
        ("a.csv", "question_id,f1,precision,recall\nq,x,1,1\n", "line 2: f1: .*valid number"),
        ("a.csv", "a,b\n1,2\n", "line 2: question"),
        ("a.parquet", "torn", "not a whole Parquet file"),
        ("a.xlsx", "x", r"read from \.jsonl, \.csv, \.parquet"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(BadInput, match=message) as fault:
        read_question_rows(str(path))
    assert str(path) in str(fault.value)
    assert "\n" not in str(fault.value)


def test_texts_errors_and_references_may_be_of_any_json_type(tmp_path):
    first = row("q1", predicted=None, error={"code": 500}, ground_truth=[["a"], ["b"]])
    rows = read_question_rows(jsonl(tmp_path / "a.jsonl", [first, row(7, predicted=5, ground_truth=5.5)]))
    assert rows.failed == ("q1",)
    assert rows.frame[["question", "reference"]].to_numpy().tolist() == [["7", "5.5"]]


def test_a_csv_row_of_the_wrong_length_is_read_as_far_as_it_goes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("question_id,f1,precision,recall,judge\nq1,1,1,1,1,surplus\nq2,1,1\n")
    frame = read_question_rows(str(path)).frame
    assert frame["f1"].tolist() == [1.0, 1.0]
    assert frame["recall"].isna().tolist() == [False, True]


def test_bytes_that_are_no_text_are_named(tmp_path):
    for name in ("a.jsonl", "a.csv"):
        (tmp_path / name).write_bytes(b"question_id,f1\n\xff\xfe")
        with pytest.raises(BadInput, match="UTF-8"):
            read_question_rows(str(tmp_path / name))


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match="no such file or run folder"):
        compare(str(tmp_path / "none"), "x")
    with pytest.raises(BadInput, match=r"no metrics\.parquet in it"):
        compare(str(tmp_path), "x")


# --- text ---


def test_no_mean_is_shown_without_its_n(tmp_path):
    a = jsonl(
        tmp_path / "a.jsonl", [row("q1", judge=None, type="x"), row("q2", type="y"), row("q3", type="y")]
    )
    text = compare(a, a).to_text()
    assert "n = 3 paired questions" in text
    overall = [line.split("│")[1:3] for line in text.splitlines() if "│ f1 " in line or "│ judge " in line]
    assert [(name.strip(), n.strip()) for name, n in overall] == [("f1", "3"), ("judge", "2")]
    assert "(2)" in next(line for line in text.splitlines() if line.startswith("│ y "))


def test_terminal_controls_and_markup_in_names_are_not_obeyed(tmp_path):
    a = jsonl(
        tmp_path / "a.jsonl",
        [row("[bold]q[/bold]\x1b[2J", **ERROR), row("q2", type="\x1b]0;x\x07[red]t"), row("q3", type="u")],
    )
    text = compare(a, a).to_text()
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]q[/bold]" in text
    assert "[red]t" in text
