"""Puts a small package on the path as an installer would: its modules, and metadata made from its pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

RECENCY = Path(__file__).with_name("recency")


def install(package: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out `site` like a site-packages folder that holds the package, and look there first until the test ends."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for module in package.glob("*.py"):
        (site / module.name).write_bytes(module.read_bytes())
    metadata = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    header = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(header, encoding="utf-8")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
