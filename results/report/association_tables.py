"""The section of a report on an association run: evidence by words, quirks, hubs, planted faults, printed tables."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from results import association
from results.paper_tables import PaperTable
from results.rendering import interval, number, signed
from results.report.elements import Chart, Estimated, Section, TextTable, chart
from results.report.run_tables import Record, as_float, frame_table
from results.report.sources import RunFolder


def associations(run: RunFolder) -> Section | None:
    """What the association study found beside its means; none for another study, or before it has got so far."""
    evidence = run.frame("evidence_by_words")
    if evidence is None or evidence.empty:
        return None
    made = (
        _shown(association.evidence_text(evidence), folded=False),
        *_differences(run),
        _hubs(run),
        _planted(run),
        *_printed(run),
    )
    lines = (_method(run, evidence), *_facts_by(evidence))
    there = tuple(table for table in made if table is not None)
    return Section(
        "association",
        "Evidence by words of context",
        lines=lines,
        charts=tuple(_charts(evidence)),
        tables=there,
    )


def _method(run: RunFolder, evidence: pd.DataFrame) -> str:
    asked = int(evidence["n"].max())
    extractor = run.about.study.get("models", {}).get("extractor", "")
    return (
        f"How much of the evidence of up to {asked:,} questions a context of so many words stands on; no language "
        f"model answers or judges here. Facts and concepts were extracted by {extractor}."
    )


def _facts_by(evidence: pd.DataFrame) -> Iterator[str]:
    """Who wrote the facts of a condition, where these are not its extractor's."""
    for writer, rows in evidence[evidence["facts_by"] != ""].groupby("facts_by", sort=False):
        names = ", ".join(dict.fromkeys(rows["condition"].astype(str)))
        yield (
            f"The facts of {names} were written by {writer}: they say how well good facts are searched, not how well "
            "facts are extracted, and may not be ranked with the other conditions."
        )


def _charts(evidence: pd.DataFrame) -> Iterator[Chart]:
    own = evidence[evidence["figure"] == "evidence_recall"]
    for size, rows in own.groupby("words"):
        found = [
            Estimated(str(row["condition"]), row["mean"], row["low"], row["high"], int(row["n"]))
            for row in rows.to_dict("records")
        ]
        yield chart(f"Evidence recall within {size:,} words", "Condition", found)


def _shown(table: PaperTable, *, folded: bool = True) -> TextTable:
    return TextTable(table.caption, table.header, table.rows, folded)


def _differences(run: RunFolder) -> Iterator[TextTable]:
    for name, caption in association.DIFFERENCES.items():
        found = run.frame(name)
        if found is not None and len(found):
            yield _shown(association.difference_text(found, name, caption))


def _hubs(run: RunFolder) -> TextTable | None:
    def row(line: Record) -> tuple[str, ...]:
        return (
            str(line["condition"]),
            str(line["graph"]),
            f"{line['ppr_weight']:g}",
            f"{line['mediators']:,.0f}",
            f"{line['degree_p99']:.1f}",
            f"{line['degree_max']:.1f}",
            number(as_float(line["top_share"])),
            number(as_float(line["hub_mass"])),
            f"{signed(as_float(line['difference']))} {interval(line['low'], line['high'], sign=True)} ({line['n']:,})",
        )

    header = (
        "Condition", "Graph", "PPR weight", "Concepts or entities", "Neighbours, 99th percentile", "Most",
        "Edge ends at the top 1 %", "PageRank at the top 1 %", "Evidence recall gained",
    )  # fmt: skip
    caption = (
        "The graph of concepts and its twin of entities, averaged over conversations; what Personalized PageRank gains "
        "in each at 1,000 words, with 95 % intervals over conversations"
    )
    return frame_table(run, "hub_summary", caption, header, row)


def _planted(run: RunFolder) -> TextTable | None:
    def row(line: Record) -> tuple[str, ...]:
        return (
            str(line["graft"]),
            str(line["planted"]),
            " of ".join(str(part) for part in (line["outcome"], line["harm"]) if isinstance(part, str)),
            f"{line['count']:,} of {line['n']:,}",
            f"{number(as_float(line['share']))} {interval(line['low'], line['high'])}",
        )

    header = ("GRAFT", "Planted in", "Outcome", "Count", "Share, 95 % Wilson")
    caption = "Planted faults and harmful edits, and what the repair made of them, beside what changes without an edit"
    return frame_table(run, "planted", caption, header, row)


def _printed(run: RunFolder) -> Iterator[TextTable]:
    """GAAMA's Tables 3, 4 and 5, with the paper's own rows marked as printed."""
    rewards, deltas = run.frame("gaama_table_3"), run.frame("gaama_table_5")
    repaired, faithful = run.frame("graft_table_4"), run.frame("graft_attribution")
    if rewards is not None and len(rewards):
        yield _shown(association.table_3_text(rewards))
    if repaired is not None and faithful is not None:
        yield _shown(association.table_4_text(repaired, faithful))
    if deltas is not None and len(deltas):
        yield _shown(association.table_5_text(deltas))
