from pathlib import Path

import pandas as pd
import pytest

from results.paper_tables import paper_tables, table_1, table_5, table_6, table_7
from results.question_rows import read_question_rows

PUBLISHED = Path(__file__).parents[2] / "../shared/data/published_results"

# The paper's Table 1: n, then P, F1, J of the graph and of the baseline.
TABLE_1 = {
    "single-session-user": (70, (0.743, 0.737, 0.771), (0.823, 0.819, 0.929)),
    "single-session-assistant": (56, (0.680, 0.575, 0.607), (0.916, 0.774, 0.911)),
    "single-session-preference": (30, (0.312, 0.083, 0.233), (0.274, 0.114, 0.367)),
    "knowledge-update": (78, (0.507, 0.456, 0.513), (0.553, 0.511, 0.590)),
    "multi-session": (133, (0.384, 0.326, 0.398), (0.381, 0.342, 0.436)),
    "temporal-reasoning": (133, (0.468, 0.328, 0.293), (0.416, 0.334, 0.278)),
    "Overall": (500, (0.505, 0.417, 0.454), (0.532, 0.468, 0.536)),
}
# The paper's Table 7: difference, low, high, starred; F1, precision, recall, judge.
TABLE_7 = {
    ("exp1_graph", "exp1_baseline"): (
        (-0.050, -0.085, -0.016, True),
        (-0.028, -0.067, +0.011, False),
        (-0.073, -0.107, -0.039, True),
        (-0.082, -0.128, -0.034, True),
    ),
    ("exp2_forget", "exp2_no_forget"): (
        (+0.001, -0.015, +0.016, False),
        (-0.004, -0.023, +0.014, False),
        (-0.001, -0.017, +0.016, False),
        (-0.016, -0.038, +0.006, False),
    ),
}


@pytest.fixture(scope="module")
def published():
    if not PUBLISHED.exists():
        pytest.skip(f"the published rows are not there: {PUBLISHED}")
    files = ("exp1_graph.jsonl", "exp1_baseline.jsonl", "exp2_forget.csv", "exp2_no_forget.csv")
    read = [read_question_rows(str(PUBLISHED / file)) for file in files]
    return pd.concat([rows.frame.assign(condition=rows.name) for rows in read], ignore_index=True)


def asked(question, condition, f1=0.5, judge=1.0, type="t", **others):
    return {
        "question": question,
        "history": question,
        "type": type,
        "condition": condition,
        "abstention": False,
        "precision": f1,
        "recall": f1,
        "f1": f1,
        "judge": judge,
        **others,
    }


def figures(table, **where):
    """The one row of a table's numbers that these columns pick."""
    data = table.data
    for column, value in where.items():
        data = data[data[column] == value]
    assert len(data) == 1
    return data.iloc[0].to_dict()


def test_table_1_of_the_paper_is_reproduced_to_its_last_digit(published):
    shown = {(row[0], row[1]): row[2:] for row in table_1(published).rows}
    for kind, (n, graph, baseline) in TABLE_1.items():
        for condition, means in (("exp1_graph", graph), ("exp1_baseline", baseline)):
            expected = (str(n), str(n), str(n), "0", *(f"{mean:.3f}" for mean in means))
            assert shown[kind, condition] == expected


def test_table_7_of_the_paper_is_reproduced(published):
    table = table_7(published, list(TABLE_7))
    for (a, b), cells in TABLE_7.items():
        for metric, (difference, low, high, starred) in zip(
            ("f1", "precision", "recall", "judge"), cells, strict=True
        ):
            found = figures(table, condition_a=a, condition_b=b, metric=metric)
            assert found["n"] == 500
            assert found["difference"] == pytest.approx(difference, abs=0.0006)
            assert found["low"] == pytest.approx(low, abs=0.0025)
            assert found["high"] == pytest.approx(high, abs=0.0025)
            assert found["significant"] == starred


def test_tables_5_and_6_agree_with_the_published_means(published):
    judge = figures(table_6(published), condition="exp1_graph", metric="judge")
    assert (judge["n"], judge["mean"]) == (500, pytest.approx(0.454))
    assert judge["wilson_low"] == pytest.approx(0.4109, abs=0.0001)
    assert judge["wilson_high"] == pytest.approx(0.4978, abs=0.0001)
    f1 = figures(table_5(published), condition="exp1_graph", metric="f1")
    assert f1["low"] < f1["mean"] - f1["sem"] < f1["mean"] + f1["sem"] < f1["high"]


def test_means_are_over_what_is_there_and_the_counts_say_so():
    metrics = pd.DataFrame(
        [
            asked("q1", "x", 1.0, 1.0),
            asked("q2", "x", 0.5, None),
            asked("q3", "x", None, None),
        ]
    )
    found = figures(table_1(metrics), group="overall", condition="x")
    assert (found["questions"], found["answered"], found["judged"], found["missing"]) == (3, 2, 1, 2)
    assert (found["f1"], found["judge"]) == (0.75, 1.0)


def test_the_task_average_weighs_types_alike():
    metrics = pd.DataFrame(
        [asked("q1", "x", 1.0, type="a")] * 1 + [asked(f"r{n}", "x", 0.0, type="b") for n in range(9)]
    )
    assert figures(table_1(metrics), group="task-averaged")["f1"] == 0.5
    assert figures(table_1(metrics), group="overall")["f1"] == pytest.approx(0.1)


def test_abstention_questions_have_a_row_of_their_own_beside_their_type():
    metrics = pd.DataFrame([asked("q1", "x", 1.0), asked("q1_abs", "x", 0.0, abstention=True)])
    table = table_1(metrics)
    assert figures(table, group="abstention")["questions"] == 1
    assert figures(table, group="type")["questions"] == 2


def test_a_type_may_be_called_as_a_row_of_ours():
    metrics = pd.DataFrame([asked("q1", "x", 1.0, type="overall"), asked("q2", "x", 0.0, type="abstention")])
    assert [row[0] for row in table_1(metrics).rows] == ["abstention", "overall", "Overall", "Task-averaged"]


def test_a_further_column_shows_its_own_n():
    metrics = pd.DataFrame(
        [asked("q1", "x", turn_mrr=0.5), asked("q2", "x", turn_mrr=None), asked("q3", "x", turn_mrr=1.0)]
    )
    table = table_1(metrics, ["turn_mrr"])
    assert table.header[-1] == "turn_mrr"
    assert table.rows[-1][-1] == "0.750 (2)"
    assert figures(table, group="overall")["turn_mrr_n"] == 2


def test_a_condition_without_any_answer_shows_dashes_and_zero_counts():
    metrics = pd.DataFrame([asked("q1", "x", None, None), asked("q2", "x", None, None)])
    tables = paper_tables(metrics, [("x", "x")])
    assert tables[0].rows[-1][2:] == ("2", "0", "0", "2", "–", "–", "–")
    assert all(table.arrow().num_rows for table in tables)


def test_questions_of_one_conversation_widen_the_interval():
    rows = [asked(f"q{n}", "x", float(n < 10), history="one" if n < 10 else f"h{n % 3}") for n in range(20)]
    together = figures(table_6(pd.DataFrame(rows)), metric="f1")
    apart = figures(table_6(pd.DataFrame([dict(row, history=row["question"]) for row in rows])), metric="f1")
    assert (together["units"], apart["units"]) == (4, 20)
    assert together["high"] - together["low"] > apart["high"] - apart["low"]


def test_holm_is_over_the_whole_table(published):
    table = table_7(published, list(TABLE_7))
    judge = figures(table, condition_a="exp1_graph", metric="judge")
    assert judge["p_holm"] == pytest.approx(judge["p"] * 7)


def test_a_question_twice_and_an_unknown_condition_are_refused():
    twice = pd.DataFrame([asked("q1", "x"), asked("q1", "x")])
    with pytest.raises(ValueError, match="condition x has two rows for question q1"):
        table_1(twice)
    with pytest.raises(ValueError, match="no condition y among x"):
        table_7(twice.head(1), [("x", "y")])


def test_numbers_are_parquet_ready_and_missing_ones_are_null():
    metrics = pd.DataFrame([asked("q1", "x", 1.0, None)])
    table = table_1(metrics).arrow()
    assert table.column("judge").null_count == table.num_rows
    assert table.schema.metadata is None


HOSTILE = "a|b_c&d%e$f#g{h}~i^j\\k<script>*l*\n\n\x1b[31m[m](http://x)`n`"


def test_hostile_names_do_not_break_markdown():
    text = table_1(pd.DataFrame([asked("q1", HOSTILE, type=HOSTILE)])).markdown()
    header, *rows = text.splitlines()[2:]
    unescaped = [line.replace("\\|", "").count("|") for line in (header, *rows)]
    assert len(set(unescaped)) == 1
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "\\[m\\](" in text
    assert "\\`n\\`" in text


def test_hostile_names_do_not_break_latex():
    text = table_1(pd.DataFrame([asked("q1", HOSTILE, type=HOSTILE)])).latex()
    row = next(line for line in text.splitlines() if line.startswith("a\\textbar"))
    assert row.endswith("\\\\")
    assert row.replace("\\&", "").count("&") == 8
    for escaped in (
        "b\\_c",
        "\\&d",
        "\\%e",
        "\\$f",
        "\\#g",
        "\\{h\\}",
        "\\textasciitilde{}",
        "\\textbackslash{}k",
    ):
        assert escaped in row
    assert "\\begin{table}" in text
    assert "\\toprule" in text


def test_a_first_cell_in_brackets_is_no_argument_of_the_line_before():
    text = table_1(pd.DataFrame([asked("q1", "x", type="[1ex]"), asked("q2", "x", type="*")])).latex()
    assert "{[}1ex]" in text
    assert "\n{*} &" in text


def test_every_mean_stands_beside_an_n():
    metrics = pd.DataFrame([asked(f"q{n}", name, n / 4) for n in range(4) for name in ("x", "y")])
    for table in paper_tables(metrics, [("x", "y")]):
        counted = {"questions", "answered", "judged", "missing"} <= set(table.header)
        assert counted or all("(4)" in cell for row in table.rows for cell in row[1:])
