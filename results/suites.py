"""Several use-time runs as one table: model families by systems by suites, with the unweighted three-suite mean.

A run is one benchmark with one family of models; a family is called by its answerer, and by its judge where that is
of another. Figures that the paper prints stand in rows of their own, whose `source` is `printed`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from memory.errors import BadInput
from results.figures import COLOURS, MARKERS, Files, save, shown
from results.paper_tables import PaperTable
from results.rendering import interval, number
from results.use_time import PRINTED, PRINTED_FULL, SUITES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("AMB-Text", "LME-KU", "MAB-FC")
MEAN = "three-suite mean"
PRINTED_MEANS: Mapping[str, float] = {
    "Qwen3.5-flash": 66.59, "GPT-5.6-Luna": 86.71, "MiniMax-M2.5": 77.13, "Kimi-K2.5": 72.83,
}  # fmt: skip
"""RD-Forget's three-suite mean in percent by model family, as printed."""
MATCHED = "GPT-5.6-Luna, matched batch"
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """A finished use-time run.

    Attributes:
        benchmark: Its benchmark.
        family: What answers, and what judges where that is another.
        means: Its table `use_time`.
    """

    benchmark: str
    family: str
    means: pd.DataFrame


def suites(runs: Sequence[SuiteRun], tokens: int) -> pd.DataFrame:
    """Accuracy by family, system and suite at one budget.

    Returns:
        A row a family, system and suite: `source` (`measured` or `printed`), `suite`, `n`, `missing`, `mean`, `low`,
        `high`, `with_missing`. The three-suite mean weighs suites equally, and is there where all three are; its
        interval takes suites as independent and their means as normal.

    Raises:
        BadInput: If a run is of another benchmark, two are of the same family and suite, or none has the budget.
    """
    lines: list[dict[str, Any]] = []
    for run in runs:
        suite = SUITES.get(run.benchmark)
        if suite is None:
            raise BadInput(
                f"{run.benchmark} is none of the paper's suites: {', '.join(dict.fromkeys(SUITES))}"
            )
        lines += _measured(run, suite, tokens)
    if not lines:
        raise BadInput(f"no run has a budget of {tokens:,} tokens")
    table = pd.DataFrame(lines)
    twice = table[table.duplicated(["family", "condition", "suite"])]
    if len(twice):
        raise BadInput(
            f"two runs are of {twice['family'].iloc[0]} on {twice['suite'].iloc[0]}: leave one out"
        )
    means = [_mean(rows) for _, rows in table.groupby(["family", "condition"], sort=False)]
    return pd.DataFrame([*lines, *(mean for mean in means if mean), *_printed()])


def _measured(run: SuiteRun, suite: str, tokens: int) -> list[dict[str, Any]]:
    own = run.means[(run.means["figure"] == "judge") & (run.means["tokens"] == tokens)]
    own = own[own["part"].isin(["system", "ablation"])]
    return [
        {
            "source": "measured",
            "family": run.family,
            "condition": row["variant"] or row["condition"],
            "suite": suite,
            **{name: row[name] for name in ("n", "missing", "mean", "sem", "low", "high", "with_missing")},
        }
        for row in own.to_dict("records")
    ]


def _mean(rows: pd.DataFrame) -> dict[str, Any] | None:
    """The unweighted mean of all three suites; none where one is missing."""
    if set(rows["suite"]) != set(NAMES):
        return None
    # Of a suite that is not known there is no mean of three: pandas would pass it over.
    middle = float(rows["mean"].mean(skipna=False))
    spread = _Z * math.sqrt(float((rows["sem"] ** 2).sum(skipna=False))) / len(NAMES)
    return {
        **{name: rows[name].iloc[0] for name in ("source", "family", "condition")},
        "suite": MEAN,
        **{name: int(rows[name].sum()) for name in ("n", "missing")},
        "mean": middle,
        "low": middle - spread,
        "high": middle + spread,
        "with_missing": float(rows["with_missing"].mean(skipna=False)),
    }


def _printed() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for variant, cells in {"rd_forget": PRINTED_FULL, **PRINTED}.items():
        line = {"source": "printed", "family": MATCHED, "condition": variant}
        rows += [{**line, "suite": suite, "mean": cell / 100} for suite, cell in cells.items()]
        rows.append({**line, "suite": MEAN, "mean": sum(cells.values()) / len(cells) / 100})
    for family, mean in PRINTED_MEANS.items():
        line = {"source": "printed", "family": family, "condition": "rd_forget"}
        rows.append({**line, "suite": MEAN, "mean": mean / 100})
    return rows


def suites_text(table: pd.DataFrame, tokens: int) -> PaperTable:
    """The table as text: a line a family and system, a column a suite."""
    text = []
    for (source, family, condition), rows in table.groupby(["source", "family", "condition"], sort=False):
        by_suite = {row["suite"]: row for row in rows.to_dict("records")}
        cells = (_cell(by_suite.get(suite)) for suite in (*NAMES, MEAN))
        text.append((str(source), str(family), str(condition), *cells))
    return PaperTable(
        name="suites",
        caption=f"Accuracy at {tokens:,} tokens, with 95 % intervals, the number of completed evaluations and, after a "
        "plus, of those that are missing. Printed rows are the paper's, whose budget it does not print.",
        data=table,
        header=("source", "models", "system", *NAMES, MEAN),
        rows=tuple(text),
    )


def _cell(row: Mapping[Any, Any] | None) -> str:
    if row is None or math.isnan(row["mean"]):
        return "-"
    if row["source"] == "printed":
        return number(row["mean"])
    missing = f"+{row['missing']:,.0f}" if row["missing"] else ""
    return f"{number(row['mean'])} {interval(row['low'], row['high'])} ({row['n']:,.0f}{missing})"


def suites_figure(table: pd.DataFrame, stem: Path) -> Files:
    """Draw accuracy by system, a panel a suite and a mark a family; the printed ones are crosses.

    Args:
        table: As `suites` gives it.
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib is missing.
    """
    own = table[table["source"] == "measured"]
    systems = list(dict.fromkeys(own["condition"]))
    panels = [suite for suite in (*NAMES, MEAN) if suite in set(own["suite"])]

    def draw(figure: Figure) -> None:
        drawn = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        places = {system: place for place, system in enumerate(reversed(systems))}
        for axes, suite in zip(drawn, panels, strict=True):
            for mark, (family, rows) in enumerate(own[own["suite"] == suite].groupby("family", sort=False)):
                ends = np.vstack([rows["mean"] - rows["low"], rows["high"] - rows["mean"]])
                axes.errorbar(
                    rows["mean"], [places[name] for name in rows["condition"]], xerr=np.abs(np.nan_to_num(ends)), ls="",
                    label=shown(str(family)), color=COLOURS[mark % len(COLOURS)], marker=MARKERS[mark % len(MARKERS)],
                    markerfacecolor="white", ms=5,
                )  # fmt: skip
            printed = table[(table["family"] == MATCHED) & (table["suite"] == suite)]
            printed = printed[printed["condition"].isin(systems)]
            marks = [places[name] for name in printed["condition"]]
            axes.plot(printed["mean"], marks, ls="", color="black", marker="x", label="printed by the paper")
            axes.set_title(suite)
            axes.set_xlabel("accuracy")
        drawn[0].set_yticks(list(places.values()), [shown(name) for name in places])
        drawn[-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    return save(draw, stem, (2.6 * len(panels) + 3.2, 0.28 * len(systems) + 1.6))
