"""What a shell completes: names of benchmarks, bundles, systems, runs, and of what can be listed.

The shell asks on every Tab, so that each function imports only what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_RUNS = Path("results/runs")
LISTED = ("systems", "benchmarks", "models", "policies", "tables", "columns")


def benchmarks(incomplete: str) -> list[str]:
    """Names of benchmarks."""
    from tasks.benchmarks import BENCHMARKS

    return _beginning(BENCHMARKS, incomplete)


def bundles(incomplete: str) -> list[str]:
    """Names of bundles of models."""
    from tasks.models.catalogue import BUNDLES

    return _beginning(BUNDLES, incomplete)


def systems(incomplete: str) -> list[str]:
    """Names of memory systems; the last one of a comma-separated list is completed."""
    from memory.systems import names

    given, comma, last = incomplete.rpartition(",")
    return [f"{given}{comma}{name}" for name in _beginning(names(), last)]


def studies(incomplete: str) -> list[str]:
    """Names of studies."""
    from tasks.kinds import KINDS

    return _beginning(KINDS, incomplete)


def listed(incomplete: str) -> list[str]:
    """What `palimpsest list` can list."""
    return _beginning(LISTED, incomplete)


def tables(incomplete: str) -> list[str]:
    """Names of the tables of a run."""
    from results.columns import documented

    return _beginning(documented(), incomplete)


def runs(incomplete: str) -> list[str]:
    """Runs where they land by default, and folders."""
    typed = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    folders = [f"{path}/" for path in typed.glob("*") if path.is_dir() and not path.name.startswith(".")]
    known = [f"{path}/" for path in _RUNS.glob("*")]
    return sorted(_beginning({*known, *folders}, incomplete))


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
