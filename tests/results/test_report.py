from __future__ import annotations

import base64
import hashlib
import html
import json
import random
import re
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from memory.errors import BadInput
from results.errors import TornTable
from results.report.browser_data import BrowserData, Column, browser_data
from results.report.elements import Estimated, chart
from results.report.packing import CUTS, pack
from results.report.run_report import Money, write_report
from results.report.sources import RunFolder
from results.tables import write
from tests.results.written_run import QUESTIONS_ASKED, TURNS_SAID, Asked, write_run

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!-- ",
    "{{7*7}}{% raw %}",
    "javascript:alert(1)",
    '"><svg onload=alert(1)>',
    "&lt;b&gt;",
)


class Tags(HTMLParser):
    """What a page is made of, as a browser would find it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def made_of(folder: Path, text: str) -> Path:
    """A run in which that text stands wherever data or models may put one."""
    asked = Asked(text, text, text, text, [text], {text: (text, 1.0, 1.0, [text])})
    told = {
        **dict.fromkeys(("status", "reason", "variant", "name"), text),
        "notes": [text],
        "arms": [{"name": text, "settings": {text: text}}],
        "study": {"study": text, "models": {"judge": text}, "seed": 0, "resamples": 200},
    }
    return write_run(folder, {text: text}, [asked], why=text, context=text, **told)


def words(path: Path) -> str:
    """The text of a page, with one blank between words."""
    return " ".join(" ".join(tags(path).text).split())


def tags(path: Path) -> Tags:
    found = Tags()
    found.feed(path.read_text("utf-8"))
    return found


def blocks(path: Path) -> dict[str, Any]:
    found = re.findall(
        r'<script type="text/plain" id="block-([a-z]+-?\d*)">([A-Za-z0-9+/=]+)</script>', path.read_text()
    )
    return {name: json.loads(zlib.decompress(base64.b64decode(block))) for name, block in found}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", TURNS_SAID, QUESTIONS_ASKED)


def test_a_report_is_one_file_in_the_run_folder_that_says_what_was_run_and_over_how_many(run: Path) -> None:
    path = write_report(run, Money(budget=["budget: 3 of 10 calls spent, 7 left"]))
    page = path.read_text("utf-8")
    assert path == run / "report.html"
    assert "ab" * 32 in page
    assert "budget: 3 of 10 calls spent, 7 left" in page
    assert "2 conditions over 3 questions of 3 histories" in page


def test_means_stand_with_how_many_questions_have_the_figure(run: Path) -> None:
    text = words(write_report(run, Money()))
    # flat: (1 + 0 + .75) / 3; graph is judged on two of three questions, of which one is right
    assert "flat 3 0.583 0.667 0.500" in text
    assert "0.500 (2)" in text
    assert "graph: of 3 questions, 1 without a verdict." in text


def test_the_browser_has_every_question_and_each_turns_text_once(run: Path) -> None:
    found = blocks(write_report(run, Money()))
    index, details, turns = found["index"], found["details-0"], found["turns-0"]
    assert index["columns"] == ["flat", "graph"]
    assert [question["id"] for question in index["questions"]] == ["q1", "q2", "q3"]
    assert index["questions"][0]["rows"][1] == {
        "answer": "on the roof", "verdict": "judged", "why": "because", "tokens": 3, "f1": 0.25, "judge": 0.0,
        "recall": 0.0, "mrr": 0.0,
    }  # fmt: skip
    assert sorted(turn["id"] for turn in turns) == ["t1", "t2", "t3", "t4", "t5", "t6"]
    second = details[1]["rows"][1]
    assert [turns[number]["id"] for number in second["turns"]] == ["t4", "t2"]
    assert second["ranks"] == [2]
    assert found["contexts-0"][0] == [["the context", 11], ["the context", 11]]


def test_the_policy_of_the_page_allows_nothing_from_elsewhere_and_only_its_own_script(run: Path) -> None:
    page = write_report(run, Money()).read_text("utf-8")
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_data_or_models_becomes_markup(tmp_path: Path, text: str) -> None:
    hostile, harmless = made_of(tmp_path / "hostile", text), made_of(tmp_path / "harmless", "t")
    found, plain = (tags(write_report(folder, Money())) for folder in (hostile, harmless))
    assert found.names == plain.names
    assert [name for name, _ in found.attributes] == [name for name, _ in plain.attributes]
    assert text in "".join(found.text)


def test_what_steers_a_view_is_shown_by_name(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", TURNS_SAID, QUESTIONS_ASKED, variant="a\x1b[2Jb\u202ec")
    assert "a‹U+001B›[2Jb‹U+202E›c" in write_report(folder, Money()).read_text("utf-8")


def test_a_run_without_figures_yet_still_has_a_report_that_says_so(run: Path) -> None:
    (run / "metrics.parquet").unlink()
    page = write_report(run, Money()).read_text("utf-8")
    assert "The run has not come to its figures yet." in page
    assert 'id="questions"' not in page


def test_an_unfinished_run_says_first_that_it_is_not_complete(tmp_path: Path) -> None:
    told = {"status": "budget_exhausted", "reason": "4 rows wait"}
    page = write_report(write_run(tmp_path / "run", TURNS_SAID, QUESTIONS_ASKED, **told), Money()).read_text()
    assert "The run is budget_exhausted. 4 rows wait" in page


def test_failed_rows_are_counted_by_reason(run: Path) -> None:
    rows = [
        {"question": q, "condition": "flat", "status": "failed", "reason": "timeout", "final": False}
        for q in "ab"
    ]
    write(run / "answers.parquet", pa.Table.from_pylist(rows))
    text = words(write_report(run, Money()))
    assert "Answer flat failed 2 yes timeout" in text


def test_other_verdicts_in_a_folder_of_their_own_have_a_report_of_their_own(run: Path) -> None:
    other = run / "rejudged" / "per-type"
    other.mkdir(parents=True)
    metrics = RunFolder(run).table("metrics")
    assert metrics is not None
    at = metrics.column_names.index("judge")
    write(other / "metrics.parquet", metrics.set_column(at, "judge", pa.array([1.0] * metrics.num_rows)))
    page = write_report(other, Money())
    assert page == other / "report.html"
    rows = [row for question in blocks(page)["index"]["questions"] for row in question["rows"]]
    assert {row["judge"] for row in rows} == {1.0}
    assert rows[0]["answer"] == "in the shed"


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no run folder: it has no run\.json"):
        write_report(tmp_path, Money())


def test_a_run_json_of_another_shape_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(["not", "a", "run"]))
    with pytest.raises(BadInput, match=r"run\.json is not what a run writes"):
        RunFolder(tmp_path)


def test_a_torn_table_is_named_with_what_to_do(run: Path) -> None:
    (run / "recalls.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(
        TornTable, match=r"recalls\.parquet is damaged .* delete it and start the study again"
    ):
        write_report(run, Money())
    assert not (run / "report.html").exists()


def test_texts_are_cut_until_the_data_fit_and_say_how_long_they_were(run: Path) -> None:
    folder = RunFolder(run)
    data = browser_data([Column("flat", folder, "flat")])
    noise = "".join(random.Random(0).choices("abcdefghijklmnop", k=20_000))
    long = BrowserData(
        data.index, data.details, [[(noise, len(noise))] for _ in data.contexts], [{"id": "t", "text": noise}]
    )
    whole, cut = pack(long), pack(long, most=3_000)
    assert (whole.turn, whole.context) == CUTS[0]
    assert cut.characters < whole.characters
    assert cut.context < CUTS[0][1]
    (turn,) = json.loads(zlib.decompress(base64.b64decode(cut.blocks["turns-0"])))
    assert turn["characters"] == 20_000
    assert turn["text"] == noise[: cut.turn]


def test_a_chart_stands_on_a_round_scale_that_holds_zero_and_all_ends() -> None:
    drawn = chart(
        "t", "l", [Estimated("a", 0.1, -0.05, 0.25, 9), Estimated("b", 0.2, 0.1, 0.3, 9)], difference=True
    )
    assert [text for _, text in drawn.ticks] == ["-0.2", "0", "0.2", "0.4"]
    assert drawn.zero == "33.33%"
    assert drawn.marks[0].hollow
    assert not drawn.marks[1].hollow
    assert drawn.marks[1].middle == "66.67%"


def test_a_figure_without_an_interval_is_drawn_without_one() -> None:
    nan = float("nan")
    drawn = chart("t", "l", [Estimated("a", 0.5, nan, nan, 1), Estimated("b", nan, nan, nan, 0)])
    assert drawn.marks[0].text == "0.500"
    assert drawn.marks[0].low is None
    assert drawn.marks[1].text == "–"


def test_without_jinja2_the_extra_is_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(BadInput, match=r"pip install 'palimpsest\[report\]'"):
        write_report(run, Money())
