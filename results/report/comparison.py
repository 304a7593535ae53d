"""The report of two runs: A minus B, paired by question, and a browser that shows both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from results.rendering import interval, number, probability, signed
from results.report.browser_data import Column, browser_data
from results.report.cost import calls_of, cost
from results.report.elements import Estimated, Section, TextTable, chart
from results.report.headline import HEADLINE
from results.report.packing import pack
from results.report.page import Page, render
from results.report.provenance import provenance
from results.report.run_report import Money
from results.report.sides import Pair, Side, conditions_opposite, pair
from results.report.sources import same_data
from results.statistics import PairedDifference
from results.tables import write_bytes

_METRICS = {"f1": "F1", "precision": "Precision", "recall": "Recall", "judge": "Judged correct"} | HEADLINE


def write_comparison(
    a: Side,
    b: Side,
    out: Path,
    money: tuple[Money, Money],
    changed: Mapping[str, tuple[str, str]],
    *,
    resamples: int,
    seed: int,
) -> Path:
    """Write the report of A minus B, whole or not at all; returns the file.

    Args:
        a: The one side, of `sides`.
        b: The other.
        out: The file.
        money: Budget and prices of both.
        changed: The fields in which the studies differ, as they are in A and in B.
        resamples: Of every bootstrap.
        seed: Of every bootstrap.

    Raises:
        BadInput: If the conditions to be compared are not there, or jinja2 is missing.
        TornTable: If a table is not whole.
    """
    opposite = conditions_opposite(a, b)
    pairs = [pair(a, b, conditions, resamples=resamples, seed=seed) for conditions in opposite]
    sections = [_headline(pairs, resamples, seed), _tables(pairs), _notes(pairs), _changed(changed)]
    for name, side, own in (("a", a, money[0]), ("b", b, money[1])):
        for made in (cost(calls_of(side.run), own.budget), provenance(side.run, own.prices, own.prices_of)):
            sections.append(_of_side(made, name))
    columns = [
        column
        for one, other in opposite
        for column in (Column(f"A: {one}", a.run, one), Column(f"B: {other}", b.run, other))
    ]
    page = Page(
        title=_title(opposite),
        subtitle=f"A: {a.run.name}. B: {b.run.name}. A minus B on {a.run.about.variant}",
        warning=_warning(a, b),
        made=f"Palimpsest {a.run.about.versions.get('palimpsest', '')}",
        sections=[section for section in sections if section is not None],
        figures=(),
        questions=pack(browser_data(columns)),
    )
    write_bytes(out, render(page))
    return out


def _title(opposite: Sequence[tuple[str, str]]) -> str:
    if len(opposite) > 1:
        return "Two runs compared"
    a, b = opposite[0]
    return f"{a} in two runs" if a == b else f"{a} minus {b}"


def _warning(a: Side, b: Side) -> str:
    told = [
        f"{name} is {side.run.about.status}: {side.run.about.reason}"
        for name, side in (("A", a), ("B", b))
        if side.run.about.status != "complete"
    ]
    if not same_data(a.run.about, b.run.about):
        told.append(f"A and B are on different data: {a.run.about.variant}; {b.run.about.variant}.")
    return " ".join(told)


def _of_side(section: Section, side: str) -> Section:
    return Section(
        f"{section.anchor}-{side}",
        f"{section.title}, {side.upper()}",
        section.facts,
        section.lines,
        section.charts,
        section.tables,
        section.texts,
    )


def _all_metrics(one: Pair) -> dict[str, PairedDifference]:
    return {**one.compared.metrics, **one.ranking}


def _headline(pairs: Sequence[Pair], resamples: int, seed: int) -> Section:
    """One pair is shown in all and by type, several in all alone."""
    charts = []
    for metric, title in HEADLINE.items():
        if len(pairs) == 1:
            rows = [_row("all", _all_metrics(pairs[0])[metric]), *_by_type(pairs[0], metric)]
        else:
            rows = [_row(one.label, _all_metrics(one)[metric]) for one in pairs]
        if any(row.n for row in rows):
            charts.append(
                chart(f"{title}: A minus B", "Condition" if pairs[1:] else "Questions", rows, difference=True)
            )
    unit = pairs[0].compared.unit
    lines = (
        f"{pairs[0].a}; {pairs[0].b}."
        if len(pairs) == 1
        else f"{len(pairs)} conditions that both runs have.",
        f"{pairs[0].compared.n:,} paired questions. A filled dot's 95 % interval excludes zero, unadjusted; a hollow "
        f"one's does not. Percentile bootstrap, {resamples:,} resamples of {unit}s, seed {seed}.",
    )
    return Section("headline", "Headline", lines=lines, charts=tuple(charts))


def _row(label: str, found: PairedDifference) -> Estimated:
    return Estimated(label, found.difference, found.low, found.high, found.n)


def _by_type(one: Pair, metric: str) -> list[Estimated]:
    of_type = {kind: metrics for kind, (_, metrics) in one.compared.by_type.items()}
    found = one.ranking_by_type if metric in one.ranking else of_type
    return [_row(kind, metrics[metric]) for kind, metrics in found.items()] if len(found) > 1 else []


def _tables(pairs: Sequence[Pair]) -> Section:
    header = ("A − B", "Metric", "n", "A", "B", "Difference", "95 % interval", "p", "p (Holm)")
    rows = [_difference_row(one, title, metric) for one in pairs for metric, title in _METRICS.items()]
    caption = "Paired differences; Holm's family is the four metrics of answers in one comparison"
    made = [
        TextTable(caption, header, tuple(rows)),
        *(_type_table(one, folded=len(pairs) > 1) for one in pairs),
    ]
    return Section("tables", "Tables", tables=tuple(made))


def _difference_row(one: Pair, title: str, metric: str) -> tuple[str, ...]:
    found = _all_metrics(one)[metric]
    least = 2 / one.compared.resamples
    adjusted = one.compared.holm.get(metric)
    return (
        one.label,
        title,
        f"{found.n:,}",
        number(found.a),
        number(found.b),
        signed(found.difference),
        interval(found.low, found.high, sign=True),
        probability(found.p, least),
        "" if adjusted is None else probability(adjusted, least * len(one.compared.holm)),
    )


def _type_table(one: Pair, *, folded: bool) -> TextTable:
    kinds = one.compared.by_type
    rows = []
    for kind, (n, metrics) in kinds.items():
        every = {**metrics, **one.ranking_by_type.get(kind, {})}
        cells = (_cell(every.get(metric)) for metric in _METRICS)
        rows.append((kind, f"{n:,}", *cells))
    caption = f"{one.label}: A minus B by question type, with 95 % intervals (n)"
    return TextTable(caption, ("Type", "n", *_METRICS.values()), tuple(rows), folded)


def _cell(found: PairedDifference | None) -> str:
    if found is None or not found.n:
        return "–"
    return f"{signed(found.difference)} {interval(found.low, found.high, sign=True)} ({found.n:,})"


def _notes(pairs: Sequence[Pair]) -> Section | None:
    lines = []
    for one in pairs:
        test = one.compared.mcnemar
        if test is not None:
            lines.append(
                f"{one.label}: verdicts, McNemar's exact test: n {test.n:,}, only A right {test.only_a:,}, only B "
                f"right {test.only_b:,}, p {probability(test.p)}."
            )
        lines += [f"{one.label}: {note}." for note in one.compared.notes]
    return Section("notes", "Notes", lines=tuple(lines)) if lines else None


def _changed(changed: Mapping[str, tuple[str, str]]) -> Section:
    if not changed:
        return Section("changed", "What differs", lines=("Both runs are the same study.",))
    rows = tuple((name, *values) for name, values in changed.items())
    table = TextTable("Fields of the studies that differ", ("Field", "A", "B"), rows)
    return Section("changed", "What differs", tables=(table,))
