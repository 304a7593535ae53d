"""The command line. Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from flows import blocks, caching, completing, probing, suites
from flows.options import StudyOptions, with_study_options

app = typer.Typer(
    pretty_exceptions_enable=False,
    help="Palimpsest: evaluate the long-term memory of LLM agents, and pay for no model call twice.",
    epilog="Exit codes: 0 done; 1 an error of the program's own, or `cache verify` found damage; 2 bad input; "
    "3 stopped, the same command goes on; 4 incomplete, some rows are tried again by the same command; 5 a budget is "
    "exhausted.",
)
app.add_typer(caching.app, name="cache")
app.add_typer(blocks.app, name="blocks")
app.add_typer(probing.app, name="probe")


class _TablesByDefault(typer.core.TyperGroup):
    """`show RUN` is `show tables RUN`: what is shown is named only where it is something else."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args[:1] and args[0] in (*self.commands, *ctx.help_option_names)
        return super().parse_args(ctx, args if named or not args else ["tables", *args])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        runs = self.commands["tables"].params[0].shell_complete(ctx, incomplete)
        return [*super().shell_complete(ctx, incomplete), *runs]


shown = typer.Typer(
    cls=_TablesByDefault, help="Print a run's tables (show RUN), suites of runs, or draw a graph."
)
shown.command("suites")(suites.show_suites)
app.add_typer(shown, name="show")

BAD_INPUT = 2
STOPPED = 3
INCOMPLETE = 4
BUDGET_EXHAUSTED = 5
_INTERRUPTED = 130  # what typer makes of a KeyboardInterrupt

RunArgument = Annotated[Path, typer.Argument(help="A run folder.", autocompletion=completing.runs)]
BenchmarkArgument = Annotated[
    str, typer.Argument(help="See `palimpsest list benchmarks`.", autocompletion=completing.benchmarks)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """Entry point: what the user gave wrong is one line and exit code 2, a stop one line and code 3."""
    # A job scheduler's SIGTERM stops a run as Ctrl-C does; Prefect takes it first, and hands it on here.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = 0
    try:
        from memory.errors import BadInput, CallRefused
        from results.errors import DiskFull, TornTable

        code = app(args=sys.argv[1:] or ["--help"], standalone_mode=False) or 0
        sys.stdout.flush()
    except KeyboardInterrupt:  # first: it may come before the other errors are imported
        code = _INTERRUPTED
    except BrokenPipeError:  # what is left to print would be tried again, and told, when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except SystemExit as ended:
        # Click and rich end a program whose reader has had enough, as `head` has. That is no fault.
        code = 0 if isinstance(ended.__context__, BrokenPipeError) else ended.code  # type: ignore[assignment]
    except typer.TyperException as error:
        _end(f"error: {' '.join(error.format_message().split())} See palimpsest --help", BAD_INPUT)
    except BadInput as error:
        _end(f"error: {error}", BAD_INPUT)
    except (CallRefused, TornTable, DiskFull) as error:
        _end(f"stopped: {error}", STOPPED)
    if code == _INTERRUPTED:
        _end("stopped: interrupted; what is bought is kept, the same command goes on", STOPPED)
    sys.exit(code)


def _end(line: str, code: int) -> None:
    from flows.plain import say

    say(line)
    sys.exit(code)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"palimpsest {version('palimpsest')}")
        raise typer.Exit


@app.callback()
def _before_any_command(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


@app.command()
@with_study_options
def run(options: StudyOptions) -> None:
    """Run a study, or go on with it: the same command continues, and pays for nothing twice."""
    from flows.running import run_study

    code = run_study(options.made(), options.data, options.store, options.out, options.amounts)
    raise typer.Exit(code)


@app.command()
@with_study_options
def estimate(
    options: StudyOptions,
    histories: Annotated[
        int | None,
        typer.Option(min=1, help="How many histories to walk; what a sample takes is scaled to all."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Say what `run` with these options would still buy: calls, tokens and dollars, low and high; ask no model."""
    from flows.estimating import print_estimate

    print_estimate(
        options.made(),
        options.data,
        options.store,
        options.out,
        options.amounts,
        histories=histories,
        as_json=json,
    )


@app.command()
def calibrate(
    embedder: Annotated[str, typer.Option(help="provider:model.")] = "offline:minilm",
    store: Annotated[Path, typer.Option(help="Folder of calls that all runs share.")] = Path("results/store"),
    to: Annotated[
        Path | None, typer.Option(help="Write the thresholds to this TOML file, for `run --thresholds`.")
    ] = None,
    curve: Annotated[
        Path | None,
        typer.Option(help="Write the trade-off curve to this folder, as Parquet and as a figure."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Find an embedder's thresholds on labelled pairs: what is merged, what is recalled, and what is let in."""
    from flows.calibrating import print_calibration

    print_calibration(embedder, store, to, curve, as_json=json)


@app.command()
def compare(
    a: Annotated[str, typer.Argument(help="Per-question rows (jsonl, csv, parquet), or RUN:CONDITION.")],
    b: Annotated[str, typer.Argument(help="What A is compared with: the difference is A minus B.")],
    json: JsonOption = False,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resampling.")] = 0,
    html: Annotated[Path | None, typer.Option(help="Write two runs' report to this file instead.")] = None,
    different_data: Annotated[bool, typer.Option(help="In a report, allow runs on different data.")] = False,
) -> None:
    """Compare two files or runs of per-question rows, paired by question: A minus B."""
    if html is not None:
        from flows.report import comparison_report

        comparison_report(a, b, html, different_data=different_data, resamples=resamples, seed=seed)
        return
    from flows.reporting import print_comparison

    print_comparison(a, b, as_json=json, resamples=resamples, seed=seed)


@app.command()
def rejudge(
    folder: RunArgument,
    judge: Annotated[
        str,
        typer.Option(
            "--judge",
            help="A judge (paper, per_type, key_facts, substring, choice, strings) or provider:model.",
        ),
    ],
) -> None:
    """Judge a run's answers anew, without answering again; its own verdicts stay."""
    from flows.running import rejudge_run

    raise typer.Exit(rejudge_run(folder, judge))


@app.command()
def status(folder: RunArgument, json: JsonOption = False) -> None:
    """Show how far a run is, what became of its rows, and what it has cost."""
    if json:
        from flows import json_output

        json_output.print_json(json_output.status(folder))
        return
    from flows.reporting import print_status

    print_status(folder)


@shown.command("tables")
def show(
    folder: RunArgument,
    by_type: Annotated[bool, typer.Option(help="Also print retrieval figures by question type.")] = False,
    markdown: Annotated[
        bool, typer.Option(help="Print those figures as Markdown, and nothing else.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Print a run's tables."""
    if json:
        from flows import json_output

        json_output.print_json(json_output.tables(folder))
        return
    from flows.reporting import print_run, print_types

    if not markdown:
        print_run(folder)
    if by_type or markdown:
        print_types(folder, as_markdown=markdown)


@shown.command("graph")
def show_graph(
    folder: RunArgument,
    history: Annotated[str, typer.Argument(help="The id of the history whose memory is drawn.")],
    question: Annotated[str | None, typer.Option(help="Only what this question recalled.")] = None,
    condition: Annotated[str | None, typer.Option(help="Whose graph, if the run has several.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file; by default one in the run folder.")] = None,
) -> None:
    """Draw a memory graph as one HTML file to search and move in, with a slider over its turns."""
    from flows.graph_view import show_graph

    show_graph(folder, history, question, condition, out)


@app.command()
def report(
    folder: RunArgument,
    out: Annotated[Path | None, typer.Option(help="The file; by default report.html in the folder.")] = None,
) -> None:
    """Write a run's report: one HTML file to read, print and search, which needs no network."""
    from flows.report import report

    report(folder, out)


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Of the server and its UI.")] = 4200,
) -> None:
    """Start Prefect's server, the deployments and a worker on this machine, and end them all on Ctrl-C."""
    from flows.serving import serve

    serve(port)


@app.command()
def why(
    folder: RunArgument,
    node: Annotated[str, typer.Argument(help="A node's id or its title.")],
) -> None:
    """Explain what became of a node in a forgetting run."""
    from flows.why import print_why

    print_why(folder, node)


@app.command()
def fetch(
    benchmark: BenchmarkArgument,
    to: Annotated[Path, typer.Option(help="Folder to put the file in.")] = Path("results/data"),
    base_url: Annotated[str | None, typer.Option(help="A mirror to use instead of the upstream.")] = None,
) -> None:
    """Download a benchmark from its upstream; goes on with a broken download and verifies the hash."""
    from flows.reporting import fetch_benchmark

    fetch_benchmark(benchmark, to, base_url)


@app.command()
def validate(
    file: Annotated[Path, typer.Argument(help="A benchmark file, or a folder of one's own conversations.")],
    json: JsonOption = False,
) -> None:
    """Read a benchmark file strictly and say what is in it."""
    if json:
        from flows import json_output

        json_output.print_json(json_output.validation(file))
        return
    from flows.reporting import print_validation

    print_validation(file)


@app.command()
def convert(
    file: Annotated[
        Path, typer.Argument(help="An export: lists of messages, ChatGPT's, or a table of turns.")
    ],
    to: Annotated[Path, typer.Option(help="Folder that gets turns.jsonl.")],
    separate: Annotated[
        bool, typer.Option(help="Each conversation of a JSON export is a history, not a session of one.")
    ] = False,
) -> None:
    """Turn an export of chats into a folder that `--benchmark own --data FOLDER` reads."""
    from flows.converting import print_conversion

    print_conversion(file, to, separate=separate)


@app.command()
def ask(
    folder: Annotated[Path, typer.Argument(help="A folder of one's own conversations, or a run folder.")],
    question: Annotated[str, typer.Argument(help="In quotes.")],
    history: Annotated[str | None, typer.Option(help="Whose memory, if there are several histories.")] = None,
    system: Annotated[
        str,
        typer.Option(
            help="A system with an optional :profile; of a run, one of its conditions.",
            autocompletion=completing.systems,
        ),
    ] = "graph:improved",
    models: Annotated[
        str | None,
        typer.Option(
            help="A bundle; by default offline. A run has its own.", autocompletion=completing.bundles
        ),
    ] = None,
    date: Annotated[str | None, typer.Option(help="When it is asked: 2024-05-01.")] = None,
    store: Annotated[Path, typer.Option(help="Folder of calls; a run has its own.")] = Path("results/store"),
    budget_usd: Annotated[list[str] | None, typer.Option(help="Most dollars of all its questions.")] = None,
    budget_calls: Annotated[list[str] | None, typer.Option(help="Most calls, likewise.")] = None,
    json: JsonOption = False,
) -> None:
    """Show what a memory recalls for a question, and which turns that stands on."""
    from flows.asking import Asking, print_recalled

    budget = {"usd": budget_usd or [], "calls": budget_calls or []}
    options = Asking(history, system, models, date, store, budget)
    raise typer.Exit(print_recalled(folder, question, options, as_json=json))


@app.command()
def export(
    folder: RunArgument,
    csv: Annotated[Path | None, typer.Option(help="A folder for one CSV file a table.")] = None,
    xlsx: Annotated[Path | None, typer.Option(help="A workbook with a sheet for each table.")] = None,
    latex: Annotated[Path | None, typer.Option(help="A folder for the paper's tables as LaTeX.")] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(help="Only this table; may be given again.", autocompletion=completing.tables),
    ] = None,
) -> None:
    """Write a run's tables as CSV, as a workbook or as LaTeX."""
    from flows.exporting import export as export_run

    export_run(folder, csv, xlsx, latex, table or [])


@app.command("list")
def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="systems, benchmarks, models, policies, or a run's tables or columns.",
            autocompletion=completing.listed,
        ),
    ],
    table: Annotated[
        str | None,
        typer.Argument(help="Of columns: only those of this table.", autocompletion=completing.tables),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List what a study can be made of, and what the tables of a run hold."""
    from flows.listing import print_list

    print_list(what, table, as_json=json)


if __name__ == "__main__":
    main()
