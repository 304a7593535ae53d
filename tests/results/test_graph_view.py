"""What a picture of a memory graph shows, where its nodes stand, and the page around it."""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.metadata
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.graph_view import show_graph
from memory.errors import BadInput
from results.graph_view import picture as pictures
from results.graph_view.layout import SPACING, spring_layout
from results.graph_view.page import write_picture
from results.graph_view.picture import Picture, picture_of
from results.report.sources import RunFolder
from tests.results.drawn_run import node, write_drawn_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_drawn_run(tmp_path / "run")


def titles(picture: Picture) -> list[str]:
    return [node["title"] for node in picture.nodes]


def data_of(page: str) -> dict[str, object]:
    """What the page's script will read."""
    found = re.search(r'id="block-graph">([^<]*)<', page)
    assert found is not None
    read: dict[str, object] = json.loads(zlib.decompress(base64.b64decode(found[1])))
    return read


def test_a_picture_has_the_nodes_of_the_history_the_largest_first_and_says_which_turn_brought_each(
    run: Path,
) -> None:
    picture = picture_of(RunFolder(run), "h", "graph")
    assert titles(picture) == ["Ann", "kite", "boat"]
    assert [node["turns"] for node in picture.nodes] == [[0, 2], [1], [2]]
    assert [turn["id"] for turn in picture.turns] == ["t0", "t1", "t2", "t3"]
    assert [(e["source"], e["relation"], e["target"], e["turn"]) for e in picture.edges] == [
        (0, "owns", 1, 1),
        (0, "sails", 2, 2),
    ]
    assert picture.size == "degree"
    assert picture.nodes[0]["size"] == 2.0
    assert (picture.nodes[0]["accesses"], picture.nodes[0]["created"]) == (2, "2024-02-01 12:00")


def test_what_was_forgotten_is_there_and_marked_and_importance_is_the_size_where_there_are_scores(
    run: Path,
) -> None:
    picture = picture_of(RunFolder(run), "h", "store")
    assert [(n["title"], n["size"], n["forgotten"]) for n in picture.nodes] == [
        ("Ann", 0.9, False),
        ("kite", 0.5, False),
        ("boat", 0.1, True),
    ]
    assert picture.size == "importance"
    assert len(picture.edges) == 2


def test_a_question_shows_only_what_has_a_line_in_its_context_and_stands_on_a_recalled_turn(
    run: Path,
) -> None:
    picture = picture_of(RunFolder(run), "h", "graph", ("q1", "graph"))
    assert titles(picture) == ["Ann", "kite"]
    assert len(picture.edges) == 1
    assert picture.asked is not None
    assert picture.asked.text == "Where is the kite?"
    assert [turn["evidence"] for turn in picture.turns] == [False, True, False, False]


def test_beyond_the_most_nodes_the_least_important_are_left_out_and_counted(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "MOST_NODES", 2)
    picture = picture_of(RunFolder(run), "h", "store")
    assert (titles(picture), picture.left_out, len(picture.edges)) == (["Ann", "kite"], 1, 1)


@pytest.mark.parametrize(
    ("history", "question", "condition", "said"),
    [
        ("nope", None, None, "no history 'nope'; it has 'h'"),
        ("h", "nope", None, "no question 'nope'"),
        ("h", None, "flat", "'flat' has no memory graph in this run; these have one: graph, store"),
        ("h", None, "../graph", "has no memory graph"),
    ],
)
def test_what_is_not_in_the_run_is_refused_by_name(
    run: Path, history: str, question: str | None, condition: str | None, said: str
) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        show_graph(run, history, question, condition, None)


def test_a_run_without_graphs_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(
        json.dumps({"name": "r", "status": "complete", "study": {}, "sha256": "", "variant": ""})
    )
    with pytest.raises(BadInput, match="no memory graph"):
        show_graph(tmp_path, "h", None, None, None)


def test_each_picture_has_a_file_of_its_own_whose_name_holds_no_id(run: Path) -> None:
    paths = {
        show_graph(run, "h", None, None, None),
        show_graph(run, "h", "q1", None, None),
        show_graph(run, "h", "q1", "graph-store", None),
    }
    assert len(paths) == 3
    assert all(
        path.parent == run and re.fullmatch(r"graph-(graph|store)-[0-9a-f]{8}\.html", path.name)
        for path in paths
    )


def test_the_page_allows_its_own_script_and_style_and_nothing_else(run: Path) -> None:
    page = show_graph(run, "h", None, None, None).read_text()
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script is not None
    outside = html.unescape(page.replace(script[1], ""))
    hashed = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{hashed}'; style-src 'sha256-" in outside
    assert re.search(r'(src|href)="', outside) is None


def test_the_library_is_inlined_with_its_licence_notice(run: Path) -> None:
    page = show_graph(run, "h", None, None, None).read_text()
    assert "@copyright (c) 2017-2019 visjs contributors" in page
    assert "vis.js is dual licensed under both" in page


def test_hostile_texts_are_only_ever_text(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script>\x1b[2J\u202egnp"
    run = write_drawn_run(tmp_path / "run", node("x", hostile, hostile, ["t3"], hostile))
    page = show_graph(run, "h", None, None, None).read_text()
    assert "alert(1)" not in page
    assert "\x1b" not in page.split("<script>")[0]
    read = data_of(page)
    assert hostile in [node["title"] for node in read["nodes"]]  # type: ignore[attr-defined]


def test_without_the_drawing_library_the_extra_is_named(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("results.graph_view.page.distribution", missing)
    with pytest.raises(BadInput, match=re.escape("pip install 'palimpsest[report]'")):
        write_picture(picture_of(RunFolder(run), "h", "graph"), tmp_path / "graph.html")
    assert not (tmp_path / "graph.html").exists()


@given(st.integers(0, 30), st.data())
def test_places_are_finite_and_the_same_for_the_same_graph(nodes: int, data: st.DataObject) -> None:
    ends = st.tuples(st.integers(0, max(0, nodes - 1)), st.integers(0, max(0, nodes - 1)))
    edges = np.array(data.draw(st.lists(ends, max_size=40 if nodes else 0)), np.intp).reshape(-1, 2)
    places = spring_layout(nodes, edges)
    assert places.shape == (nodes, 2)
    assert np.isfinite(places).all()
    assert np.array_equal(places, spring_layout(nodes, edges))


def test_two_nodes_with_an_edge_come_to_stand_about_the_ideal_distance_apart() -> None:
    places = spring_layout(2, np.array([[0, 1]]))
    # At distance d (of k): d² and the pull to the middle 0.8·d/2 draw, 1/d repels, so d is about 0.88.
    assert np.linalg.norm(places[0] - places[1]) / SPACING == pytest.approx(0.88, abs=0.05)


def test_what_is_joined_stands_nearer_than_what_is_not() -> None:
    cliques = [(a + base, b + base) for base in (0, 10) for a in range(10) for b in range(a)]
    places = spring_layout(20, np.array(cliques))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    assert max(distances[:10, :10].max(), distances[10:, 10:].max()) < distances[:10, 10:].min()
