"""The terminal: what is printed there, and what a run shows while it works.

Titles, ids, reasons and paths come from files and models that nobody vouches for. Whatever is printed through `console`
or said by `say` has lost the characters that steer a terminal, and is never read as markup.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from results.rendering import printable
from tasks.context import totals_now
from tasks.progress import PROGRESS

if TYPE_CHECKING:
    from results.paper_tables import PaperTable

_WIDTH_OF_A_LOG = 200
_EVERY_TERMINAL = 0.5  # seconds between two lines of progress
_EVERY_LOG = 15.0


class PlainConsole(Console):
    """A console that prints what is there: no markup, no emoji codes, no escapes but its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of something printable, without what steers a terminal."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)

    def on_broken_pipe(self) -> None:
        """Print into nothing from now on: a run goes on though its reader, as `head`, has had enough."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


console = PlainConsole(
    highlight=False,
    markup=False,
    emoji=False,
    width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH_OF_A_LOG,
)


def as_table(text: PaperTable) -> Table:
    """A table of the results as the terminal shows it."""
    table = Table(title=Text(text.caption), title_justify="left", box=box.SIMPLE)
    for place, name in enumerate(text.header):
        table.add_column(Text(name), justify="right" if place else "left")
    for row in text.rows:
        table.add_row(*map(Text, row))
    return table


def print_table(table: Table) -> None:
    """Print a table; where the terminal is too narrow for its words side by side, a line for each cell."""
    unbounded = console.options.update(max_width=10_000)
    if Measurement.get(console, unbounded, table).minimum <= console.width:
        console.print(table)
        return
    if table.title is not None:
        console.print(table.title)
    for row in zip(*(column.cells for column in table.columns), strict=True):
        console.print()
        for column, cell in zip(table.columns, row, strict=True):
            console.print(Text(f"{column.header}: {cell}"))


def line(started: float) -> str:
    """One line: what is waited for; or the stage, its works and rows, calls, dollars; time."""
    with PROGRESS.lock:
        waiting = PROGRESS.waiting
        stage, done, total = PROGRESS.stage, PROGRESS.done, PROGRESS.total
        rows = ", ".join(f"{number:,} {status}" for status, number in PROGRESS.rows.items())
        stage_started = PROGRESS.started
    if waiting:
        return f"{waiting}; {time.monotonic() - started:.0f} s"
    if not stage:
        return f"starting Prefect ({time.monotonic() - started:.0f} s)"
    spent = totals_now()
    left = ""
    elapsed = time.monotonic() - stage_started
    if 0 < done < total:
        left = f", about {elapsed / done * (total - done):.0f} s left in this stage"
    cost = f", ${spent.usd:.4f}" if spent.usd else ""
    return (
        f"{stage}: {done}/{total} batches{f' ({rows})' if rows else ''}; "
        f"calls: {spent.paid:,} made, {spent.replayed:,} replayed, {spent.failed:,} failed{cost}; "
        f"{time.monotonic() - started:.0f} s{left}"
    )


@contextmanager
def watch(folder: Path) -> Iterator[None]:
    """Show progress until the block ends."""
    console.print(f"run: {folder}", soft_wrap=True)
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(ended,), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show(ended: threading.Event) -> None:
    started = time.monotonic()
    # FORCE_COLOR makes rich take a log for a terminal; a line that moves is for none but a real one.
    if sys.stdout.isatty() and not console.is_dumb_terminal:
        with console.status("") as status:
            while not ended.wait(_EVERY_TERMINAL):
                status.update(_one_row(line(started)))
        console.print(line(started))
        return
    stage, last = "", started
    while not ended.wait(_EVERY_TERMINAL):
        now = time.monotonic()
        if PROGRESS.stage != stage or now - last >= _EVERY_LOG:
            stage, last = PROGRESS.stage, now
            console.print(line(started), soft_wrap=True)
    console.print(line(started), soft_wrap=True)


def _one_row(text: str) -> Text:
    """What a row of the terminal holds of a text, beside the mark that moves: rows that wrap would jump."""
    row = Text(text)
    row.truncate(console.width - 3, overflow="ellipsis")
    return row
