from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from memory.errors import BadInput
from results import figures

pytest.importorskip("matplotlib", reason="figures need the extra report")
HOSTILE = "_$\\frac{1}{0}$ <script>&amp;\x1b[31m\u202e"


def points(*policies: str) -> pd.DataFrame:
    rows = [
        (policy, share, 0.6 - share / 2, 0.55 - share / 2, 0.65 - share / 2)
        for policy in policies
        for share in (0.5, 0.1, 0.9)
    ]
    return pd.DataFrame(rows, columns=["policy", "forgotten", "quality", "low", "high"])


def draws() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"forgotten": np.repeat([0.1, 0.5, 0.9], 20), "quality": rng.random(60) / 2})


def nodes(label: str = "Person") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "label": rng.choice([label, "Event", "Goal"], 300),
            "degree": rng.integers(0, 14, 300),
            "age_days": rng.random(300) * 900,
            "forgotten": rng.random(300) < 0.1,
        }
    )


def sizes(condition: str = "no forgetting") -> pd.DataFrame:
    return pd.DataFrame(
        {
            "condition": [condition] * 3 + ["importance"] * 3,
            "turn": [1, 2, 3] * 2,
            "nodes": [2, 4, 6, 2, 4, 5],
        }
    )


DRAWN = {
    "frontier": (
        lambda stem, name: figures.frontier(
            points("importance", name), draws(), stem, "evidence recall@5 (share)"
        ),
        ["nodes forgotten (% of nodes)", "evidence recall@5 (share)"],
    ),
    "scores": (
        lambda stem, name: figures.scores(pd.DataFrame({"score": np.linspace(0, 1, 99)}), stem, 0.1),
        ["importance score (no unit)", "nodes (count)"],
    ),
    "forgotten": (
        lambda stem, name: figures.forgotten(nodes(name), stem),
        ["forgotten (% of the nodes of the group)", "label", "degree (edges in and out)", "age (days)"],
    ),
    "growth": (
        lambda stem, name: figures.growth(sizes(name), stem),
        ["turns merged (count)", "nodes in the graph (count)"],
    ),
}


def texts(svg: Path) -> list[str]:
    root = ElementTree.fromstring(svg.read_bytes())  # noqa: S314
    return ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("figure", DRAWN)
def test_a_figure_is_a_png_and_an_svg_whose_axes_are_named(figure, tmp_path):
    draw, titles = DRAWN[figure]
    png, svg = draw(tmp_path / "made" / "a.b", "recency")
    assert (png.name, svg.name) == ("a.b.png", "a.b.svg")
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert set(titles) <= set(texts(svg))


@pytest.mark.parametrize("figure", DRAWN)
def test_equal_frames_give_equal_bytes(figure, tmp_path):
    draw, _ = DRAWN[figure]
    first, second = draw(tmp_path / "a", "recency"), draw(tmp_path / "b", "recency")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    for secret in (b"<dc:date>", b"Matplotlib v"):
        assert secret not in first[1].read_bytes()


@pytest.mark.parametrize("figure", ["frontier", "forgotten", "growth"])
def test_a_hostile_name_is_shown_as_text(figure, tmp_path):
    draw, _ = DRAWN[figure]
    _, svg = draw(tmp_path / "a", HOSTILE)
    assert any(text.strip() == r"_$\frac{1}{0}$ <script>&amp;[31m" for text in texts(svg))
    assert b"<script" not in svg.read_bytes()


def test_a_name_without_end_is_cut(tmp_path):
    _, svg = figures.growth(sizes("x" * 10_000), tmp_path / "a")
    assert max(map(len, texts(svg))) == figures.LONGEST


def test_the_random_band_shows_all_draws_and_their_middle_ninety_percent(tmp_path):
    _, svg = figures.frontier(points("importance"), draws(), tmp_path / "a", "MRR (0 to 1)")
    assert {"random: all draws", "random: 5–95 %", "random: median"} <= set(texts(svg))
    _, svg = figures.frontier(points("importance"), draws().head(0), tmp_path / "b", "MRR (0 to 1)")
    assert not [text for text in texts(svg) if text.startswith("random")]


def test_points_without_an_interval_are_drawn(tmp_path):
    bare = points("importance").assign(low=np.nan, high=np.nan)
    assert figures.frontier(bare, draws(), tmp_path / "a", "MRR (0 to 1)")


def test_twelve_series_differ_without_colour():
    styles = [figures._style(number) for number in range(12)]
    assert len({(style["marker"], style["ls"]) for style in styles}) == 12


def test_no_bin_of_the_scores_holds_both_fates():
    edges = np.array(figures._bins(np.array([0.0, 0.013, 0.77]), 0.1))
    assert np.abs(edges - 0.1).min() < 1e-12
    assert edges[0] <= 0 and edges[-1] >= 0.77


def test_scores_that_are_all_equal_or_missing_are_drawn(tmp_path):
    for values in ([0.5, 0.5], [], [np.nan]):
        assert figures.scores(pd.DataFrame({"score": pd.Series(values, dtype=float)}), tmp_path / "a", None)


def test_the_groups_count_every_node_once_for_each_of_label_degree_and_age():
    groups = figures.forgotten_groups(nodes())
    for _, rows in groups.groupby("by"):
        assert rows["nodes"].sum() == 300
        assert rows["forgotten"].sum() == nodes()["forgotten"].sum()
    by_degree = groups[groups["by"] == "degree"].set_index("group")
    assert by_degree.loc["4–5", "nodes"] == nodes()["degree"].between(4, 5).sum()


def test_rare_labels_are_counted_together():
    frame = nodes().assign(label=[f"label {i % 40}" for i in range(300)])
    labels = figures.forgotten_groups(frame).query("by == 'label'")
    assert len(labels) == 13
    assert labels["group"].iloc[-1] == "(other labels)"
    assert labels["nodes"].sum() == 300


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(BadInput, match="points has no column low"):
        figures.frontier(points("a").drop(columns="low"), draws(), tmp_path / "a", "MRR")


def test_without_matplotlib_the_error_names_the_extra(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BadInput, match=r"palimpsest\[report\]"):
        figures.growth(sizes(), tmp_path / "a")


def test_importing_the_figures_does_not_import_matplotlib():
    program = "import sys, results.figures; print('matplotlib' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout.strip() == "False"
