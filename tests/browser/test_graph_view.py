"""The picture of a memory graph in a real browser: opened from disk, moved through time, searched, and attacked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flows.graph_view import show_graph
from tests.results.drawn_run import node, write_drawn_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[2J\u202egnp {{ 7 * 7 }}"


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Page]:
    """A tab that must ask the network for nothing, and whose console must stay empty."""
    context = chromium.new_context(color_scheme="light")
    context.set_default_timeout(10_000)
    tab, faults = context.new_page(), []
    tab.on("console", lambda message: faults.append(message.text))
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("dialog", lambda dialog: faults.append(dialog.message))
    tab.on(
        "request",
        lambda asked: None if asked.url.startswith(("file:", "data:")) else faults.append(asked.url),
    )
    yield tab
    context.close()
    assert faults == []


def opened(tab: Page, file: Path) -> Page:
    tab.goto(file.as_uri())
    tab.wait_for_selector("#state", state="detached")
    return tab


def drawn(tab: Page) -> list[int]:
    """The numbers of the nodes that are to be seen."""
    found: list[int] = tab.evaluate(
        "picture.body.nodeIndices.filter((id) => !picture.body.nodes[id].options.hidden).map(Number)"
    )
    return found


def slide(tab: Page, turn: int) -> None:
    tab.locator("#turn").fill(str(turn))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_drawn_run(tmp_path / "run")


def test_the_whole_memory_is_drawn_and_the_legend_counts_it(tab: Page, run: Path) -> None:
    opened(tab, show_graph(run, "h", None, "store", None))
    assert drawn(tab) == [0, 1, 2]
    assert tab.locator("#legend li").all_inner_texts() == [
        "Artifact: 2",
        "Person: 1",
        "faded, dashed: forgotten, 1",
    ]
    assert tab.evaluate("picture.body.nodes[2].options.opacity < picture.body.nodes[1].options.opacity")
    assert tab.locator("#when").inner_text().startswith("4 of 4 turns: 3 nodes.")


def test_the_slider_shows_only_what_had_been_remembered_by_then(tab: Page, run: Path) -> None:
    opened(tab, show_graph(run, "h", None, "graph", None))
    for turn, there in ((1, [0]), (2, [0, 1]), (1, [0]), (4, [0, 1, 2])):
        slide(tab, turn)
        assert drawn(tab) == there
    slide(tab, 2)
    assert tab.evaluate(
        "picture.body.data.edges.get().filter((edge) => !edge.hidden).map((edge) => edge.id)"
    ) == [0]
    assert tab.locator("#when").inner_text() == "2 of 4 turns: 2 nodes. s, 2024-02-01 12:00"


def test_a_found_node_is_shown_in_its_time_with_its_turns_and_neighbours(tab: Page, run: Path) -> None:
    opened(tab, show_graph(run, "h", None, "graph", None))
    slide(tab, 1)
    tab.fill("#search", "BOA")
    assert tab.locator("#found-count").inner_text() == "1 node found"
    tab.click("#found button")
    assert drawn(tab) == [0, 1, 2]
    told = tab.locator("#details").inner_text()
    for text in (
        "boat",
        "Artifact",
        "2024-02-01 12:00",
        "1 source turn",
        "a boat",
        "sails → this",
        "last accessed\nnever",
    ):
        assert text in told
    tab.click("#details button")
    assert tab.locator("#details h2").first.inner_text() == "Ann"


def test_a_click_on_a_node_tells_of_it_and_a_click_beside_it_closes(tab: Page, run: Path) -> None:
    opened(tab, show_graph(run, "h", None, "graph", None))
    at = tab.evaluate("picture.canvasToDOM(picture.getPosition(1))")
    tab.locator("#canvas").click(position=at)
    tab.wait_for_selector("#details h2")
    assert tab.locator("#details h2").first.inner_text() == "kite"
    tab.locator("#canvas").click(position={"x": 3, "y": 3})
    tab.wait_for_selector("#details:empty", state="attached")


def test_an_edge_tells_its_relation_when_it_is_pointed_at(tab: Page, run: Path) -> None:
    opened(tab, show_graph(run, "h", None, "graph", None))
    ends = [tab.evaluate("(id) => picture.canvasToDOM(picture.getPosition(id))", id) for id in (0, 1)]
    x, y = (sum(end[axis] for end in ends) / 2 for axis in "xy")
    box = tab.locator("#canvas").bounding_box()
    assert box is not None
    tab.mouse.move(box["x"] + x, box["y"] + y)
    tab.locator(".vis-tooltip", has_text="Ann → owns → kite").wait_for()


def test_what_a_question_recalled_marks_the_evidence(tab: Page, run: Path) -> None:
    opened(tab, show_graph(run, "h", "q1", "graph", None))
    assert tab.locator("h1").inner_text() == "Recalled for “Where is the kite?”"
    assert drawn(tab) == [0, 1]
    assert tab.evaluate("[0, 1].map((id) => picture.body.nodes[id].options.borderWidth)") == [1, 4]


def test_colours_follow_the_switch(tab: Page, run: Path) -> None:
    opened(tab, show_graph(run, "h", None, "graph", None))
    edge = "picture.body.edges[0].options.color.color"
    light = tab.evaluate(edge)
    tab.select_option("#theme", "dark")
    assert tab.evaluate(edge) != light


def test_hostile_texts_are_shown_and_do_nothing(tab: Page, tmp_path: Path) -> None:
    run = write_drawn_run(tmp_path / "run", node("x", HOSTILE, HOSTILE, ["t3"], HOSTILE, degree=9))
    opened(tab, show_graph(run, "h", None, "graph", None))
    tab.fill("#search", "</script>")
    tab.click("#found button")
    seen = HOSTILE.replace("\x1b", "‹U+001B›").replace("\u202e", "‹U+202E›")
    assert tab.locator("#details h2").first.inner_text() == seen
    assert tab.locator("img").count() == 0
