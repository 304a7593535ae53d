"""How the command line behaves among others: in pipes, logs and narrow terminals, with scripts and shells."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

import flows.estimating
import flows.exporting
import flows.report
import flows.reporting
import tasks.models.store_use
from flows import cli
from flows.console import console
from tests.flows.in_process import called
from tests.flows.study_in_loop import conditions, run_in_loop

PALIMPSEST = Path(sys.executable).with_name("palimpsest")
# A suite that runs in the background ignores SIGINT, and its children would inherit that.
PROGRAM = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("flows.cli", run_name="__main__", alter_sys=True)
"""
HEAVY = (
    *("prefect", "pandas", "numpy", "pyarrow", "networkx", "openai", "ollama", "scipy", "onnxruntime"),
    *("tokenizers", "matplotlib", "httpx", "duckdb", "jinja2", "sqlite3"),
)
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8)(?:;[0-9;]*)?m")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def environment(**more: str) -> dict[str, str]:
    """A shell's environment that says nothing of a terminal."""
    silent = {
        "COLUMNS",
        "LINES",
        "NO_COLOR",
        "FORCE_COLOR",
        "TERM",
        "TTY_COMPATIBLE",
        "PY_COLORS",
        "GITHUB_ACTIONS",
    }
    return {**{name: value for name, value in os.environ.items() if name not in silent}, **more}


def palimpsest(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PALIMPSEST, *words], env=environment(**variables), capture_output=True, text=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manners")
    return run_in_loop(folder, conditions=conditions("none", "bm25", "flat"), limit=2, resamples=100).folder


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["run", "--help"], ["cache", "--help"], ["show", "--help"]]
)
def test_help_and_version_import_nothing_heavy(words: list[str]) -> None:
    program = (
        f"import sys\nsys.argv = ['palimpsest', *{words}]\nfrom flows import cli\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        f"print('HEAVY', sorted(set({HEAVY}) & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_the_exit_codes_are_listed_in_the_help() -> None:
    text = " ".join(palimpsest("--help").stdout.split())
    listed = re.findall(r"(\d) ([a-z]+)", text.partition("Exit codes: ")[2])
    codes = {name: int(code) for code, name in listed}
    assert codes == {
        "done": 0,
        "an": 1,
        "bad": cli.BAD_INPUT,
        "stopped": cli.STOPPED,
        "incomplete": cli.INCOMPLETE,
        "a": cli.BUDGET_EXHAUSTED,
    }


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert palimpsest("--version").stdout == f"palimpsest {version('palimpsest')}\n"


def strict(text: str) -> Any:
    """What is JSON by its standard, where NaN is none."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_every_command_with_tables_prints_them_as_one_json_value(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*words: str) -> Any:
        assert called(monkeypatch, *words, "--json") == 0
        return strict(capsys.readouterr().out)

    status = printed("status", str(run))
    assert (status["status"], status["study"], status["counts"]["answer"]) == (
        "complete",
        "representation",
        {"ok": 6},
    )
    assert status["calls"]["paid"] > 0
    shown = printed("show", str(run))
    assert [row["condition"] for row in shown["means"]] == ["none", "bm25", "flat"]
    assert shown["means"][0]["turn_mrr"] == {"mean": 0.0, "n": shown["means"][1]["turn_mrr"]["n"]}
    assert {row["condition_b"] for row in shown["comparisons"]} == {"flat"}
    for what in ("systems", "benchmarks", "models", "policies", "tables"):
        assert all(row["name"] for row in printed("list", what))
    assert printed("list", "columns", "metrics")[0]["column"] == "question"
    assert printed("compare", f"{run}:bm25", f"{run}:flat")["n"] == 2
    store = ("--store", str(run.parent / "store"))
    assert printed("cache", "ls", *store)["entries"] > 0
    assert printed("cache", "verify", *store) == {"damaged": {}}
    assert printed(
        "estimate", "--limit", "2", "--systems", "none", *store, "--out", str(run.parent / "other")
    )


def test_a_file_that_is_no_benchmark_is_bad_input_with_json_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text("[]")
    assert called(monkeypatch, "validate", str(tmp_path / "x.json"), "--json") == cli.BAD_INPUT
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["list", "columns"],
        ["list", "columns", "--json"],
        ["list", "systems"],
        ["--help"],
        ["show"],
        ["show", "--json"],
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_is_no_fault(words: list[str], run: Path) -> None:
    words = [*words, str(run)] if words[0] == "show" else words
    process = subprocess.Popen(
        [PALIMPSEST, *words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


INTERRUPTED: list[tuple[list[str], Any, str]] = [
    (["status", "run"], flows.reporting, "print_status"),
    (["show", "run"], flows.reporting, "print_run"),
    (["report", "run"], flows.report, "report"),
    (["estimate"], flows.estimating, "print_estimate"),
    (["export", "run"], flows.exporting, "export"),
    (["cache", "verify"], tasks.models.store_use, "damaged"),
]


@pytest.mark.parametrize(
    ("words", "module", "name"), INTERRUPTED, ids=[" ".join(words) for words, *_ in INTERRUPTED]
)
def test_ctrl_c_ends_any_command_with_one_line_and_code_3(
    words: list[str],
    module: Any,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: Any, **__: Any) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, name, interrupted)
    assert called(monkeypatch, *words) == cli.STOPPED
    told = capsys.readouterr()
    assert told.err == "stopped: interrupted; what is bought is kept, the same command goes on\n"
    assert "Traceback" not in told.out


def eventually(holds: Callable[[], bool], process: subprocess.Popen[Any]) -> None:
    while not holds():
        assert process.poll() is None, "the command ended early"
        time.sleep(0.05)


def test_ctrl_c_before_the_flow_begins_leaves_a_run_that_is_stopped(tmp_path: Path) -> None:
    words = ["run", "--systems", "none", "--limit", "1", "--out", "run"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=tmp_path,
        env=environment(HOME=str(tmp_path), PREFECT_HOME=str(tmp_path / "prefect")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    eventually((tmp_path / "run" / "run.json").exists, process)  # Prefect's server takes seconds from here
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert error == "stopped: interrupted; what is bought is kept, the same command goes on\n"
    assert process.returncode == cli.STOPPED
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "stopped"


WATCHED = """
import sys, time
from pathlib import Path
from flows import console
from tasks.progress import PROGRESS
PROGRESS.stage, PROGRESS.total, PROGRESS.done = "a stage with a long name", 1_000_000, 123_456
PROGRESS.rows = {"answered": 1_234_567, "failed": 7_654_321}
with console.watch(Path("run")):
    time.sleep(2)
console.console.print("the end")
sys.stderr.write("went on")
"""


def test_in_a_log_progress_is_whole_lines_even_where_colour_is_forced() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        env=environment(FORCE_COLOR="1", COLUMNS="40"),
        capture_output=True,
        text=True,
    )
    first, *lines, last = done.stdout.splitlines()
    assert (first, last) == ("run: run", "the end")
    assert all(line.startswith("a stage with a long name: 123456/1000000 batches") for line in lines)
    assert not CONTROL.findall(done.stdout), "nothing in a log moves"


def test_a_run_goes_on_though_nobody_reads_its_progress() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHED],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "run: run\n"
    process.stdout.close()
    assert process.stderr.read() == "went on"
    assert process.wait() == 0


def in_a_terminal(columns: int, program: list[str], **variables: str) -> str:
    """What a program writes to a terminal that wide."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        program,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(COLUMNS=str(columns), TERM="xterm", **variables),
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            got = os.read(ours, 65_536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not got:
            break
        written += got
    os.close(ours)
    assert process.wait() == 0, written
    return written.decode()


def test_a_moving_line_stays_one_row_of_a_narrow_terminal() -> None:
    written = in_a_terminal(40, [sys.executable, "-c", WATCHED])
    moving, _, last = written.partition("\x1b[?25h")  # the cursor is shown again once the line is gone
    rows = [row.strip() for row in re.split(r"[\r\n]+", CONTROL.sub("", moving)) if row.strip()]
    assert any("a stage with a long name: 123456/1" in row for row in rows)
    assert max(map(len, rows)) <= 40
    assert "\x1b[1A" not in moving, "no second row is wiped, as there is none"
    assert "calls: 0 made" in " ".join(last.split()), "the last line is whole, over as many rows as it takes"


def test_a_dumb_terminal_gets_lines() -> None:
    written = in_a_terminal(40, [sys.executable, "-c", f"import os; os.environ['TERM'] = 'dumb'\n{WATCHED}"])
    assert not CONTROL.findall(written)


@pytest.mark.parametrize("words", [["show"], ["status"], ["show", "--by-type"]], ids=" ".join)
def test_tables_fit_a_narrow_terminal_with_every_figure_whole(
    words: list[str], run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = {}
    for width in (200, 40):
        monkeypatch.setattr(console, "width", width)
        assert called(monkeypatch, *words, str(run)) == 0
        printed[width] = capsys.readouterr().out
    whole = ("note:", "Parquet:", "recalls of")  # lines that a terminal may wrap, so that they can be copied
    lines = [line for line in printed[40].splitlines() if not line.startswith(whole)]
    assert max(map(len, lines)) <= 40
    figures = {
        width: sorted(re.findall(r"(?<![\d.])\d\.\d{3}(?!\d)", text)) for width, text in printed.items()
    }
    assert figures[40] == figures[200]


def test_colours_are_for_terminals_and_no_color_is_obeyed() -> None:
    words = [str(PALIMPSEST), "--help"]
    assert COLOUR.search(in_a_terminal(80, words))
    assert not COLOUR.search(in_a_terminal(80, words, NO_COLOR="1"))
    assert "\x1b" not in palimpsest("--help").stdout, "a log has none"
    assert COLOUR.search(palimpsest("--help", FORCE_COLOR="1").stdout)


COMPLETED = [
    ("fetch long", ["longmemeval-oracle", "longmemeval-s"]),
    ("run --benchmark loc", ["locomo", "locomo-adversarial"]),
    ("run --systems flat,gr", ["flat,graph"]),
    ("run --models off", ["offline"]),
    ("run forg", ["forgetting"]),
    ("list col", ["columns"]),
    ("list columns frontier_", ["frontier_rows", "frontier_sizes", "frontier_chance"]),
    ("export run --table metr", ["metrics"]),
    ("reju", ["rejudge"]),
    ("cache ver", ["verify"]),
    ("status results/runs/x", ["results/runs/x1/", "results/runs/x2/"]),
    ("show ne", ["near/"]),
]


@pytest.mark.parametrize(("typed", "completed"), COMPLETED, ids=[typed for typed, _ in COMPLETED])
def test_a_shell_completes_commands_and_names(typed: str, completed: list[str], tmp_path: Path) -> None:
    for folder in ("results/runs/x1", "results/runs/x2", "near"):
        (tmp_path / folder).mkdir(parents=True)
    words = f"palimpsest {typed}"
    variables = environment(
        _PALIMPSEST_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
    )
    done = subprocess.run([PALIMPSEST], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.stdout.split()[: len(completed)] == completed, done.stderr


def test_the_script_for_a_shell_asks_this_program() -> None:
    script = subprocess.run(
        [PALIMPSEST], env=environment(_PALIMPSEST_COMPLETE="source_bash"), capture_output=True, text=True
    )
    assert "_PALIMPSEST_COMPLETE=complete_bash" in script.stdout
