"""Kills a study again and again, and shows that it ends like one that nobody has touched.

    python -m tests.torture.crash 100 --seed 1

A real study runs in a process of its own against a fake provider that counts what it answers. It is killed with
SIGKILL, most often right after the provider's k-th reply, and started again with the same command. A kill may strike
before anything is bought (`start`), after the k-th reply, at once or some milliseconds later (`reply`), or as soon as
the n-th file has changed in the run folder (`file`); k and n are drawn from the seed and from what is left to do.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from flows.runners import WORKERS
from tasks.models.calls import Call
from tasks.models.pace import Ceilings
from tasks.models.store import Store
from tests.flows.fake_llm import reply
from tests.tasks.models.fakes import FakeServer, Request
from tests.torture.conversations import write_benchmark
from tests.torture.shell import Shell, prefect_server, shell
from tests.torture.tables import calls_of, differing, run_folder

Moment = Literal["start", "reply", "file"]

UNSETTLED = Ceilings().max_concurrency + WORKERS
"""Most requests that a process can have sent and not yet kept: the gateway's threads, and the stage's own."""

# A small part of the frontier: it is computed, not bought.
FORGETTING = """
study = "forgetting"
levels = [0.2, 0.5]
draws = 2
policies = [{ policy = "importance" }, { policy = "oldest" }]
"""

_QUIET = 0.05
_LONGEST_DELAY = 0.04


@dataclass(frozen=True)
class Killed:
    """One kill.

    Attributes:
        after: Replies that the provider had written whole since this start.
        in_flight: Calls sent since this start whose replies are not in the store; `requests` that carried them.
        again: Those of them that were answered whole, and so are bought again.
        paid_before: Whether a chat had been answered whole before the kill, in this start or in a former one.
    """

    moment: Moment
    after: int
    in_flight: int
    requests: int
    again: int
    paid_before: bool


@dataclass(frozen=True)
class Undisturbed:
    """The same study with nobody to disturb it: its run folder, its chats, and seconds until the first of them."""

    run: Path
    chats: int
    seconds_to_first: float


@dataclass
class Outcome:
    """What came of a study that was killed many times.

    Attributes:
        again: Calls that were answered whole more than once, each time after the first counted.
        differing: Files of the run that do not say what the undisturbed run's say.
        orphans: Processes that were left after a kill.
    """

    code: int = 0
    error: str = ""
    kills: list[Killed] = field(default_factory=list)
    answered: int = 0
    distinct: int = 0
    undisturbed_distinct: int = 0
    differing: list[str] = field(default_factory=list)
    orphans: int = 0

    @property
    def again(self) -> int:
        return self.answered - self.distinct

    @property
    def in_flight(self) -> int:
        return sum(kill.in_flight for kill in self.kills)

    @property
    def most_requests(self) -> int:
        return max((kill.requests for kill in self.kills), default=0)

    def faults(self, kills: int) -> list[str]:
        """What is not as it must be, in words."""
        wrong = {
            f"the last run ended with {self.code}: {self.error}": self.code != 0,
            f"{len(self.kills)} kills, not {kills}": len(self.kills) != kills,
            f"these files differ from the undisturbed run's: {', '.join(self.differing)}": self.differing,
            f"{self.distinct} distinct calls, undisturbed {self.undisturbed_distinct}": self.distinct
            != self.undisturbed_distinct,
            f"{self.again} calls bought again, {self.in_flight} were in flight": self.again > self.in_flight,
            f"{self.most_requests} requests were in flight at one kill": self.most_requests > UNSETTLED,
            f"{self.orphans} processes were left behind": self.orphans,
        }
        return [words for words, holds in wrong.items() if holds]


class Killer:
    """Starts the study's command and kills it, at moments drawn from a seed."""

    def __init__(
        self, user: Shell, server: FakeServer, words: list[str], calm: Undisturbed, seed: int
    ) -> None:
        self._user = user
        self._server = server
        self._words = words
        self._calm = calm
        self._random = random.Random(seed)
        self.outcome = Outcome()

    def kill(self, times: int) -> Outcome:
        """Kill it so often: a tenth at its first moments, an eighth while files are written, else after replies."""
        early, late = max(1, times // 10), max(1, times // 8)
        for number in range(times):
            left = times - late - number
            moment: Moment = "start" if number < early else "reply" if left > 0 and self._left else "file"
            if not self._strike(moment, max(1, left)):
                break
        return self.outcome

    @property
    def _left(self) -> int:
        """Chats that the study has still to buy."""
        bought = {call for r, _ in self._server.answered if "messages" in r.body for call in calls_of(r)}
        return self._calm.chats - len(bought)

    def _strike(self, moment: Moment, kills_left: int) -> bool:
        """Start it and kill it; false if it came to its end before."""
        sent, answered = len(self._server.requests), len(self._server.answered)
        if moment == "reply":
            k = 1 + int(self._random.random() * 2 * self._left / (kills_left + 1))
            delay = self._random.choice([0.0, self._random.uniform(0, _LONGEST_DELAY)])
            with self._after_replies(k, delay) as process:
                process.wait(timeout=600)
        elif moment == "start":
            process = self._user.start(*self._words)
            self._after_seconds(process, self._random.uniform(0.0, 0.7 * self._calm.seconds_to_first))
        else:
            process = self._user.start(*self._words)
            self._after_changes(process, self._random.randint(1, 40))
        self._quiet()
        if process.returncode != -signal.SIGKILL:
            self.outcome.code, self.outcome.error = process.returncode, self._user.error
            return False
        self.outcome.kills.append(self._killed(moment, sent, answered))
        self.outcome.orphans += len(self._user.left_over())
        return True

    @contextmanager
    def _after_replies(self, k: int, delay: float) -> Iterator[subprocess.Popen[bytes]]:
        victims: list[int] = []
        until = len(self._server.answered) + k

        def strike(_: Request) -> None:
            if victims and len(self._server.answered) >= until:
                time.sleep(delay)
                try:
                    os.kill(victims[0], signal.SIGKILL)
                except ProcessLookupError:
                    return

        self._server.on_answered = strike
        process = self._user.start(*self._words)
        victims.append(process.pid)
        yield process
        self._server.on_answered = lambda request: None

    def _after_seconds(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _after_changes(self, process: subprocess.Popen[bytes], n: int) -> None:
        folder, changes = self._user.folder / "results" / "runs", 0
        before = _files(folder)
        while process.poll() is None:
            now = _files(folder)
            changes += sum(before.get(path) != stamp for path, stamp in now.items())
            before = now
            if changes >= n:
                process.kill()
                process.wait()
            time.sleep(0.001)

    def _quiet(self) -> None:
        """Wait until the provider has dealt with all that the dead process had sent."""
        since = time.monotonic()
        while time.monotonic() - since < _QUIET:
            if self._server.under_way:
                since = time.monotonic()
            time.sleep(0.005)

    def _killed(self, moment: Moment, sent: int, answered: int) -> Killed:
        requests = self._server.requests[sent:]
        store = Store(self._user.folder / "results" / "store")
        lost = {call for request in requests for call in calls_of(request) if not _kept(store, call, request)}
        store.close()
        whole = [request for request, _ in self._server.answered[answered:]]
        return Killed(
            moment=moment,
            after=len(whole),
            in_flight=len(lost),
            requests=sum(not lost.isdisjoint(calls_of(request)) for request in requests),
            again=sum(call in lost for request in whole for call in calls_of(request)),
            paid_before=any("messages" in request.body for request, _ in self._server.answered),
        )


def _kept(store: Store, call: str, request: Request) -> bool:
    """Whether the store holds the reply to a call of a request to the fake."""
    model = request.body["model"]
    if "embed" in request.path:
        text = call.removeprefix("embed ")
        return bool(store.vectors([Call("ollama", model, {"input": text}).id]))
    payload = {name: value for name, value in request.body.items() if name != "model"}
    return store.reply(Call("openai", model, payload).id) is not None


def _files(folder: Path) -> dict[str, int]:
    """Files below a folder with the times of their last change, Prefect's log apart."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = Path(at, name)
            try:
                found[str(path)] = path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
    return {path: stamp for path, stamp in found.items() if not path.endswith("prefect.log")}


def words_of(data: Path, study: str) -> list[str]:
    """The command that is tortured."""
    given = ["--benchmark", "longmemeval-s", "--data", str(data), "--models", "published"]
    if study == "representation":
        return ["run", "representation", *given, "--systems", "flat,graph"]
    file = data.with_name("study.toml")
    file.write_text(FORGETTING, encoding="utf-8")
    return ["run", "forgetting", "--study", str(file), *given]


def undisturbed(folder: Path, api: str, words: list[str]) -> tuple[Undisturbed, int]:
    """Run the command on an empty store with nobody to disturb it; also gives the number of distinct calls."""
    with FakeServer(dimensions=768) as server, shell(folder, server, api) as user:
        server.always(reply)
        first: list[float] = []
        server.on_answered = lambda request: first.append(time.monotonic()) if not first else None
        begun = time.monotonic()
        code = user.run(*words)
        if code != 0:
            raise RuntimeError(f"the undisturbed run ends with {code}: {user.error}")
        chats = sum("messages" in request.body for request in server.requests)
        distinct = {call for request in server.requests for call in calls_of(request)}
        return Undisturbed(run_folder(folder), chats, first[0] - begun), len(distinct)


def torture(folder: Path, kills: int, seed: int, questions: int, study: str = "representation") -> Outcome:
    """Kill a study so often, let it end, and compare it with an undisturbed one on another empty store."""
    data = folder / "conversations.json"
    write_benchmark(data, questions)
    words = words_of(data, study)
    with prefect_server(folder / "prefect") as api:
        calm, distinct = undisturbed(folder / "undisturbed", api, words)
        with FakeServer(dimensions=768) as server, shell(folder / "killed", server, api) as user:
            server.always(reply)
            outcome = Killer(user, server, words, calm, seed).kill(kills)
            if len(outcome.kills) == kills:
                outcome.code = user.run(*words)
                outcome.error = user.error
            answered = Counter(call for request, _ in server.answered for call in calls_of(request))
    outcome.answered, outcome.distinct = answered.total(), len(answered)
    outcome.undisturbed_distinct = distinct
    outcome.differing = differing(run_folder(folder / "killed"), calm.run)
    return outcome


def summary(outcome: Outcome, seconds: float) -> str:
    """The outcome as a table, a row a kind of moment, with the sums below."""
    lines = [f"{'killed':<22}{'kills':>7}{'replies':>9}{'in flight':>11}{'again':>7}"]
    for moment in ("start", "reply", "file"):
        kills = [kill for kill in outcome.kills if kill.moment == moment]
        lines.append(
            f"{moment:<22}{len(kills):>7}{sum(k.after for k in kills):>9}"
            f"{sum(k.in_flight for k in kills):>11}{sum(k.again for k in kills):>7}"
        )
    paid = sum(kill.paid_before for kill in outcome.kills)
    return "\n".join(
        [
            *lines,
            f"after the first paid chat: {paid} of {len(outcome.kills)} kills; "
            f"most requests in flight at one kill: {outcome.most_requests}",
            f"calls answered: {outcome.answered}; distinct: {outcome.distinct}; bought again: {outcome.again}; "
            f"in flight at the kills: {outcome.in_flight}",
            f"files that differ: {len(outcome.differing)}; orphans: {outcome.orphans}; {seconds:.0f} s",
        ]
    )


def main() -> int:
    """Torture a study as the command line says; the exit code is 1 if anything is not as it must be."""
    parser = argparse.ArgumentParser(description="Kill a study again and again.")
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--study", choices=["representation", "forgetting"], default="representation")
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="palimpsest-torture-") as folder:
        outcome = torture(Path(folder), options.kills, options.seed, options.questions, options.study)
    print(summary(outcome, time.monotonic() - begun))
    faults = outcome.faults(options.kills)
    for fault in faults:
        print(f"WRONG: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
