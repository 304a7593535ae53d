"""Paths that come through Prefect stay inside the project, unless it is said that they may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.errors import BadInput
from tasks.places import inside


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "project"
    home.mkdir()
    monkeypatch.chdir(home)
    return home


@pytest.mark.parametrize("path", ["results/store", "a/../b", "./x", "."])
def test_a_path_inside_is_taken_as_it_is(path: str) -> None:
    assert inside(Path(path), "store", outside=False) == Path(path)


def test_an_absolute_path_inside_is_taken(project: Path) -> None:
    assert inside(project / "results", "out", outside=False) == project / "results"


@pytest.mark.parametrize("path", ["..", "../other", "a/../../other", "/etc/passwd", "/"])
def test_a_path_outside_is_refused_by_its_parameters_name(path: str) -> None:
    with pytest.raises(BadInput, match=r"^data '.*': lies outside .* `outside`"):
        inside(Path(path), "data", outside=False)
    assert inside(Path(path), "data", outside=True) == Path(path)


def test_a_link_is_where_it_leads(project: Path, tmp_path: Path) -> None:
    (project / "link").symlink_to(tmp_path)
    (project / "loop").symlink_to(project / "loop")
    (project / "to_here").symlink_to(project)
    assert inside(Path("to_here/x"), "out", outside=False)
    for path in ("link", "link/x", "loop/x", "nul\0"):
        with pytest.raises(BadInput, match=r"^out "):
            inside(Path(path), "out", outside=False)
