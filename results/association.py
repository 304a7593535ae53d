"""The tables of the association study: evidence by words, what quirks are worth, hubs, and the paper's Tables 3 and 5.

Figures that the paper prints stand in rows of their own, whose `source` is `printed`. Which of them compare with ours
is said in `NOTES` (facts on GAAMA, sections 9 and 11).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from results.attribution import exceeds_noise
from results.compare import shared_conversations
from results.paper_tables import PaperTable
from results.rendering import interval, number, signed
from results.statistics import estimates, holm, paired_differences

FIGURES = ("evidence_recall", "verbatim_recall", "answer_in_context")
CATEGORIES = ("multi-hop", "temporal", "open-domain", "single-hop")
"""LoCoMo's categories 1 to 4, in the order of the paper's columns."""

PRINTED_3: Mapping[str, tuple[float, ...]] = {
    "A-Mem": (44.7, 37.4, 50.0, 51.5, 47.2),
    "Nemori": (49.4, 45.0, 36.8, 57.4, 52.1),
    "Mem0": (51.2, 55.5, 72.9, 67.1, 62.1),
    "HippoRAG": (61.7, 67.0, 67.7, 74.1, 69.9),
    "RAG baseline": (67.5, 59.0, 44.6, 86.9, 74.9),
    "GAAMA, after GRAFT": (72.4, 75.1, 47.3, 86.6, 79.1),
}
"""Table 3 as printed: mean reward in percent by category, and overall."""
PRINTED_5: Mapping[str, tuple[float | None, ...]] = {
    "conv-26": (-4.9, 4.5, 5.2, 5.4, 3.0),
    "conv-30": (2.2, -2.6, None, 1.9, 0.5),
    "conv-41": (-3.2, 13.0, -9.4, -1.2, 0.5),
    "conv-42": (-2.3, 7.1, -9.1, 0.6, 0.8),
    "conv-43": (-1.1, -1.9, -1.2, 0.5, -0.3),
    "conv-44": (-0.6, 7.0, 7.1, 2.5, 2.9),
}
"""Table 5 as printed, of which six of ten rows are known: PPR 0.1 minus semantic, in percentage points."""
PRINTED_4: Mapping[str, tuple[float, ...]] = {
    "multi-hop": (282, 21, -0.2, 4.6, -2.1, 2.5),
    "temporal": (321, 16, -0.4, 2.1, -4.8, -2.7),
    "open-domain": (96, 18, -0.2, 6.4, -5.4, 1.0),
    "single-hop": (841, 26, 0.0, 2.1, -1.8, 0.3),
    "overall": (1540, 81, -0.1, 2.8, -2.7, 0.1),
}
"""Table 4 as printed: n, edits, and in percentage points noise, gain, loss, net."""
NOTES = (
    "Printed rows are GAAMA's Table 3. A-Mem's and HippoRAG's cells are whole counts, so that they come from a judge "
    "of right and wrong, as Mem0's do, not from the share of key facts. Mem0's cells stand in its own order of "
    "categories: in LoCoMo's numbering they read 67.1, 55.5, 51.2, 72.9, overall 66.9. No printed row may be ranked "
    "with ours."
)

DIFFERENCES = {
    "evidence_differences": "Evidence recall within so many words, A minus B.",
    "quirks": "What a switch is worth: the profile with it as in the other profile, minus the profile.",
}
"""The tables of paired differences, with what each shows."""

Sampling = Mapping[str, int]


def evidence(words: pd.DataFrame, facts_by: Mapping[str, str], **sampling: int) -> pd.DataFrame:
    """Means with intervals, a row a condition, number of words and figure.

    Args:
        words: The rows of stage `words`, with the columns `history` and `type` of the questions.
        facts_by: By condition, who wrote its facts, where these are not its own extractor's.
        sampling: `resamples` and `seed` of the bootstrap.
    """
    lines = []
    for (condition, size), rows in words.groupby(["condition", "words"], sort=False):
        found = estimates({name: rows[name] for name in FIGURES}, shared_conversations(rows), **sampling)
        for name, estimate in found.items():
            line = {"condition": condition, "words": size, "figure": name, **asdict(estimate)}
            lines.append({**line, "facts_by": facts_by.get(str(condition), "")})
    return pd.DataFrame(lines)


def evidence_text(table: pd.DataFrame, figure: str = "evidence_recall") -> PaperTable:
    """The table `evidence_by_words` as text: a line a condition, a column a number of words."""
    own = table[table["figure"] == figure]
    sizes = sorted(own["words"].unique())
    text = []
    for condition, rows in own.groupby("condition", sort=False):
        by_size = rows.set_index("words")
        cells = [by_size.loc[size] for size in sizes]
        shown = (f"{number(c['mean'])} {interval(c['low'], c['high'])} ({c['n']:,})" for c in cells)
        text.append((str(condition), *shown, str(rows["facts_by"].iloc[0]) or "-"))
    return PaperTable(
        name="evidence_by_words",
        caption="Share of a question's evidence turns that the context stands on, within so many words of context, "
        "with 95 % intervals over conversations and the number of questions. Whose facts are another's writing is said "
        "in the last column: such rows say how well good facts are searched, and may not be ranked with rows without.",
        data=own,
        header=("Condition", *(f"{size:,} words" for size in sizes), "facts written by"),
        rows=tuple(text),
    )


def difference_text(table: pd.DataFrame, name: str, caption: str) -> PaperTable:
    """Paired differences of evidence recall as text: a line a pair, a column a number of words."""
    own = table[table["figure"] == "evidence_recall"]
    sizes = sorted(own["words"].unique())
    text = []
    for (a, b), rows in own.groupby(["a", "b"], sort=False):
        by_size = rows.set_index("words")
        cells = (by_size.loc[size] for size in sizes)
        text.append((f"{a} minus {b}", *(_difference_cell(cell) for cell in cells)))
    return PaperTable(
        name=name,
        caption=f"{caption} Paired 95 % intervals over conversations, number of pairs; * p below .05 after Holm over "
        "the table.",
        data=own,
        header=("Difference", *(f"{size:,} words" for size in sizes)),
        rows=tuple(text),
    )


def _difference_cell(cell: pd.Series) -> str:
    star = "*" if cell["p_holm"] < 0.05 else ""
    shown = f"{signed(cell['difference'])}{star} {interval(cell['low'], cell['high'], sign=True)}"
    return f"{shown} ({cell['n']:,})"


def evidence_differences(
    words: pd.DataFrame, pairs: Sequence[tuple[str, str]], **sampling: int
) -> pd.DataFrame:
    """A minus B at each number of words, paired by question; p after Holm over all rows of a figure."""
    by_arm = {
        key: rows.set_index("question") for key, rows in words.groupby(["condition", "words"], sort=False)
    }
    lines = []
    for a, b in pairs:
        for size in dict.fromkeys(words["words"]):
            if (a, size) not in by_arm or (b, size) not in by_arm:
                continue
            left = by_arm[a, size]
            right = by_arm[b, size].reindex(left.index)
            ours, theirs = ({name: side[name] for name in FIGURES} for side in (left, right))
            found = paired_differences(ours, theirs, shared_conversations(left), **sampling)
            lines += [
                {"a": a, "b": b, "words": size, "figure": n, **_difference(d)} for n, d in found.items()
            ]
    differences = pd.DataFrame(lines)
    for _, rows in differences.groupby("figure") if len(differences) else ():
        differences.loc[rows.index, "p_holm"] = holm(rows["p"].tolist())
    return differences


def _difference(found: Any) -> dict[str, Any]:
    fields = asdict(found)
    return {
        "n": fields["n"],
        "missing": fields["missing"],
        "units": fields["units"],
        "mean_a": fields["a"],
        "mean_b": fields["b"],
        **{name: fields[name] for name in ("difference", "low", "high", "p")},
    }


def hub_summary(sizes: pd.DataFrame, rows: pd.DataFrame, **sampling: int) -> pd.DataFrame:
    """A row a condition and graph: sizes averaged over conversations, mass on hubs, and what each PPR weight gains.

    The gain is evidence recall with that weight minus without PPR, paired by question.
    """
    lines = []
    for key, some in rows.groupby(["condition", "graph"], sort=False):
        mean = sizes[(sizes["condition"] == key[0]) & (sizes["graph"] == key[1])].mean(numeric_only=True)
        without = some[some["ppr_weight"] == 0].set_index("question")
        for weight, walked in some[some["ppr_weight"] > 0].groupby("ppr_weight"):
            left = walked.set_index("question")
            right = without.reindex(left.index)
            found = paired_differences(
                {"recall": left["evidence_recall"]},
                {"recall": right["evidence_recall"]},
                shared_conversations(left),
                **sampling,
            )
            lines.append(
                {
                    "condition": key[0],
                    "graph": key[1],
                    "ppr_weight": weight,
                    **{str(name): float(value) for name, value in mean.items()},
                    "hub_mass": left["hub_mass"].mean(),
                    **_difference(found["recall"]),
                }
            )
    return pd.DataFrame(lines)


def table_3(metrics: pd.DataFrame, conditions: Sequence[str], **sampling: int) -> PaperTable:
    """Mean reward by category of every own system, and the printed rows beside them."""
    lines: list[dict[str, Any]] = []
    for condition in conditions:
        rows = metrics[metrics["condition"] == condition]
        for category in (*(c for c in CATEGORIES if (rows["type"] == c).any()), "overall"):
            some = rows if category == "overall" else rows[rows["type"] == category]
            found = estimates({"judge": some["judge"]}, shared_conversations(some), **sampling)["judge"]
            lines.append(
                {"system": condition, "source": "measured", "category": category, **_percent(asdict(found))}
            )
    for system, cells in PRINTED_3.items():
        for category, cell in zip((*CATEGORIES, "overall"), cells, strict=True):
            lines.append({"system": system, "source": "printed", "category": category, "mean": cell})
    return table_3_text(pd.DataFrame(lines))


def table_3_text(data: pd.DataFrame) -> PaperTable:
    """The table `gaama_table_3` as text."""
    return PaperTable(
        name="gaama_table_3",
        caption=f"Mean reward in percent by category, with 95 % intervals over conversations. {NOTES}",
        data=data,
        header=("System", "Source", *CATEGORIES, "overall"),
        rows=tuple(_cells(data.to_dict("records"))),
    )


def _percent(estimate: dict[str, Any]) -> dict[str, Any]:
    return {name: 100 * v if name in ("mean", "sem", "low", "high") else v for name, v in estimate.items()}


def _cells(lines: Sequence[Mapping[Hashable, Any]]) -> Iterator[tuple[str, ...]]:
    systems = dict.fromkeys((line["system"], line["source"]) for line in lines)
    for system, source in systems:
        own = {
            line["category"]: line for line in lines if (line["system"], line["source"]) == (system, source)
        }
        yield system, source, *(_cell(own.get(category)) for category in (*CATEGORIES, "overall"))


def _cell(line: Mapping[Hashable, Any] | None) -> str:
    if line is None or math.isnan(line["mean"]):
        return "-"
    if line["source"] == "printed":
        return f"{line['mean']:.1f}"
    return f"{line['mean']:.1f} [{line['low']:.1f}, {line['high']:.1f}] ({line['n']:,.0f})"


def table_4(measured: pd.DataFrame, faithful: pd.DataFrame) -> PaperTable:
    """GRAFT's gains and losses by category, as the paper counts them; and whether they exceed the noise."""
    columns = ("n", "edits", "noise", "gain", "loss", "net")
    lines = [{"source": "measured", **{name: row[name] for name in ("type", *columns)}}
        for row in measured.to_dict("records")]  # fmt: skip
    lines += [
        {"source": "printed", "type": category, **dict(zip(columns, cells, strict=True))}
        for category, cells in PRINTED_4.items()
    ]
    return table_4_text(pd.DataFrame(lines), faithful)


def table_4_text(data: pd.DataFrame, faithful: pd.DataFrame) -> PaperTable:
    """The table `graft_table_4` as text, with what `graft_attribution` says of it."""
    columns = ("n", "edits", "noise", "gain", "loss", "net")
    return PaperTable(
        name="graft_table_4",
        caption=f"What the repair changed, in percentage points of reward. {exceeds_noise(faithful).sentence}",
        data=data,
        header=("Category", "Source", *columns),
        rows=tuple(
            (
                str(line["type"]),
                str(line["source"]),
                f"{line['n']:,.0f}",
                f"{line['edits']:,.0f}",
                *(f"{line[name]:+.1f}" for name in columns[2:]),
            )
            for line in data.to_dict("records")
        ),
    )


def table_5(metrics: pd.DataFrame, a: str, b: str) -> PaperTable:
    """Reward of one arm minus another's in percentage points, by conversation and category; printed rows beside."""
    left, right = (metrics[metrics["condition"] == name].set_index("question") for name in (a, b))
    delta = 100 * (left["judge"] - right["judge"].reindex(left.index))
    paired = pd.DataFrame({"history": left["history"], "type": left["type"], "delta": delta})
    lines = []
    for history, rows in paired.groupby("history", sort=False):
        for category in (*CATEGORIES, "overall"):
            some = rows.loc[(rows["type"] == category) | (category == "overall"), "delta"]
            pair = {"a": a, "b": b, "history": history, "category": category}
            lines.append({**pair, "n": int(some.notna().sum()), "difference": some.mean()})
    return table_5_text(pd.DataFrame(lines))


def table_5_text(data: pd.DataFrame) -> PaperTable:
    """The table `gaama_table_5` as text."""
    text = []
    for history, rows in data.groupby("history", sort=False):
        own = rows.set_index("category")["difference"]
        printed = PRINTED_5.get(str(history)) or (None,) * (len(CATEGORIES) + 1)
        cells = (
            f"{_points(own[category])} ({_points(cell)})"
            for category, cell in zip((*CATEGORIES, "overall"), printed, strict=True)
        )
        text.append((str(history), *cells))
    return PaperTable(
        name="gaama_table_5",
        caption=f"Reward of {data['a'].iloc[0]} minus {data['b'].iloc[0]} in percentage points, by conversation and "
        "category; in brackets what the paper prints (other models; four rows are not known).",
        data=data,
        header=("Conversation", *CATEGORIES, "overall"),
        rows=tuple(text),
    )


def _points(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:+.1f}"
