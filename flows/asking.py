"""The command `ask`: what a memory of one's own conversations, or of a run, recalls for a typed question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from flows.budgets import budget_of
from flows.console import console, print_table
from flows.plain import say
from flows.running import BUDGET_EXHAUSTED, INCOMPLETE, study_of
from memory.conversation import History
from memory.errors import BadInput
from results.schemas import TURNS
from results.tables import read
from tasks.asking import Asked, ask
from tasks.benchmarks.dates import iso_date
from tasks.benchmarks.own import OWN
from tasks.benchmarks.reading import shortened
from tasks.load import conversations_of, histories_of
from tasks.models.budget import Budget, Spent
from tasks.models.bundles import require
from tasks.runs import Run, read_run
from tasks.start import prepare
from tasks.study import Condition, condition_fields

_SHOWN_TURNS = 10
_EXCERPT = 160


@dataclass(frozen=True, slots=True)
class Asking:
    """The options of `ask`, as typed: see `flows.cli.ask`."""

    history: str | None
    system: str
    models: str | None
    date: str | None
    store: Path
    budget: Mapping[str, list[str]]


def print_recalled(folder: Path, question: str, options: Asking, *, as_json: bool) -> int:
    """Print the context that a memory recalls for a question, and which turns it stands on; returns the exit code.

    Args:
        folder: A folder or file of one's own conversations, or a run folder.
        question: The question.
        options: Of which memory.
        as_json: Print one JSON object instead.

    Raises:
        BadInput: If the folder is neither, or has no such history or memory.
    """
    run, condition, histories = _sources(folder, options)
    history = _history(histories, options.history)
    found = ask(run, condition, history, question, _date(options.date))
    if as_json:
        print(json.dumps(_record(found, question), allow_nan=False))  # noqa: T201
    else:
        _print(found)
    if found.recall["status"] == "ok":
        return 0
    say(f"nothing recalled: {found.exhausted or found.recall['reason']}")
    return BUDGET_EXHAUSTED if found.exhausted else INCOMPLETE


def _sources(folder: Path, options: Asking) -> tuple[Run, Condition, Mapping[str, History]]:
    """The run that is asked, its memory that is meant, and its histories."""
    budget = budget_of(options.budget, Budget(), lambda stage: Spent())
    if not (folder / "run.json").exists():
        study = study_of(None, {"benchmark": OWN}, options.system, options.models, {})
        run = prepare(study, folder, options.store, None)[1]
        histories = conversations_of(OWN, folder, None, None, study.seed).histories
        condition = study.conditions[0]
    else:
        run = read_run(folder)
        if options.models is not None:
            raise BadInput(f"--models: {folder} is a run, whose models are asked; leave the option out")
        if not (folder / "turns.parquet").exists():
            raise BadInput(f"{folder} has no table turns yet: start the study again, it goes on")
        histories = histories_of(read(folder / "turns.parquet", TURNS))
        condition = _condition(run, options.system)
    require(run.study.models)
    return (
        run.model_copy(update={"study": run.study.model_copy(update={"budget": budget})}),
        condition,
        histories,
    )


def _condition(run: Run, system: str) -> Condition:
    """The condition of a run that is called so, or has that system and profile."""
    fields = condition_fields(system)
    for condition in run.study.conditions:
        if system == condition.name or fields == condition.model_dump(include=set(fields)):
            return condition
    names = ", ".join(condition.name for condition in run.study.conditions)
    raise BadInput(f"--system {system}: {run.name} has no such condition; it has {names}")


def _history(histories: Mapping[str, History], name: str | None) -> History:
    if name is None and len(histories) == 1:
        return next(iter(histories.values()))
    if name is None or name not in histories:
        fault = "which of" if name is None else f"{shortened(name)} is none of"
        some = ", ".join(shortened(id) for id in list(histories)[:5])
        raise BadInput(
            f"--history: {fault} the {len(histories):,} histories? There are {some}{' ...' * (len(histories) > 5)}"
        )
    return histories[name]


def _date(text: str | None) -> datetime | None:
    try:
        return iso_date(text) if text is not None else None
    except ValueError as error:
        raise BadInput(f"--date {shortened(text)}: {error}") from error


def _record(found: Asked, question: str) -> dict[str, Any]:
    """What was found, as JSON values."""
    row = found.recall
    told = ("status", "reason", "context", "context_tokens", "items", "edges", "flags")
    return {
        "question": question,
        "history": found.history.id,
        "condition": found.condition,
        **{name: row[name] for name in told},
        "provenance": _provenance(found),
        "calls": {"made": found.calls.paid, "replayed": found.calls.replayed, "usd": found.calls.usd},
    }


def _provenance(found: Asked) -> list[dict[str, Any]]:
    """The turns that the context stands on, best first."""
    said = {turn.id: (session, turn) for session in found.history.sessions for turn in session.turns}
    rows = []
    for id, score in zip(found.recall["turns"] or (), found.recall["scores"] or (), strict=True):
        session, turn = said[id]
        date = session.date.isoformat() if session.date else None
        rows.append(
            {
                "turn": id,
                "score": score,
                "session": session.id,
                "date": date,
                "speaker": turn.speaker,
                "text": turn.text,
            }
        )
    return rows


def _print(found: Asked) -> None:
    row = found.recall
    console.print(
        Text(f"{found.condition}, having heard {len(found.history.turns):,} turns of {found.history.id!r}")
    )
    if row["status"] == "ok":
        flags = f"; flags: {', '.join(row['flags'])}" if row["flags"] else ""
        console.print(
            Text(
                f"recalls {row['items']:,} items, {row['edges']:,} edges, {row['context_tokens']:,} tokens{flags}\n"
            )
        )
        console.print(Text(row["context"] or "(nothing)"), soft_wrap=True)
        print_table(_table(_provenance(found)))
    calls = found.calls
    console.print(Text(f"calls: {calls.paid:,} made (${calls.usd:.4f}), {calls.replayed:,} replayed"))


def _table(rows: list[dict[str, Any]]) -> Table:
    more = f" (the first {_SHOWN_TURNS} of {len(rows):,})" if len(rows) > _SHOWN_TURNS else ""
    table = Table(title=f"it stands on these turns{more}", title_justify="left", box=box.SIMPLE)
    for name in ("turn", "score", "date", "speaker", "text"):
        table.add_column(name, justify="right" if name == "score" else "left", overflow="fold")
    for row in rows[:_SHOWN_TURNS]:
        text = " ".join(row["text"].split())
        excerpt = text if len(text) <= _EXCERPT else text[:_EXCERPT] + "..."
        cells = (row["turn"], f"{row['score']:.3f}", (row["date"] or "")[:10], row["speaker"], excerpt)
        table.add_row(*map(Text, cells))
    return table
