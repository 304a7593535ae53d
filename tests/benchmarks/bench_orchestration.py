"""What Prefect costs a study: the same run through the command line and in a plain loop, fresh and then from the store.

    python -m tests.benchmarks.bench_orchestration [BENCHMARK DATA]

The command line's figures hold the start of Prefect's short-lived server and the report, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tasks.context import closed_models
from tasks.execute import in_loop
from tasks.kinds import make_study
from tasks.start import carry_out, start

SYSTEMS = ("flat", "graph")


def by_command(benchmark: str, data: str, folder: Path) -> float:
    """Seconds of `palimpsest run`, with a Prefect home of its own."""
    words = [
        "run",
        "--benchmark",
        benchmark,
        "--systems",
        ",".join(SYSTEMS),
        "--out",
        "run",
        "--store",
        "store",
    ]
    words += ["--data", data] if data else []
    environment = os.environ | {"PREFECT_HOME": str(folder / "prefect")}
    begun = time.perf_counter()
    command = [sys.executable, "-m", "flows.cli", *words]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def by_loop(benchmark: str, data: str, folder: Path) -> float:
    """Seconds of the same study without Prefect."""
    begun = time.perf_counter()
    study = make_study({"benchmark": benchmark, "conditions": [{"system": system} for system in SYSTEMS]})
    out, run = start(study, Path(data) if data else None, folder / "store", folder / "run")
    with closed_models():
        carry_out(out, run, in_loop)
    return time.perf_counter() - begun


def main(benchmark: str = "sample", data: str = "") -> None:
    """Print both ways' seconds, and Prefect's share, for a fresh run and for one whose calls are all stored."""
    data = str(Path(data).resolve()) if data else ""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        for what in ("fresh", "all calls stored"):
            loop, command = by_loop(benchmark, data, Path(one)), by_command(benchmark, data, Path(other))
            share = (command - loop) / command
            print(
                f"{what}: by command {command:.1f} s, in a loop {loop:.1f} s: Prefect and report {share:.0%}"
            )
            for folder in (one, other):
                shutil.rmtree(Path(folder) / "run")


if __name__ == "__main__":
    main(*sys.argv[1:])
