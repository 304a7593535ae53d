"""The command `estimate`: what a study would still buy, as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from flows.budgets import budget_of
from flows.console import console
from flows.covering import coverage, total, whole
from tasks.estimate import Estimate, Priced, estimate
from tasks.forgetting_study import ForgettingStudy
from tasks.models.catalogue import BATCHING
from tasks.models.foreseen import Line, Span
from tasks.models.holdings import spent_by
from tasks.start import check_budget, prepare
from tasks.study import Study

LOW = (
    "low: short replies, none asked for again; one verdict where conditions give the same answer; long instructions "
    "from the provider's cache; half of what rests on replies that are not there yet"
)
HIGH = (
    "high: long replies (60 tokens an answer or a verdict, three times an extraction's usual), one in ten asked for "
    "again, prompts as a budget holds them; twice what rests on replies that are not there yet"
)


def print_estimate(
    study: Study,
    data: Path | None,
    store: Path,
    out: Path | None,
    amounts: dict[str, list[str]],
    *,
    histories: int | None,
    as_json: bool,
) -> None:
    """Print what running a study would still buy; no model is asked, nothing is kept.

    Args:
        study: The study; its budget is that of its file.
        data: The benchmark's file, or a folder that holds it.
        store: Folder of calls that all runs share.
        out: Folder of the run.
        amounts: The options `--budget-*` by kind, as typed.
        histories: See `tasks.estimate.estimate`.
        as_json: Print JSON instead of a table.

    Raises:
        BadInput: If the study could not be run.
    """
    if any(amounts.values()):
        _, run = prepare(study, data, store, out)
        budget = budget_of(amounts, study.budget, lambda stage: spent_by(store, run.name, stage))
        study = study.model_copy(update={"budget": budget})
        check_budget(study)
    found = estimate(study, data, store, out, histories=histories)
    priced = found.priced()
    remarks = [*_remarks(found, priced), *coverage(found)]
    if as_json:
        print(json.dumps(_as_json(found, priced, remarks), indent=1))  # noqa: T201
        return
    console.print(Text(f"estimate of {found.run.name} on {found.run.variant}"))
    if priced:
        console.print(_table(priced))
    for remark in remarks:
        console.print(Text(remark), soft_wrap=True)


def _table(priced: list[Priced]) -> Table:
    table = Table(title="to be bought, low–high", title_justify="left", box=box.SIMPLE)
    for name in ("stage", "condition", "model"):
        table.add_column(name, overflow="fold")
    for name in ("calls", "held", "prompt tokens", "reply tokens", "USD"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in priced:
        heading = each.heading
        names = (heading.stage, heading.condition, heading.model)
        table.add_row(*(Text(name) for name in names), *_cells(each.line, each.usd))
    table.add_section()
    table.add_row("all", "", "", *_cells(*total(priced)))
    return table


def _cells(line: Line, usd: Span | None) -> tuple[str, ...]:
    cost = "unknown" if usd is None else _between(*(_dollars(end) for end in (usd.low, usd.high)))
    return (_shown(line.calls), f"{round(line.held):,}", _shown(line.prompt), _shown(line.reply), cost)


def _shown(span: Span) -> str:
    return _between(*(_short(end) for end in whole(span)))


def _short(number: int) -> str:
    """A whole number, in thousands or millions where it is long; JSON has it in full."""
    if number >= 10_000_000:
        return f"{number / 1e6:,.1f}M"
    return f"{number / 1e3:,.0f}k" if number >= 10_000 else f"{number:,}"


def _dollars(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 10 else f"{amount:.3f}"


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"


def _remarks(found: Estimate, priced: list[Priced]) -> Iterator[str]:
    if found.complete:
        yield "the run is complete: nothing is left to buy"
        return
    if not any(each.line.calls.high for each in priced):
        yield "the store holds every reply: nothing is left to buy"
    if found.scaled:
        some, of = found.histories
        yield (
            f"extrapolated from {some} of {of:,} histories, but for extraction, which is counted over all turns; "
            f"--histories {of} walks them all"
        )
        if isinstance(found.run.study, ForgettingStudy):
            yield "a store of fewer histories recalls other contexts: what is bought for whole ones is not seen"
    yield LOW
    yield HIGH
    yield f"prices as of {found.prices.as_of}; --prices FILE replaces them"
    if found.run.study.batch:
        yield f"chats with {', '.join(BATCHING)} at the price of its batches; vectors are bought live"
    unpriced = sorted({f"{p.heading.provider}:{p.heading.model}" for p in priced if p.usd is None})
    if unpriced:
        yield f"no price is known for {', '.join(unpriced)}: the dollars of all are without theirs"


def _as_json(found: Estimate, priced: list[Priced], remarks: list[str]) -> dict[str, Any]:
    lines, usd = total(priced)
    return {
        "run": found.run.name,
        "complete": found.complete,
        "histories": {"walked": found.histories[0], "all": found.histories[1]},
        "prices_as_of": found.prices.as_of,
        "lines": [{**asdict(each.heading), **_figures(each.line, each.usd)} for each in priced],
        "all": {**_figures(lines, usd), "unpriced": sum(each.usd is None for each in priced)},
        "remarks": remarks,
    }


def _figures(line: Line, usd: Span | None) -> dict[str, Any]:
    spans = {"calls": line.calls, "prompt_tokens": line.prompt, "reply_tokens": line.reply}
    ends = {name: dict(zip(("low", "high"), whole(span), strict=True)) for name, span in spans.items()}
    return {**ends, "held": round(line.held), "usd": usd and asdict(usd)}
