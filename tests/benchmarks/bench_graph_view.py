"""How soon a picture of a memory graph is written and opens, and how many frames a second it moves at.

python -m tests.benchmarks.bench_graph_view
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import networkx as nx

from results.graph_view.page import write_picture
from results.graph_view.picture import Picture
from tests.browser.conftest import options, which

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZES = (300, 3_000)
LABELS = ("Concept", "Artifact", "Preference", "Event", "Person", "Location", "Goal", "Skill")
TURNS = 500
# The view is moved in every frame; what counts are the frames in which the picture was drawn anew.
FRAMES = """(move) => new Promise((done) => {
  const input = document.getElementById("turn"), step = {
    pan: (k) => picture.moveTo({ position: { x: 6 * k, y: 3 * k } }),
    zoom: (k) => picture.moveTo({ scale: 0.3 + 0.01 * k }),
    slide: (k) => { input.value = 490 - 4 * k; input.dispatchEvent(new Event("input")); },
  }[move];
  let moved = 0, drawn = 0, last = -1;
  const count = () => { if (last !== moved) drawn += 1; last = moved; };
  picture.on("afterDrawing", count);
  const started = performance.now();
  requestAnimationFrame(function next() {
    if (moved < 100) { step(moved++); requestAnimationFrame(next); return; }
    picture.off("afterDrawing", count);
    done(1000 * drawn / (performance.now() - started));
  });
})"""


def picture(size: int) -> Picture:
    """Nodes that hang on few hubs, as those of a conversation hang on its speakers."""
    graph = nx.barabasi_albert_graph(size, 1, seed=0)
    order = sorted(graph, key=lambda node: -graph.degree(node))
    numbers = {node: number for number, node in enumerate(order)}
    nodes: Sequence[dict[str, Any]] = [
        {
            "label": LABELS[node % len(LABELS)], "title": f"node number {node}", "content": "what was said of it",
            "size": float(graph.degree(node)), "forgotten": node % 7 == 0, "turns": [node * TURNS // size],
            "elsewhere": 0, "created": "", "accessed": "", "accesses": 0,
        }
        for node in order
    ]  # fmt: skip
    edges = [
        {"source": numbers[a], "target": numbers[b], "relation": "has", "turn": max(a, b) * TURNS // size}
        for a, b in graph.edges
    ]
    turns = [
        {"id": f"t{turn}", "session": "s", "date": "", "speaker": "user", "text": "said", "evidence": False}
        for turn in range(TURNS)
    ]
    return Picture("run", "history", "graph", "degree", turns, nodes, edges, 0, None)


def measure(browser: Browser, size: int, folder: Path) -> None:
    """Print one size's times."""
    shown = picture(size)
    started = perf_counter()
    file = write_picture(shown, folder / f"{size}.html")
    written = perf_counter() - started
    tab = browser.new_page(viewport={"width": 1400, "height": 850})
    started = perf_counter()
    tab.goto(file.as_uri())
    tab.wait_for_selector("#state", state="detached")
    opened = perf_counter() - started
    rates = ", ".join(f"{move} {tab.evaluate(FRAMES, move):.0f}" for move in ("pan", "zoom", "slide"))
    print(
        f"{size:,} nodes: written in {written:.1f} s ({file.stat().st_size / 1e6:.2f} MB), "
        f"open in {opened:.2f} s, frames a second: {rates}"
    )
    tab.close()


def main() -> None:
    """Measure in the system's Chromium."""
    from playwright.sync_api import sync_playwright

    found = which()
    if found is None:
        sys.exit("needs Chromium on the PATH")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=found, args=options())
        for size in SIZES:
            measure(browser, size, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
