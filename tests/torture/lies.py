"""Runs a study against a provider of whose answers three in ten are faults, and shows that nothing is lost by them.

    python -m tests.torture.lies --seed 1

The study must come to its end, its counts must add up with the provider's, each row that failed must say why, and a
second run against a sound provider must fill every hole, so that its tables are those of a run without faults.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pandas as pd

from tasks import context
from tasks.models.catalogue import BUNDLES
from tasks.models.gateway import Limits
from tasks.models.retries import Patience
from tests.flows.fake_llm import reply
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import FakeServer, inputs
from tests.torture.conversations import write_benchmark
from tests.torture.faults import all_faults
from tests.torture.injector import Given, Injector
from tests.torture.tables import LEDGER, differing

SYSTEMS = ("flat", "graph")
REASKS = 1
DEADLINE = 5.0

# Waits are short, so that it is quick, and bounds small, so that some calls fail for good and others for now.
_PATIENCE = Patience(deadline=DEADLINE, server=3, lost=1, first_wait=0.01, longest_wait=0.05)
BAD = ("failed", "unparsed", "unanswered")
LIMITS = partial(Limits, reasks=REASKS, chat=_PATIENCE, embed=Patience(first_wait=0.01, longest_wait=0.05))
SOUND = partial(Limits, reasks=REASKS)


@dataclass(frozen=True)
class Outcome:
    """What came of a study that was lied to.

    Attributes:
        status: How the run with faults ended.
        tables: What it left.
        given: What it was answered.
        differing: Files that do not say the same in the mended run and in the undisturbed one.
        mended: How the run without faults ended that followed on it.
    """

    status: str
    tables: dict[str, pd.DataFrame]
    given: list[Given]
    mended: str
    differing: list[str]

    def faults(self, questions: int) -> list[str]:
        """What is not as it must be, in words."""
        rows = questions * len(SYSTEMS)
        wrong: dict[str, object] = {
            f"{table} has {found} rows, not {rows}": found != rows for table, found in self._rows()
        }
        wrong |= {f"{table} has failed rows without a reason": found for table, found in self._unreasoned()}
        wrong |= {
            f"{what}: {ledger} in the ledger, {given} given": ledger != given
            for what, ledger, given in self.sums()
        }
        wrong |= {
            f"the run with faults ended {self.status}": self.status not in ("complete", "incomplete"),
            f"{self._most_asks} replies of no use to one request": self._most_asks > REASKS + 1,
            f"the mended run ended {self.mended}": self.mended != "complete",
            f"these files differ from the undisturbed run's: {', '.join(self.differing)}": self.differing,
        }  # fmt: skip
        return [words for words, holds in wrong.items() if holds]

    def _rows(self) -> list[tuple[str, int]]:
        return [(name, len(self.tables[name])) for name in ("recalls", "answers", "verdicts", "metrics")]

    def _unreasoned(self) -> list[tuple[str, bool]]:
        found = []
        for name in ("extractions", "recalls", "answers", "verdicts", "metrics"):
            table = self.tables[name]
            found.append((name, bool(table[table.status.isin(BAD)].reason.isna().any())))
        return found

    def sums(self) -> list[tuple[str, int, int]]:
        """What the ledger says and what was given, which must be equal, for chats and for texts to embed."""
        calls = self.tables["calls"]
        chats, texts = calls[calls.task != "embed"], calls[calls.task == "embed"]
        asked = chats[chats.outcome.isin(["paid", "unusable", "failed"])]
        endings = self.endings("chat")
        outcomes = Counter(chats.outcome)
        refused_or_lost = int(asked.retries.sum()) + outcomes["failed"]
        embedded = Counter(texts.outcome)
        spoilt, whole = self._embedded()
        return [
            ("chats sent", len(asked) + int(asked.retries.sum()), sum(endings.values())),
            ("chats with a reply of use", outcomes["paid"], endings["read"]),
            ("chats with a reply of no use", outcomes["unusable"], endings["unusable"]),
            ("chats refused or lost", refused_or_lost, endings["refused"] + endings["lost"]),
            ("chats lost", outcomes["lost"], endings["lost"]),
            ("texts with a vector of use", embedded["paid"], whole),
            ("texts with a vector of no use", embedded["unusable"], spoilt),
        ]

    def _embedded(self) -> tuple[int, int]:
        """Texts whose vector was spoilt, and texts whose vector was not."""
        # Where a row is missing, none can be told to be a text's own.
        spoilt = sum(
            len(inputs(given.request)) if given.fault.name == "one row missing" else 1
            for given in self.given
            if given.fault and given.kind == "embed" and given.ending == "unusable"
        )
        replied = [
            given for given in self.given if given.kind == "embed" and given.ending in ("read", "unusable")
        ]
        return spoilt, sum(len(inputs(given.request)) for given in replied) - spoilt

    def endings(self, of: Literal["chat", "embed"]) -> Counter[str]:
        """What was given, by its ending, to chats or to requests for vectors."""
        return Counter(given.ending for given in self.given if (given.kind == "embed") == (of == "embed"))

    @property
    def _most_asks(self) -> int:
        """Most replies of no use that one request was given."""
        bad = Counter(
            str(given.request.body)
            for given in self.given
            if given.ending == "unusable" and given.kind != "embed"
        )
        return max(bad.values(), default=0)

    def failed(self, final: bool) -> int:
        """Rows that failed in the run with faults, for good or for now."""
        return sum(
            int((self.tables[name].final == final).sum())
            for name in ("extractions", "recalls", "answers", "verdicts")
        )


def lie_to_a_study(folder: Path, seed: int, questions: int, share: float = 0.3) -> Outcome:
    """Run a study with a share of faults, once more without, and on another store without any."""
    data = folder / "conversations.json"
    write_benchmark(data, questions, sessions=2, turns=4)
    with FakeServer(dimensions=768) as server, asking(server):
        injector = Injector(reply, all_faults(DEADLINE + 1), share, seed)
        server.always(injector)
        with mock.patch.object(context, "Limits", LIMITS):
            first = _run(folder / "lied_to", data)
            tables = {path.stem: pd.read_parquet(path) for path in first.folder.glob("*.parquet")}
        server.always(reply)
        with mock.patch.object(context, "Limits", SOUND):
            mended = _run(folder / "lied_to", data, retry_failed=True)
            calm = _run(folder / "calm", data)
    # The ledger tells of every reply of no use.
    others = [name for name in differing(mended.folder, calm.folder) if name != LEDGER]
    return Outcome(first.run.status, tables, injector.given, mended.run.status, others)


def _run(folder: Path, data: Path, **fields: Any) -> Watched:
    folder.mkdir(exist_ok=True)
    study = {"benchmark": "longmemeval-s", "conditions": conditions(*SYSTEMS)}
    return run_in_loop(folder, data=data, models=BUNDLES["published"].model_dump(), **study, **fields)


@contextmanager
def asking(server: FakeServer) -> Iterator[None]:
    """The environment of a process whose providers are the fake."""
    keys = {
        "OPENAI_API_KEY": "sk-fake",
        "OPENAI_BASE_URL": server.openai,
        "OLLAMA_HOST": server.ollama,
        "NO_PROXY": "127.0.0.1",
    }
    with mock.patch.dict(os.environ, keys):
        yield


def summary(outcome: Outcome, seconds: float) -> str:
    """What was given, by fault, and what came of it."""
    given = Counter("good" if each.fault is None else each.fault.name for each in outcome.given)
    lines = [f"{name:<32}{number:>6}" for name, number in given.most_common()]
    sums = [f"{what:<32}{ledger:>6}{given:>6}" for what, ledger, given in outcome.sums()]
    return "\n".join(
        [
            *lines,
            f"{'':<32}{'ledger':>6}{'given':>6}",
            *sums,
            f"the run ended {outcome.status}; rows failed for now: {outcome.failed(False)}, for good: "
            f"{outcome.failed(True)}",
            f"without faults it ended {outcome.mended}; files that differ from an undisturbed run's: "
            f"{len(outcome.differing)}; {seconds:.0f} s",
        ]
    )


def main() -> int:
    """Lie to a study as the command line says; the exit code is 1 if anything is not as it must be."""
    parser = argparse.ArgumentParser(description="Run a study against a provider that lies.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", type=int, default=40)
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="palimpsest-torture-") as folder:
        outcome = lie_to_a_study(Path(folder), options.seed, options.questions)
    print(summary(outcome, time.monotonic() - begun))
    faults = outcome.faults(options.questions)
    for fault in faults:
        print(f"WRONG: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
