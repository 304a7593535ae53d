"""The figures of the forgetting study, each as PNG and SVG; equal frames give equal bytes.

They are read without colour: series differ in marker and dash, areas in hatching, and bars carry their counts.
Needs the extra `report` (matplotlib), which is imported when the first figure is drawn.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from memory.errors import BadInput
from results.rendering import plain
from results.tables import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Doubles = npt.NDArray[np.float64]
Files = tuple[Path, Path]
"""Where the PNG and the SVG of a figure are."""

# Colours of Okabe and Ito, told apart with any colour vision; lightness differs too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "p")
DASHES = ("-", "--", "-.", ":")
LONGEST = 40
"""Characters of a name that are shown."""
OTHERS = "(other labels)"
# Upper ends of the groups, each with its name; the first is only where they begin.
DEGREES = {-1.0: "", 0.0: "0", 1.0: "1", 2.0: "2", 3.0: "3", 5.0: "4–5", 10.0: "6–10", math.inf: "> 10"}
AGES = {
    -math.inf: "",
    30.0: "≤ 30",
    90.0: "31–90",
    180.0: "91–180",
    365.0: "181–365",
    730.0: "366–730",
    math.inf: "> 730",
}
_STYLE: dict[str, Any] = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that the picture is the same everywhere
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "palimpsest",
    "text.parse_math": False,  # a label's dollar is a dollar
    "text.usetex": False,
}


def frontier(points: pd.DataFrame, random: pd.DataFrame, stem: Path, quality: str) -> Files:
    """Quality against the share of nodes forgotten: a line for each policy, a band for random forgetting.

    Args:
        points: One row for each policy and level, with the columns `policy` (its name), `forgotten` (share of
            nodes, 0 to 1), `quality`, and the interval `low`, `high` (may be missing values).
        random: One row for each draw, with the columns `forgotten` and `quality`; may be empty. Drawn as the
            range of all draws and as their 5th to 95th percentile at each share.
        stem: The files' path without suffix.
        quality: Name of the quality axis, with its unit.

    Raises:
        BadInput: If matplotlib or a column is missing.
    """
    _need(points, "points", "policy", "forgotten", "quality", "low", "high")
    _need(random, "random", "forgotten", "quality")

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        if len(random):
            _band(axes, random)
        for number, (policy, rows) in enumerate(points.groupby("policy", sort=False)):
            _policy_line(axes, number, str(policy), rows.sort_values("forgotten"))
        axes.set_xlabel("nodes forgotten (% of nodes)")
        axes.set_ylabel(plain(quality))
        axes.set_xlim(left=0)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3.5)

    return save(draw, stem, (7.6, 4.2))


def scores(nodes: pd.DataFrame, stem: Path, threshold: float | None) -> Files:
    """How the score is distributed, with the threshold below which nodes are forgotten.

    Args:
        nodes: One row a node, with the column `score`.
        stem: The files' path without suffix.
        threshold: Where the line stands; none draws no line.

    Raises:
        BadInput: If matplotlib or a column is missing.
    """
    _need(nodes, "nodes", "score")
    values = nodes["score"].dropna().to_numpy(float)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        bins = _bins(values, threshold)
        kept = values if threshold is None else values[values >= threshold]
        axes.hist(kept, bins, label=f"kept ({len(kept):,})", color="#9ecae1", edgecolor="#08519c", lw=0.5)
        if threshold is not None:
            gone = values[values < threshold]
            axes.hist(
                gone,
                bins,
                label=f"below ({len(gone):,})",
                color="white",
                edgecolor="#D55E00",
                hatch="/////",
                lw=0.5,
            )
            axes.axvline(threshold, color="black", ls="--", lw=1.2, label=f"threshold {threshold:g}")
        axes.set_xlabel("importance score (no unit)")
        axes.set_ylabel("nodes (count)")
        axes.legend(loc="upper right")

    return save(draw, stem, (6.2, 3.6))


def forgotten(nodes: pd.DataFrame, stem: Path) -> Files:
    """Which share of the nodes was forgotten, by label, by degree and by age, with the counts.

    Args:
        nodes: One row a node, with the columns `label`, `degree`, `age_days` (days between the node's creation
            and the pass) and `forgotten` (true or false).
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib or a column is missing.
    """
    groups = forgotten_groups(nodes)
    names = {"label": "label", "degree": "degree (edges in and out)", "age": "age (days)"}

    def draw(figure: Figure) -> None:
        counts = [int((groups["by"] == by).sum()) for by in names]
        panels = figure.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": [max(n, 1) + 1 for n in counts]}
        )
        for axes, (by, name) in zip(panels, names.items(), strict=True):
            _share_bars(axes, groups[groups["by"] == by])
            axes.set_ylabel(name)
        panels[0].set_xlim(0, max(1.0, 130 * float(groups["share"].max()) if len(groups) else 1.0))
        figure.align_ylabels()
        panels[-1].set_xlabel("forgotten (% of the nodes of the group)")

    return save(draw, stem, (6.4, 1.8 + 0.24 * len(groups)))


def growth(sizes: pd.DataFrame, stem: Path) -> Files:
    """How many nodes the graph has after each turn, a line for each condition.

    Args:
        sizes: With the columns `condition` (its name), `turn` (turns merged so far) and `nodes`.
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib or a column is missing.
    """
    _need(sizes, "sizes", "condition", "turn", "nodes")

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for number, (condition, rows) in enumerate(sizes.groupby("condition", sort=False)):
            ordered = rows.sort_values("turn", kind="stable")
            style = _style(number)
            axes.plot(
                ordered["turn"],
                ordered["nodes"],
                label=shown(str(condition)),
                markevery=0.12,
                ms=4.5,
                lw=1.4,
                **style,
            )
        axes.set_xlabel("turns merged (count)")
        axes.set_ylabel("nodes in the graph (count)")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.legend(loc="upper left", handlelength=3.5)

    return save(draw, stem, (6.2, 3.8))


def forgotten_groups(nodes: pd.DataFrame) -> pd.DataFrame:
    """The nodes of `forgotten` counted: columns `by` (label, degree, age), `group`, `nodes`, `forgotten`, `share`.

    Labels are ordered by their number of nodes, the twelve greatest alone and the others together.
    """
    _need(nodes, "nodes", "label", "degree", "age_days", "forgotten")
    labels = nodes["label"].astype(str)
    common = list(labels.value_counts().index[:12])
    groups = {
        "label": pd.Categorical(labels.where(labels.isin(common), OTHERS), [*common, OTHERS]),
        "degree": pd.Categorical(pd.cut(nodes["degree"], list(DEGREES), labels=list(DEGREES.values())[1:])),
        "age": pd.Categorical(pd.cut(nodes["age_days"], list(AGES), labels=list(AGES.values())[1:])),
    }
    gone = nodes["forgotten"].to_numpy(bool)
    rows = [
        (by, name, int((found.codes == code).sum()), int(gone[found.codes == code].sum()))
        for by, found in groups.items()
        for code, name in enumerate(found.categories)
    ]
    counted = pd.DataFrame(rows, columns=["by", "group", "nodes", "forgotten"])
    counted = counted[counted["nodes"] > 0].reset_index(drop=True)
    return counted.assign(share=counted["forgotten"] / counted["nodes"])


def _band(axes: Axes, random: pd.DataFrame) -> None:
    draws = random.groupby("forgotten")["quality"]
    spread = draws.agg(["min", "max", "median"]).assign(low=draws.quantile(0.05), high=draws.quantile(0.95))
    share = 100 * spread.index.to_numpy(float)
    axes.fill_between(
        share,
        spread["min"],
        spread["max"],
        fc="none",
        ec="#9a9a9a",
        hatch="....",
        lw=0.6,
        label="random: all draws",
    )
    axes.fill_between(
        share, spread["low"], spread["high"], fc="#c9c9c9", ec="#7a7a7a", lw=0.6, label="random: 5–95 %"
    )
    axes.plot(share, spread["median"], color="#555555", lw=1.0, ls=(0, (1, 1)), label="random: median")


def _policy_line(axes: Axes, number: int, policy: str, rows: pd.DataFrame) -> None:
    quality = rows["quality"].to_numpy(float)
    reach = np.abs(np.vstack([quality - rows["low"].to_numpy(float), rows["high"].to_numpy(float) - quality]))
    axes.errorbar(
        100 * rows["forgotten"].to_numpy(float),
        quality,
        yerr=np.nan_to_num(reach),
        capsize=2.5,
        elinewidth=0.8,
        lw=1.3,
        ms=5,
        label=shown(policy),
        **_style(number),
    )


def _share_bars(axes: Axes, groups: pd.DataFrame) -> None:
    places = np.arange(len(groups))
    share = 100 * groups["share"].to_numpy(float)
    axes.barh(places, share, color="#9ecae1", edgecolor="#08519c", hatch="////", lw=0.7, height=0.72)
    for place, value, row in zip(places, share, groups.itertuples(), strict=True):
        axes.annotate(
            f"{value:.1f} %  ({row.forgotten:,} of {row.nodes:,})",
            (value, float(place)),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
    axes.set_yticks(places, [shown(str(group)) for group in groups["group"]])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


def _bins(values: Doubles, threshold: float | None) -> list[float]:
    """About sixty bins, one edge at the threshold, so that no bin holds both fates."""
    known = values if threshold is None else np.append(values, threshold)
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    width = max(high - low, 1e-9) / 60
    start = low if threshold is None else threshold - width * math.ceil((threshold - low) / width)
    return [start + width * edge for edge in range(math.ceil((high - start) / width) + 2)]


def _style(number: int) -> dict[str, Any]:
    """Twelve markers and four dashes: 12 series differ in the marker, and the dash changes too."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "ls": DASHES[number % len(DASHES)],
        "markerfacecolor": "white" if number % 2 else COLOURS[number % len(COLOURS)],
    }


def shown(name: str) -> str:
    """A name from a file or model: one line, not endless; a leading underscore would hide it from a legend."""
    text = plain(name)
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return f" {text}" if text.startswith("_") else text


def _need(frame: pd.DataFrame, name: str, *columns: str) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise BadInput(f"the frame {name} has no column {missing[0]}; it needs {', '.join(columns)}")


def save(draw: Callable[[Figure], None], stem: Path, inches: tuple[float, float]) -> Files:
    """Draw once, write both files; no date and no version goes in."""
    with _drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=inches, layout="constrained")
        draw(figure)
        png, svg = io.BytesIO(), io.BytesIO()
        figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    files = stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.svg")
    for path, data in zip(files, (png, svg), strict=True):
        write_bytes(path, data.getvalue())
    return files


def _drawing() -> AbstractContextManager[None]:
    """Matplotlib as it comes, with this module's style and nothing of a user's."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise BadInput("figures need matplotlib: pip install 'palimpsest[report]'") from error
    style: dict[Any, Any] = {**mpl.rcParamsDefault, **_STYLE, "backend": "agg"}
    return mpl.rc_context(style)
