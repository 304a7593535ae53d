"""The commands `palimpsest probe`: how good the offline judge, extractor and answerer are, each against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import completing

# Everything heavy is imported inside the command that needs it.
if TYPE_CHECKING:
    from results.paper_tables import PaperTable

app = typer.Typer(help="Hold an offline model against a baseline; no model is asked that costs anything.")

_BENCHMARK = "longmemeval-oracle"

BenchmarkOption = Annotated[
    str, typer.Option(help="See `palimpsest list benchmarks`.", autocompletion=completing.benchmarks)
]
DataOption = Annotated[Path | None, typer.Option(help="The benchmark's file, or a folder that holds it.")]
ToOption = Annotated[Path | None, typer.Option(help="A folder to write the tables to as well.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def judge(
    data: Annotated[
        Path, typer.Option(help="A folder with LongMemEval oracle and with the paper's published_results.")
    ],
    to: ToOption = None,
    json: JsonOption = False,
) -> None:
    """The lexical judge against the published verdicts of Experiment 1, on questions that chose no setting."""
    from tasks.probe_judge import probe

    _give(probe(data), to, json)


@app.command()
def extractor(
    benchmark: BenchmarkOption = _BENCHMARK,
    data: DataOption = None,
    to: ToOption = None,
    json: JsonOption = False,
) -> None:
    """The noun-phrase extractor against capitalised words: which answers survive, at what size."""
    from tasks.probe_extractor import probe

    _give(probe(benchmark, data), to, json)


@app.command()
def answerer(
    benchmark: BenchmarkOption = _BENCHMARK,
    data: DataOption = None,
    to: ToOption = None,
    json: JsonOption = False,
) -> None:
    """The extractive answerer against the evidence's sentence that shares most words with the question."""
    from tasks.probe_answerer import probe

    _give(probe(benchmark, data), to, json)


def _give(tables: Sequence[PaperTable], to: Path | None, as_json: bool) -> None:
    """Print the tables, and write each as Parquet and as Markdown where a folder is given.

    Raises:
        BadInput: If the folder cannot be written to.
    """
    from memory.errors import BadInput
    from results.tables import write, write_bytes

    if to is not None:
        try:
            for table in tables:
                write(to / f"{table.name}.parquet", table.arrow())
                write_bytes(to / f"{table.name}.md", table.markdown().encode())
        except OSError as error:
            raise BadInput(
                f"--to {to}: cannot be written ({error.strerror}); choose another folder"
            ) from error
    if as_json:
        from flows.json_output import print_json

        print_json({table.name: table.arrow().to_pylist() for table in tables})
        return
    for table in tables:
        _print(table)


def _print(table: PaperTable) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from flows.console import console, print_table

    console.print(Text(table.caption))
    shown = Table(box=box.SIMPLE)
    for place, title in enumerate(table.header):
        shown.add_column(title, justify="right" if place else "left")
    for row in table.rows:
        shown.add_row(*map(Text, row))
    print_table(shown)
