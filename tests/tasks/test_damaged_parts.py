"""A damaged part is found before it is used, set aside, told, and made again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from results.errors import TornTable
from tasks.damaged_parts import told
from tasks.stage import Artefact, FileRef, Made, Stage, Work, existing, perform

STAGE = Stage("s", 1, lambda _: Made({"t": pa.table({"x": [1, 2]})}, {"ok": 2}))


def work_in(folder: Path) -> Work:
    return Work(run=str(folder), store="", stage="s", batch="b", version=1, params={})


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))


def _truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "its checksum is wrong": _flip,
    "bytes instead of": _truncate,
    "it is missing": Path.unlink,
}


@pytest.mark.parametrize("fault", DAMAGE)
def test_a_damaged_file_is_set_aside_told_and_made_again(fault: str, tmp_path: Path) -> None:
    work = work_in(tmp_path)
    first = perform(STAGE, work)
    file = tmp_path / first.files["t"].path
    DAMAGE[fault](file)
    left = file.read_bytes() if file.exists() else None
    assert existing(work) is None
    quarantined = tmp_path / "quarantine" / "s" / file.name
    assert (quarantined.read_bytes() if quarantined.exists() else None) == left, "whole, as it was found"
    assert not file.exists()
    (line,) = told(tmp_path)
    assert file.name in line
    assert fault in line
    assert perform(STAGE, work) == existing(work) == first


@pytest.mark.parametrize("manifest", [b"", b'{"stage": "s", "fi', b"[]", b"\xff\xfe", b"{}" * 50_000])
def test_a_torn_manifest_is_set_aside_told_and_its_work_done_again(manifest: bytes, tmp_path: Path) -> None:
    work = work_in(tmp_path)
    first = perform(STAGE, work)
    work.manifest.write_bytes(manifest)
    assert existing(work) is None
    assert (tmp_path / "quarantine" / "s" / work.manifest.name).read_bytes() == manifest
    assert work.manifest.name in told(tmp_path)[0]
    assert perform(STAGE, work) == first


def test_a_manifest_of_an_older_version_has_no_checksum_and_is_read(tmp_path: Path) -> None:
    work = work_in(tmp_path)
    first = perform(STAGE, work)
    work.manifest.write_text(first.model_dump_json())
    assert existing(work) == first


def test_an_altered_count_in_a_manifest_is_seen(tmp_path: Path) -> None:
    work = work_in(tmp_path)
    perform(STAGE, work)
    text = work.manifest.read_text()
    assert '"ok": 2' in text
    work.manifest.write_text(text.replace('"ok": 2', '"ok": 3'))
    assert existing(work) is None
    assert work.manifest.name in told(tmp_path)[0]


def test_a_work_remembers_that_it_was_damaged_until_it_is_whole_again(tmp_path: Path) -> None:
    work = work_in(tmp_path)
    assert not work.was_damaged
    first = perform(STAGE, work)
    _truncate(tmp_path / first.files["t"].path)
    assert existing(work) is None
    assert work.was_damaged
    perform(Stage("s", 1, lambda _: Made({}, {"failed": 1, "pending": 1})), work)
    assert work.was_damaged, "rows are still missing"
    perform(STAGE, work)
    assert not work.was_damaged


def test_a_whole_part_is_read_once_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = work_in(tmp_path)
    perform(STAGE, work)
    assert existing(work) is not None
    reads: list[str] = []
    monkeypatch.setattr("hashlib.file_digest", lambda *_: reads.append("read"))
    assert existing(work) is not None
    assert reads == []


def _with_path(work: Work, path: str) -> Artefact:
    made = perform(STAGE, work)
    fields = json.loads(work.manifest.read_text())
    del fields["checksum"]  # whoever forges a manifest leaves it out, as old ones do
    fields["files"]["t"]["path"] = path
    work.manifest.write_text(json.dumps(fields))
    ref = FileRef(**{**made.files["t"].model_dump(), "path": path})
    return made.model_copy(update={"files": {"t": ref}})


@pytest.mark.parametrize("path", ["../secret", "/etc/hostname", "parts/../../secret", "a\0b", "link/secret"])
def test_a_manifest_that_names_a_file_outside_the_run_is_refused(path: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    (tmp_path / "secret").write_bytes(b"secret")
    run.mkdir()
    (run / "link").symlink_to(tmp_path)
    work = work_in(run)
    artefact = _with_path(work, path)
    with pytest.raises(TornTable, match="outside the run folder"):
        existing(work)
    with pytest.raises(TornTable, match="outside the run folder"):
        artefact.read(run, "t")
    assert (tmp_path / "secret").read_bytes() == b"secret"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_damage_in_a_folder_that_may_not_be_written_is_told_and_not_used(tmp_path: Path) -> None:
    work = work_in(tmp_path)
    first = perform(STAGE, work)
    _truncate(tmp_path / first.files["t"].path)
    work.manifest.parent.chmod(0o500)
    try:
        with pytest.raises(TornTable, match="cannot be moved"):
            existing(work)
    finally:
        work.manifest.parent.chmod(0o700)
