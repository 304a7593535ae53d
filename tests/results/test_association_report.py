"""What a report and a picture show of an association run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from flows.graph_view import show_graph
from memory.errors import BadInput
from results import association
from results.association_figure import evidence_figure
from results.graph_view.picture import picture_of
from results.report.association_tables import associations
from results.report.elements import Section
from results.report.run_report import Money, figures_of, write_report
from results.report.sources import RunFolder


@pytest.fixture(scope="module")
def section(association_run: Path) -> Section:
    found = associations(RunFolder(association_run))
    assert found is not None
    return found


def rows_of(section: Section, words: str) -> list[tuple[str, ...]]:
    [table] = [table for table in section.tables if words in table.caption]
    return list(table.rows)


def test_evidence_by_words_comes_first_with_intervals_and_a_chart_a_size(section: Section) -> None:
    first = section.tables[0]
    assert first.header == ("Condition", "100 words", "1,000 words", "facts written by")
    assert [row[0] for row in first.rows] == ["rag", "gaama", "gaama-improved", "gaama-semantic"]
    assert not first.folded
    assert [chart.title for chart in section.charts] == [
        "Evidence recall within 100 words",
        "Evidence recall within 1,000 words",
    ]
    assert "offline:noun-phrases" in section.lines[0]


def test_facts_that_another_model_wrote_are_said_to_be(association_run: Path, tmp_path: Path) -> None:
    evidence = pd.read_parquet(association_run / "evidence_by_words.parquet")
    evidence["facts_by"] = ["a scribe" if name == "gaama" else "" for name in evidence["condition"]]
    evidence.to_parquet(tmp_path / "evidence_by_words.parquet")
    (tmp_path / "run.json").write_bytes((association_run / "run.json").read_bytes())
    found = associations(RunFolder(tmp_path))
    assert found is not None
    assert found.lines[1].startswith("The facts of gaama were written by a scribe")
    assert {row[0]: row[-1] for row in found.tables[0].rows}["gaama"] == "a scribe"


def test_printed_rows_are_marked_and_stand_beside_those_that_were_measured(section: Section) -> None:
    sources = {row[0]: row[1] for row in rows_of(section, "Mean reward in percent by category")}
    assert {name for name, source in sources.items() if source == "printed"} == set(association.PRINTED_3)
    assert {name for name, source in sources.items() if source == "measured"} == {
        "rag", "gaama", "gaama-semantic", "gaama-improved",
    }  # fmt: skip
    repaired = rows_of(section, "What the repair changed")
    assert Counter(row[1] for row in repaired)["printed"] == len(association.PRINTED_4)
    assert rows_of(section, "Reward of gaama minus gaama-semantic")


def test_quirks_hubs_and_planted_faults_have_their_tables(section: Section) -> None:
    assert "published-but-filter minus gaama" in {
        row[0] for row in rows_of(section, "What a switch is worth")
    }
    assert {row[1] for row in rows_of(section, "its twin of entities")} == {"concepts", "entities"}
    assert {row[0] for row in rows_of(section, "Planted faults")} == {"published", "improved"}
    assert any(row[0] == "gaama-improved minus gaama" for row in rows_of(section, "A minus B"))


def test_a_run_of_another_study_has_no_such_section(representation_run: Path) -> None:
    assert associations(RunFolder(representation_run)) is None


def test_the_report_holds_the_section_and_the_figure(association_run: Path, tmp_path: Path) -> None:
    page = write_report(association_run, Money(), tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Evidence by words of context" in page
    assert [figure.name for figure in figures_of(RunFolder(association_run))] == ["evidence by words"]


def test_the_figure_names_every_condition_and_is_the_same_each_time(
    association_run: Path, tmp_path: Path
) -> None:
    evidence = pd.read_parquet(association_run / "evidence_by_words.parquet")
    png, svg = evidence_figure(evidence, tmp_path / "evidence")
    assert svg.read_bytes() == (association_run / "figures/evidence_by_words.svg").read_bytes()
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text(encoding="utf-8")
    assert all(f">{name}<" in text for name in set(evidence["condition"]))


# The picture of GAAMA's graph


def test_a_picture_of_gaama_has_its_items_by_kind_and_its_links_by_type(association_run: Path) -> None:
    items = pd.read_parquet(association_run / "graphs/gaama/items.parquet")
    history = str(items["history"].iloc[0])
    own = items[items["history"] == history]
    picture = picture_of(RunFolder(association_run), history, "gaama")
    assert Counter(node["label"] for node in picture.nodes) == Counter(own["kind"])
    assert {edge["relation"] for edge in picture.edges} >= {
        "NEXT",
        "DERIVED_FROM",
        "HAS_CONCEPT",
        "ABOUT_CONCEPT",
    }
    first = next(node for node in picture.nodes if node["label"] == "episode" and node["turns"] == [0])
    assert first["content"] == own[own["kind"] == "episode"]["text"].iloc[0]
    assert len(first["title"]) <= 80


def test_of_a_question_only_what_it_recalled_is_shown(association_run: Path) -> None:
    recalls = pd.read_parquet(association_run / "recalls.parquet")
    row = recalls[recalls["condition"] == "gaama"].iloc[0]
    run = RunFolder(association_run)
    history = (
        pd.read_parquet(association_run / "questions.parquet")
        .set_index("question")
        .loc[row["question"], "history"]
    )
    picture = picture_of(run, history, "gaama", (row["question"], "gaama"))
    assert len(picture.nodes) == row["items"]
    assert {node["label"] for node in picture.nodes} <= {"episode", "fact", "reflection"}


def test_the_command_draws_gaama_where_a_run_has_no_other_graph(
    association_run: Path, tmp_path: Path
) -> None:
    history = str(pd.read_parquet(association_run / "graphs/gaama/items.parquet")["history"].iloc[0])
    page = show_graph(association_run, history, None, None, tmp_path / "graph.html")
    assert "gaama" in page.read_text(encoding="utf-8")
    with pytest.raises(BadInput, match="these have one: gaama, gaama-graft"):
        show_graph(association_run, history, None, "rag", tmp_path / "graph.html")
