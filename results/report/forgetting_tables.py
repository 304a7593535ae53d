"""The tables and figures of a forgetting run."""

from __future__ import annotations

import math
from collections.abc import Mapping

from results.rendering import interval, signed
from results.report.elements import Section, TextTable
from results.report.run_tables import Record, as_float, frame_table
from results.report.sources import RunFolder

_SIZES = {
    "nodes": "Nodes",
    "edges": "Edges",
    "bytes_paper_json": "JSON bytes",
    "bytes_parquet_float16": "Parquet bytes",
}
_QUALITY = {"f1": "F1", "judge": "J", "turn_recall_5": "R@5", "turn_mrr": "MRR"}
_LOSSES = ("f1", "judge", "turn_recall_5", "turn_mrr")
_FIGURES = ("survival", "recall_5", "mrr")


def forgetting(run: RunFolder) -> Section | None:
    """Size and quality of each way to forget, what it may have cost, and each policy against chance."""
    if run.about.study.get("study") != "forgetting":
        return None
    made = (_table_2(run), _losses(run), *_against_chance(run))
    there = tuple(table for table in made if table is not None)
    method = (
        "A policy is compared with chance where both forget equally many nodes, with 95 % intervals; ** p stays below "
        "0.05 after Holm's adjustment over all policies and levels."
    )
    return Section("forgetting", "What was forgotten", lines=(method,), tables=there) if there else None


def _table_2(run: RunFolder) -> TextTable | None:
    def row(line: Record) -> tuple[str, ...]:
        sizes = (_whole(line.get(name)) for name in _SIZES)
        quality = (_figure(line.get(name)) for name in _QUALITY)
        return (str(line["arm"]), f"{line['questions']:,}", f"{line['judged']:,}", *sizes, *quality)

    header = ("Arm", "n", "Judged", *_SIZES.values(), *_QUALITY.values())
    return frame_table(
        run, "table_2", "Size and quality of each arm (the paper's Table 2)", header, row, folded=False
    )


def _losses(run: RunFolder) -> TextTable | None:
    def row(line: Record) -> tuple[str, ...]:
        return (
            str(line["arm"]),
            str(line["against"]),
            str(line["metric"]),
            f"{line['n']:,}",
            signed(as_float(line["difference"])),
            signed(as_float(line["lower"])),
            _figure(line["margin"]),
            "yes" if line["non_inferior"] else "not shown",
            _figure(line["detectable"]),
        )

    header = (
        "Arm", "Against", "Metric", "n", "Difference", "Lower end", "Margin", "Within it", "Smallest loss n could show",
    )  # fmt: skip
    caption = "Losses against no forgetting: difference, and the lower end of its one-sided 95 % interval"
    return frame_table(run, "noninferiority", caption, header, row)


def _against_chance(run: RunFolder) -> list[TextTable]:
    """For each store, each policy minus random forgetting at the same number of nodes."""
    found = run.frame("frontier_differences")
    if found is None or found.empty:
        return []
    lines: dict[str, dict[tuple[str, str], dict[str, Record]]] = {}
    for line in found.to_dict("records"):
        place = str(line["policy"]), f"{line['level']:.1%}"
        lines.setdefault(str(line["store"]), {}).setdefault(place, {})[str(line["figure"])] = line
    header = ("Policy", "Forgotten", "n", "Evidence survival", "Recall@5", "MRR")
    return [
        TextTable(
            f"{store}: each policy minus chance at equal size",
            header,
            tuple(_chance_row(*place, by_figure) for place, by_figure in own.items()),
            folded=True,
        )
        for store, own in lines.items()
    ]


def _chance_row(policy: str, level: str, by_figure: Mapping[str, Record]) -> tuple[str, ...]:
    n = max(int(line["n"]) for line in by_figure.values())
    return (policy, level, f"{n:,}", *(_difference(by_figure.get(name)) for name in _FIGURES))


def _difference(line: Record | None) -> str:
    if line is None or not math.isfinite(as_float(line["difference"])):
        return "–"
    stars = "**" if line["p_holm"] < 0.05 else ""
    bounds = interval(as_float(line["low"]), as_float(line["high"]), sign=True)
    return f"{signed(line['difference'])}{stars} {bounds}"


def _whole(value: object) -> str:
    return f"{value:,.0f}" if isinstance(value, int | float) and math.isfinite(value) else "–"


def _figure(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, int | float) and math.isfinite(value) else "–"
