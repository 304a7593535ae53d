"""The commands `palimpsest cache`: what the store of all calls holds, whether it is whole, and moving it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

# Everything heavy is imported inside the command that needs it.
if TYPE_CHECKING:
    from tasks.models.store_use import Summary

app = typer.Typer(help="The store of all bought calls: look into it, check it, move it, make it smaller.")

DAMAGED = 1

StoreOption = Annotated[Path, typer.Option("--store", help="Folder of calls that all runs share.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
STORE = Path("results/store")


@app.command("ls")
def list_entries(store: StoreOption = STORE, as_json: JsonOption = False) -> None:
    """Show how much the store holds, by provider, model and task, and which runs have used it."""
    import json
    from dataclasses import asdict

    from tasks.models.store_use import summary

    found = summary(store)
    typer.echo(json.dumps(asdict(found), default=str, indent=1) if as_json else _shown(found))


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number:,} entries"


def _shown(found: Summary) -> str:
    from results.rendering import plain

    lines = [f"{_entries(found.entries)}, {found.bytes:,} bytes"]
    for group in found.groups:
        named = (
            f"{group.task} by {group.provider}:{group.model}" if group.provider else "unknown to the ledger"
        )
        lines.append(f"  {named}: {_entries(group.entries)}, {group.bytes:,} bytes")
    lines += [f"run {name}: {_entries(entries)}" for name, entries in found.runs.items()]
    lines += [f"set aside: {item.key[:12]} ({item.fault}) in {item.file}" for item in found.set_aside]
    return "\n".join(plain(line) if not line.startswith(" ") else f"  {plain(line)}" for line in lines)


@app.command()
def verify(store: StoreOption = STORE, as_json: JsonOption = False) -> None:
    """Check every entry; code 1 if one is damaged. Nothing is changed: the next run that needs it sets it aside."""
    import json

    from results.rendering import plain
    from tasks.models.store_use import damaged

    found = dict(damaged(store))
    if as_json:
        typer.echo(json.dumps({"damaged": found}, indent=1))
    else:
        for name, fault in found.items():
            typer.echo(plain(f"{name}: {fault}"))
        typer.echo(f"{len(found):,} damaged" if found else "every entry is whole")
    raise typer.Exit(DAMAGED if found else 0)


@app.command("export")
def export_file(
    file: Annotated[Path, typer.Argument(help="The file to write.")], store: StoreOption = STORE
) -> None:
    """Write all whole entries and the ledger to one file; of a damaged database, all that can be read."""
    from flows.plain import say
    from tasks.models.store_transfer import export_store

    done = export_store(store, file)
    typer.echo(f"{file}: {_entries(done.entries)} and {done.rows:,} rows of the ledger")
    for name, fault in done.damaged.items():
        say(f"left out: {name}: {fault}")
    if done.unread:
        say(f"left out: {_entries(done.unread)} that the damaged database does not give back")
    if done.ledger_fault:
        say(f"left out: {done.ledger_fault}")


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="A file that `palimpsest cache export` has written.")],
    store: StoreOption = STORE,
) -> None:
    """Add what the store lacks of an exported one. Take files from people whom you trust to report truly."""
    from tasks.models.store_transfer import import_store

    done = import_store(file, store)
    typer.echo(
        f"{store}: {done.new_entries:,} of {_entries(done.entries)} and {done.new_rows:,} of {done.rows:,} rows of the "
        "ledger were new"
    )


@app.command()
def prune(
    store: StoreOption = STORE,
    run: Annotated[
        str | None, typer.Option(help="What this run (its folder or name) used, and no other run.")
    ] = None,
    unused_in: Annotated[
        Path | None, typer.Option(help="What runs have used, but none whose folder is in this one.")
    ] = None,
    older_than: Annotated[
        float | None, typer.Option(min=0, help="What was stored more than so many days ago.")
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Only say what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove entries that fulfil all the conditions given. A study that needs them again buys them again."""
    from tasks.models.store_use import remove, superfluous

    found = superfluous(
        store,
        of_run=None if run is None else _run_name(run),
        kept_runs=None if unused_in is None else _runs_in(unused_in),
        older_than_days=older_than,
    )
    what = f"{_entries(len(found.rows))}, {found.bytes:,} bytes"
    if dry_run or not found.rows:
        typer.echo(f"would remove {what}")
    elif yes or typer.confirm(f"Remove {what} from {store}?"):
        remove(store, found.rows)
        typer.echo(f"removed {what}")


def _run_name(run: str) -> str:
    from tasks.runs import read_run

    folder = Path(run)
    return read_run(folder).name if (folder / "run.json").exists() else run


def _runs_in(folder: Path) -> list[str]:
    """Names of the runs whose folders are in a folder.

    Raises:
        BadInput: If there is none, or one was killed or is running: what it uses may not be in the ledger yet.
    """
    from memory.errors import BadInput
    from tasks.runs import read_run

    runs = {file.parent: read_run(file.parent) for file in sorted(folder.glob("*/run.json"))}
    if not runs:
        raise BadInput(f"{folder}: there is no run folder in it")
    for place, run in runs.items():
        if run.status == "running":
            raise BadInput(
                f"{place} is running, or was killed: end it first, so that the ledger knows what it uses"
            )
    return [run.name for run in runs.values()]
