"""The tables of the ranking study as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from results.paper_tables import PaperTable
from results.rendering import interval, number, signed

_TITLES = {
    "session_mrr": "session MRR", "session_recall_5": "session R@5", "turn_mrr": "turn MRR",
    "turn_recall_5": "turn R@5", "turn_recall_10": "turn R@10", "turn_within_1000_words": "in 1,000 words",
}  # fmt: skip

EXTRACTING = ("extract", "five_ws", "concept_facts")
"""Tasks that read what was said: a turn, or a chunk of turns."""


def ranking_text(table: pd.DataFrame, costs: pd.DataFrame, side: str, about: str) -> PaperTable:
    """The table that matters most: systems by quality with interval, latency, and bytes a turn."""
    own = table[table["side"] == side]
    by_condition = costs.set_index("condition")
    text = []
    for condition, rows in own.groupby("condition", sort=False):
        cells = {f"{row['unit']}_{row['metric']}": row for row in rows.to_dict("records")}
        shown = [_cell(cells[name]) for name in _TITLES]
        text.append((str(condition), *shown, *_cost_cells(by_condition, str(condition))))
    header = ("Condition", *_TITLES.values(), "recall p50 / p95, ms", "bytes a turn")
    caption = (
        f"How {about} is ranked, {side} questions: means with 95 % intervals and n. MRR and recall of evidence "
        "sessions and turns; share of evidence turns within 1,000 words of context."
    )
    return PaperTable(f"ranking_{side}", caption, own, header, tuple(text))


def _cell(row: Mapping[Any, Any]) -> str:
    return f"{number(row['mean'])} {interval(row['low'], row['high'])} ({row['n']:,})"


def _cost_cells(costs: pd.DataFrame, condition: str) -> tuple[str, str]:
    if condition not in costs.index:
        return "–", "–"
    found = costs.loc[condition]
    times = f"{found['latency_p50_ms']:.2f} / {found['latency_p95_ms']:.2f}"
    return times, f"{found['bytes_a_turn']:,.0f}"


def differences_text(table: pd.DataFrame, side: str) -> PaperTable:
    """Paired differences against the best baseline as text."""
    own = table[(table["side"] == side) & table["metric"].isin(["mrr", "recall_5", "within_1000_words"])]
    text = []
    for row in own.to_dict("records"):
        star = "*" if row["p_holm"] < 0.05 else ""
        shown = (
            f"{signed(row['difference'])}{star} {interval(row['low'], row['high'], sign=True)} ({row['n']:,})"
        )
        text.append(
            (f"{row['a']} minus {row['b']}", f"{row['unit']} {row['metric'].replace('_', ' ')}", shown)
        )
    caption = f"Minus the best baseline, {side} questions: paired 95 % intervals; * p below .05 after Holm."
    return PaperTable(
        f"ranking_differences_{side}", caption, own, ("Pair", "figure", "difference"), tuple(text)
    )


def grouped_text(table: pd.DataFrame, labels: pd.Series[str], name: str, caption: str) -> PaperTable:
    """Session MRR of a table that has a row a group and condition: a line a group, a column a condition.

    Args:
        table: `ranking_types` of one side, or `ranking_ages`.
        labels: What each of its rows' group is called.
        name: The text's name.
        caption: What it shows.
    """
    own = table.assign(label=labels)
    own = own[(own["unit"] == "session") & (own["metric"] == "mrr")]
    conditions = list(dict.fromkeys(own["condition"].astype(str)))
    rows = []
    for label, group in own.groupby("label", sort=False):
        cells = {str(row["condition"]): row for row in group.to_dict("records")}
        rows.append((str(label), *(_cell(cells[name]) if name in cells else "–" for name in conditions)))
    return PaperTable(name, caption, own, ("Group", *conditions), tuple(rows))


def types_text(types: pd.DataFrame) -> PaperTable:
    """Session MRR by question type, all questions."""
    own = types[types["side"] == "all"]
    caption = "Session MRR by question type, all questions, with 95 % intervals and n."
    return grouped_text(own, own["type"].astype(str), "ranking_types", caption)


def ages_text(ages: pd.DataFrame) -> PaperTable:
    """Session MRR by quarter of the evidence's age."""
    bounds = zip(ages["from"], ages["to"], ages["by"], strict=True)
    labels = pd.Series([f"{low:,.0f} to {high:,.0f} {by}" for low, high, by in bounds], ages.index, dtype=str)
    caption = "Session MRR by age of the evidence, in quarters, all questions, with 95 % intervals and n."
    return grouped_text(ages, labels, "ranking_ages", caption)


def sizes_text(sizes: pd.DataFrame) -> PaperTable:
    """Quality and cost by size of the store."""
    rows = []
    for row in sizes.to_dict("records"):
        quality = (
            f"{number(row[name])} {interval(row[f'{name}_low'], row[f'{name}_high'])}"
            for name in ("session_mrr", "turn_mrr")
        )
        times = f"{row['latency_p50_ms']:.2f} / {row['latency_p95_ms']:.2f}"
        cells = (f"{row['turns']:,.0f}", *quality, times, f"{row['bytes_a_turn']:,.0f}", f"{row['n']:,}")
        rows.append((str(row["condition"]), *cells))
    header = ("Condition", "turns", "session MRR", "turn MRR", "recall p50 / p95, ms", "bytes a turn", "n")
    caption = (
        "By turns in the store, of questions by lot: the evidence sessions and others, the last size being the whole "
        "store; means with 95 % intervals."
    )
    return PaperTable("ranking_sizes", caption, sizes, header, tuple(rows))


def tag_noise_text(noise: pd.DataFrame) -> PaperTable:
    """Turn MRR by how many tags are dropped or corrupted, all questions."""
    own = noise[(noise["side"] == "all") & (noise["unit"] == "turn") & (noise["metric"] == "mrr")]
    shares = sorted(own["share"].unique())
    rows = []
    for (condition, change), some in own.groupby(["condition", "change"], sort=False):
        cells = {row["share"]: row for row in some.to_dict("records")}
        rows.append((str(condition), str(change), *(_cell(cells[share]) for share in shares)))
    caption = (
        "Turn MRR over notes that are made worse, by the share of their tags that is dropped, or replaced by another "
        "value of the slot, all questions, with 95 % intervals and n."
    )
    header = ("Condition", "tags are", *(f"{share:.0%}" for share in shares))
    return PaperTable("ranking_tag_noise", caption, own, header, tuple(rows))


def rate_line(calls: pd.DataFrame) -> str:
    """How fast rules have extracted, where a run has asked them anew; empty where it has not.

    Args:
        calls: The run's table `calls`; what was found again took no time.
    """
    own = calls[(calls["provider"] == "offline") & (calls["latency_ms"] > 0) & calls["task"].isin(EXTRACTING)]
    rates = [
        f"{task} {len(rows) / rows['latency_ms'].sum() * 1000:,.0f} a second ({len(rows):,})"
        for task, rows in own.groupby("task", sort=False)
    ]
    return f"Extraction without a model, by the clock: {', '.join(rates)}." if rates else ""


def left_out_line(left_out: pd.DataFrame) -> str:
    """How many questions are asked, and why others are not."""
    total = left_out.drop(columns="type").sum()
    return (
        f"{total['asked']:,} of {total['questions']:,} questions are asked; left out: {total['abstention']:,} that "
        f"expect abstention, {total['without_evidence']:,} without evidence that can be found, {total['other_side']:,} "
        f"of the other side. {total['unresolved']:,} of their references to evidence match nothing."
    )


BY_GROUP: Mapping[str, Callable[[pd.DataFrame], PaperTable]] = {
    "ranking_types": types_text,
    "ranking_ages": ages_text,
    "ranking_sizes": sizes_text,
    "ranking_tag_noise": tag_noise_text,
}
"""By table that has a row a group, what writes it as text."""
