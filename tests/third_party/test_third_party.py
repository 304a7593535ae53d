"""A memory of another project, in its own package of some fifty lines, through to the ranking table."""

from __future__ import annotations

import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from memory.errors import BadInput
from memory.protocol import MemorySystem
from memory.systems import find, names
from tests.flows.study_in_loop import conditions, run_in_loop
from tests.third_party.installing import RECENCY, install


@pytest.fixture
def recency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[MemorySystem]:
    site = tmp_path / "site"
    site.mkdir()
    install(RECENCY, site, monkeypatch)
    monkeypatch.delitem(sys.modules, "recency_memory", raising=False)
    return find("recency")


def test_it_is_not_there_before_its_package_is_installed() -> None:
    assert "recency" not in names()
    with pytest.raises(BadInput, match="no memory system is named recency"):
        find("recency")


def test_an_installed_package_adds_a_system(recency: type[MemorySystem]) -> None:
    assert distribution("palimpsest-recency").version == "1.0"
    assert "recency" in names()
    assert recency.__module__ == "recency_memory"


def test_it_is_ranked_beside_the_project_s_own(recency: type[MemorySystem], tmp_path: Path) -> None:
    study = run_in_loop(
        tmp_path, study="ranking", conditions=conditions("bm25", "recency"), resamples=100, sized_questions=0
    )
    ours = study.table("ranking").query("side == 'all' and condition == 'recency' and unit == 'session'")
    assert (ours["n"] == 11).all()
    mrr = ours[ours["metric"] == "mrr"].iloc[0]
    assert 0 < mrr["low"] <= mrr["mean"] <= mrr["high"] <= 1
    assert set(study.table("ranking_costs")["condition"]) == {"bm25", "recency"}
    ranks = study.table("ranks")
    assert (ranks["ranked"] == ranks["turns"]).all(), "its setting `ranked` is raised to the whole store"
    assert "| recency |" in (study.folder / "ranking_all.md").read_text(encoding="utf-8")
