"""A disk that is full, or may not be written, ends a run in one clear line, and costs nothing that was bought."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.models.pace import Ceilings
from tests.flows.fake_llm import in_the_place_of_providers
from tests.flows.study_in_loop import run_in_loop
from tests.flows.test_what_the_disk_loses import STUDY, said
from tests.tasks.models.fakes import FakeServer

ROOT = Path(__file__).parents[2]
# As the command line does, but with no Prefect, whose own database would meet the limit, too.
SCRIPT = """
import sys
from pathlib import Path
from memory.errors import BadInput, CallRefused
from results.errors import DiskFull
from tests.flows.study_in_loop import run_in_loop
from tests.flows.test_what_the_disk_loses import STUDY

try:
    run_in_loop(Path(sys.argv[1]), **STUDY)
except (CallRefused, DiskFull) as error:
    sys.exit(f"stopped: {error}")
except BadInput as error:
    sys.exit(f"error: {error}")
"""


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with pytest.MonkeyPatch.context() as patch, in_the_place_of_providers(patch) as fake:
        yield fake


@pytest.fixture(scope="module")
def undisturbed(server: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the tables of an undisturbed run say, and how many requests it took."""
    before = server.count()
    run = run_in_loop(tmp_path_factory.mktemp("undisturbed"), **STUDY)
    return {"said": said(run.folder), "requests": server.count() - before}


def run(
    folder: Path, *, most: int | None = None, bound_by_modes: bool = False
) -> subprocess.CompletedProcess[str]:
    """The study in a process of its own; no file that it writes may grow beyond `most` bytes.

    `bound_by_modes` takes away root's right to write where modes forbid it.
    """
    drop = bound_by_modes and os.geteuid() == 0
    without_root = ["setpriv", "--bounding-set", "-dac_override", "--"] if drop else []

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return subprocess.run(
        [
            *without_root,
            sys.executable,
            "-c",
            SCRIPT,
            str(folder),
        ],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        timeout=300,
    )


def test_a_disk_that_fills_up_is_named_with_the_remedy_and_loses_only_calls_in_flight(
    server: FakeServer, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    before = server.count()
    ended = run(tmp_path, most=900_000)
    assert ended.returncode == 1
    (line,) = ended.stderr.strip().splitlines()
    assert line.startswith(f"stopped: {tmp_path}/store/")
    assert "make room" in line
    assert "what is bought is kept" in line
    again = run_in_loop(tmp_path, **STUDY)
    assert again.run.status == "complete"
    assert said(again.folder) == undisturbed["said"]
    assert server.count() - before <= undisturbed["requests"] + Ceilings().max_concurrency


def test_a_disk_that_is_full_when_a_run_is_made_anew_is_named_and_nothing_is_bought_again(
    server: FakeServer, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    """The store is whole already; nothing is written but the ledger's notes and the run's parts."""
    run_in_loop(tmp_path, **STUDY)
    shutil.rmtree(tmp_path / "run")
    before = server.count()
    ended = run(tmp_path, most=9_000)
    (line,) = ended.stderr.strip().splitlines()
    assert line.startswith(f"stopped: {tmp_path}/")
    assert "make room on" in line
    assert said(run_in_loop(tmp_path, **STUDY).folder) == undisturbed["said"]
    assert server.count() == before


def test_the_command_line_ends_with_code_3_on_a_full_disk_and_the_run_goes_on_when_there_is_room(
    server: FakeServer, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    """A file system of its own, in a name space of its own: it is gone with the processes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "study.toml").write_text("limit = 4\nresamples = 100\n")
    (tmp_path / "again.py").write_text(SCRIPT)
    words = f"run --study {tmp_path}/study.toml --models published --systems flat,graph,bm25 --store store --out run"
    script = f"""
        mount -t tmpfs -o size=700k none {disk} || exit 77
        cd {disk}
        {sys.executable} -m flows.cli {words} >{tmp_path}/out 2>{tmp_path}/error
        echo $? >{tmp_path}/code
        mount -o remount,size=100m {disk}
        {sys.executable} {tmp_path}/again.py {disk} && cp -r run {tmp_path}/run
    """
    shell = os.environ | {"PYTHONPATH": str(ROOT), "PREFECT_HOME": str(tmp_path / "prefect")}
    before = server.count()
    command = ["unshare", "-m", "sh", "-c", script]
    ended = subprocess.run(command, env=shell, capture_output=True, text=True, check=False, timeout=300)
    if not (tmp_path / "code").exists():
        pytest.skip(f"no file system may be mounted here: {ended.stderr.strip()}")
    assert (tmp_path / "code").read_text().strip() == "3"
    told = (tmp_path / "error").read_text().splitlines()
    assert told[0].startswith("stopped: ")
    assert str(disk) in told[0]
    assert "make room" in told[0]
    assert ended.returncode == 0, ended.stderr
    assert said(tmp_path / "run") == undisturbed["said"]
    assert server.count() - before <= undisturbed["requests"] + Ceilings().max_concurrency


@pytest.mark.parametrize("name", ["store", "run"])
def test_a_folder_that_may_not_be_written_is_named_with_the_option_and_nothing_is_sent(
    name: str, server: FakeServer, tmp_path: Path
) -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may write anywhere, and setpriv is not here to take that away")
    (tmp_path / name).mkdir(mode=0o555)
    before = server.count()
    ended = run(tmp_path, bound_by_modes=True)
    (line,) = ended.stderr.strip().splitlines()
    assert line.startswith(f"error: {tmp_path / name}: cannot be written")
    assert ("--store" if name == "store" else "--out") in line
    assert server.count() == before


def test_a_store_that_turns_read_only_is_named_and_the_run_goes_on_when_it_may_be_written(
    server: FakeServer, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may write anywhere, and setpriv is not here to take that away")
    first = run_in_loop(tmp_path, **STUDY)
    shutil.rmtree(first.folder / "parts")
    for file in (tmp_path / "store").glob("cache.db*"):
        file.chmod(0o444)
    before = server.count()
    ended = run(tmp_path, bound_by_modes=True)
    (line,) = ended.stderr.strip().splitlines()
    assert line.startswith(f"error: {tmp_path}/store/cache.db cannot be written")
    for file in (tmp_path / "store").glob("cache.db*"):
        file.chmod(0o644)
    assert said(run_in_loop(tmp_path, **STUDY).folder) == undisturbed["said"]
    assert server.count() == before
