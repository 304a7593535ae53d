"""The sample study made, made again from the store with its parts lost, and found complete; no Prefect."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from tests.flows.study_in_loop import run_in_loop


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        took = []
        for lost in (False, True, False):
            if lost:
                shutil.rmtree(Path(folder) / "run")
            begun = time.perf_counter()
            run_in_loop(Path(folder))
            took.append(time.perf_counter() - begun)
    first, replayed, found = took
    print(
        f"first run {first:.2f} s; parts lost, calls replayed {replayed:.2f} s; everything found {found:.2f} s"
    )
    print(f"replaying is {first / replayed:.1f} times, finding {first / found:.1f} times as fast as making")


if __name__ == "__main__":
    main()
