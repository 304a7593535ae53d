"""Tables for people: no cell is a formula, numbers stay numbers, nothing is lost without a note."""

from __future__ import annotations

import csv
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import results
from memory.errors import BadInput
from results import export
from results.columns import documented
from results.export import cells, chosen, shortened, to_csv, to_latex, to_xlsx
from results.loading import LoadedRun
from results.schemas import ANSWERS
from results.tables import from_rows, write

STARTERS = "=+-@\t\r\n＝＋－＠"
HOSTILE = {
    "=1+1": "'=1+1",
    "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0",
    "-5": "'-5",
    "@SUM(A1)": "'@SUM(A1)",
    "\t=1": "'\t=1",
    "\r=1": "'\r=1",
    "\n=1": "'\n=1",
    "  =1": "'  =1",
    "\ufeff=1": "'\ufeff=1",
    "\x00=1": "'\x00=1",
    "\u00a0@x": "'\u00a0@x",
    "＝1": "'＝1",
    "a=1": "a=1",
    "5 - 3": "5 - 3",
    "": "",
    'say "yes", twice\nover': 'say "yes", twice\nover',
}


def one_table(folder: Path, *answers: str | None, **more: Any) -> LoadedRun:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"name": "r", "status": "complete"}))
    rows = [{"question": f"q{i}", "answer": answer, **more} for i, answer in enumerate(answers)]
    write(folder / "answers.parquet", from_rows(rows, ANSWERS))
    return results.load(folder)


def in_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_text_that_starts_a_formula_gets_an_apostrophe_in_csv(tmp_path: Path) -> None:
    run = one_table(tmp_path / "run", *HOSTILE)
    to_csv(run, tmp_path / "csv", ["answers"])
    assert [row["answer"] for row in in_csv(tmp_path / "csv" / "answers.csv")] == list(HOSTILE.values())


def test_no_cell_of_a_workbook_is_a_formula(tmp_path: Path) -> None:
    run = one_table(tmp_path / "run", *HOSTILE)
    book = openpyxl.load_workbook(to_xlsx(run, tmp_path / "r.xlsx", ["answers"]))
    column = list(book["answers"].iter_rows(min_row=2, min_col=6, max_col=6))
    assert book["answers"]["F1"].value == "answer"
    assert {cell.data_type for (cell,) in column} <= {"s", "n"}, "n is what an empty cell has"
    found = [cell.value or "" for (cell,) in column]
    expected = [text.replace("\x00", "").replace("\r", "\n") for text in HOSTILE.values()]
    assert [text.replace("_x000D_", "\n") for text in found] == expected


@given(st.text(), st.sampled_from(STARTERS), st.text(alphabet=" \t\x00\ufeff\u200b", max_size=3))
def test_whatever_the_text_a_cell_never_begins_with_a_sign_of_a_formula(
    rest: str, sign: str, before: str
) -> None:
    text = (before + sign + rest).encode("utf-8", "ignore").decode()
    (found,) = cells(pa.table({"x": [text]}))["x"].to_pylist()
    assert found == f"'{text}"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_other_text_is_as_it_was(text: str) -> None:
    (found,) = cells(pa.table({"x": [f"a{text}"]}))["x"].to_pylist()
    assert found == f"a{text}"


def test_numbers_stay_numbers_negative_ones_too(tmp_path: Path, representation_run: Path) -> None:
    run = results.load(representation_run)
    to_csv(run, tmp_path, ["table_7", "metrics"])
    read = pd.read_csv(tmp_path / "table_7.csv")
    assert read["difference"].lt(0).any()
    expected = run.table_7[["difference", "low", "n"]].astype("float64")
    pd.testing.assert_frame_equal(read[["difference", "low", "n"]].astype("float64"), expected)
    assert read["significant"].dtype == bool
    book = openpyxl.load_workbook(to_xlsx(run, tmp_path / "r.xlsx", ["table_7"]))
    names = [cell.value for cell in book["table_7"][1]]
    differences = [
        row[names.index("difference")] for row in book["table_7"].iter_rows(min_row=2, values_only=True)
    ]
    assert differences == pytest.approx(run.table_7["difference"].tolist(), rel=1e-15), "16 digits"


def test_what_is_missing_is_an_empty_cell_and_a_list_is_json(
    tmp_path: Path, representation_run: Path
) -> None:
    run = results.load(representation_run)
    to_csv(run, tmp_path, ["recalls", "extractions", "questions", "metrics"])
    for row, turns in zip(in_csv(tmp_path / "recalls.csv"), run.recalls["turns"], strict=True):
        assert json.loads(row["turns"]) == list(turns)
    nodes = [json.loads(row["nodes"]) for row in in_csv(tmp_path / "extractions.csv")]
    assert {key for some in nodes for node in some for key in node} == {
        "key",
        "label",
        "title",
        "content",
        "attributes",
    }
    date = in_csv(tmp_path / "questions.csv")[0]["date"]
    assert datetime.fromisoformat(date) == run.questions["date"].iloc[0]
    gaps = [row["turn_mrr"] == "" for row in in_csv(tmp_path / "metrics.csv")]
    assert gaps == run.metrics["turn_mrr"].isna().tolist()


def test_duckdb_and_pandas_read_the_csv_back(
    tmp_path: Path, representation_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = results.load(representation_run)
    to_csv(run, tmp_path, ["metrics"])
    monkeypatch.chdir(tmp_path)
    means = duckdb.sql("SELECT condition, avg(f1) FROM 'metrics.csv' GROUP BY ALL").fetchall()
    expected = run.metrics.groupby("condition", observed=True)["f1"].mean()
    assert dict(means) == pytest.approx(expected.to_dict())


def test_what_the_columns_mean_goes_with_the_tables(tmp_path: Path) -> None:
    run = one_table(tmp_path / "run", "yes")
    to_csv(run, tmp_path / "csv", ["answers"])
    meanings = in_csv(tmp_path / "csv" / "columns.csv")
    assert [(row["table"], row["column"]) for row in meanings] == [
        ("answers", column.name) for column in documented()["answers"].columns
    ]
    book = openpyxl.load_workbook(to_xlsx(run, tmp_path / "r.xlsx", ["answers"]))
    assert book.sheetnames == ["columns", "answers"]
    assert book["columns"].max_row == len(meanings) + 1


def test_a_text_too_long_for_a_cell_is_cut_with_a_note(tmp_path: Path) -> None:
    long, astral = "x" * 40_000, "🙂" * 17_000
    run = one_table(tmp_path / "run", long, astral, "y" * 32_767)
    book = openpyxl.load_workbook(to_xlsx(run, tmp_path / "r.xlsx", ["answers"]))
    cut, cut_astral, whole = [row[5] for row in book["answers"].iter_rows(min_row=2, values_only=True)]
    for text, characters in ((cut, "40,000"), (cut_astral, "17,000")):
        assert text.endswith(f"[cut here: {characters} characters, all of them in the Parquet file]")
        assert len(text.encode("utf-16-le")) // 2 <= 32_767
    assert whole == "y" * 32_767
    to_csv(run, tmp_path / "csv", ["answers"])
    csv.field_size_limit(100_000)
    assert in_csv(tmp_path / "csv" / "answers.csv")[0]["answer"] == long


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=50))
def test_what_xml_forbids_is_left_out_and_nothing_else(text: str) -> None:
    found = shortened(text)
    allowed = [c for c in text if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff")]
    assert found == "".join(allowed)


def test_a_number_beyond_what_a_double_holds_is_a_text_in_a_workbook(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    one_table(folder, "yes")
    write(folder / "growth.parquet", pa.table({"nodes": [2**53 + 1, 5], "edges": [-(2**60), None]}))
    book = openpyxl.load_workbook(to_xlsx(results.load(folder), tmp_path / "r.xlsx", ["growth"]))
    rows = list(book["growth"].iter_rows(min_row=2, min_col=3, max_col=4, values_only=True))
    assert rows == [(str(2**53 + 1), str(-(2**60))), (5, None)]


def test_a_table_that_no_sheet_holds_is_refused_before_a_file_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "ROWS_OF_A_SHEET", 2)
    run = one_table(tmp_path / "run", "a", "b", "c")
    with pytest.raises(BadInput, match="answers has more than the 2 rows of a sheet: export it with --csv"):
        to_xlsx(run, tmp_path / "r.xlsx", ["answers"])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_without_its_library_a_workbook_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(BadInput, match=r"pip install 'palimpsest\[xlsx\]'"):
        to_xlsx(one_table(tmp_path / "run", "a"), tmp_path / "r.xlsx", ["answers"])


def test_tables_for_programs_are_exported_only_if_named(representation_run: Path) -> None:
    run = results.load(representation_run)
    assert "vectors" not in chosen(run)
    assert {"metrics", "table_1", "calls"} <= set(chosen(run))
    assert chosen(run, ["vectors"]) == ["vectors"]
    for name in ("frontier", "../metrics"):
        with pytest.raises(BadInput, match=r"has no table .*; it has turns, questions"):
            chosen(run, [name])


def test_latex_has_the_papers_tables_as_the_run_wrote_them(tmp_path: Path, forgetting_run: Path) -> None:
    run = results.load(forgetting_run)
    files = to_latex(run, tmp_path, ["table_1", "table_2"])
    assert [path.name for path in files] == ["table_1.tex", "table_2.tex", "tables.tex"]
    assert files[0].read_bytes() == (forgetting_run / "table_1.tex").read_bytes()
    table_2 = files[1].read_text()
    first = run.table_2.iloc[0]
    assert f"{first['arm']} & {first['questions']:,} & " in table_2
    assert f" & {first['nodes']:,.0f} & " in table_2
    assert f" & {first['f1']:.3f} & " in table_2
    assert "\\input{table_2}" in files[2].read_text()


def test_a_date_is_iso_8601_in_utc() -> None:
    moments = pa.array([datetime(2023, 5, 20, 2, 21, tzinfo=UTC), None], pa.timestamp("us", tz="UTC"))
    written = cells(pa.table({"date": moments}))["date"].to_pylist()
    assert datetime.fromisoformat(written[0]) == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert written[1] is None
