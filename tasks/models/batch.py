"""Buying through a provider's batch interface: submitted once, waited for across restarts, collected into the store.

A call has the same id as when it is asked live, so that what one way has bought the other replays. Whoever waits may
be stopped at any time: the next run finds the batch by its record and goes on waiting. What a batch leaves unanswered
(it expired, was cancelled or failed) is submitted once more; then, and where an answer is an error, it is left to be
asked live. A provider that refuses a batch as a whole stops the run: nobody who asked for half the price should pay
the whole without having said so.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TypeVar

from memory.errors import BudgetExhausted, CallRefused
from tasks.models.batch_records import Submission, Submissions
from tasks.models.budget import Spent
from tasks.models.chat import Missing, billed, unusable
from tasks.models.gateway import Gateway
from tasks.models.ledger import Entry
from tasks.models.openai_batches import FULL, BatchState, OpenAIBatches
from tasks.models.providers import ProviderFault, RawReply, TransportFault
from tasks.models.retries import Patience, persist

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_SUBMITTING = "batches"
_TRIES = 2
_MOST_CALLS = 50_000
# Half of what OpenAI takes, so that a file and its copy on the way out fit into memory.
_MOST_BYTES = 100_000_000
# For an upload and all its retries.
_DEADLINE = 3_600.0

Answers = Mapping[str, RawReply | ProviderFault]


@dataclass(frozen=True, slots=True)
class Polling:
    """Seconds between looks at a batch: `first`, then longer each time, up to `longest`. The rest is for tests."""

    first: float = 5.0
    longest: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time


class BatchBuyer:
    """Buys calls to one provider in batches."""

    def __init__(
        self,
        gateway: Gateway,
        provider: OpenAIBatches,
        polling: Polling | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`tell` is told what is waited for, and the empty text when it is over."""
        self._gateway = gateway
        self._provider = provider
        self._polling = polling or Polling()
        self._tell = tell
        self._records = Submissions(gateway.store.folder)
        self._tries: Counter[str] = Counter()
        self._most_calls = _MOST_CALLS

    def buy(self, missing: Callable[[], Mapping[str, Missing]]) -> None:
        """Buy, round after round, until nothing is missing that a batch may still bring.

        Args:
            missing: The calls, by id, that are missing now; after a round, re-asks of unusable replies may be among
                them.

        Raises:
            CallRefused: If the provider refuses a batch, or cannot be reached for long.
        """
        try:
            self._collect_ended(missing)
            while True:
                found = missing()
                wanted = {name: call for name, call in found.items() if self._tries[name] < _TRIES}
                under_way = self._submit(wanted) if wanted else []
                if not under_way:
                    return
                for submission in under_way:
                    state = self._wait(submission)
                    if state is not None:
                        self._collect(submission, state, found)
        finally:
            self._tell("")

    # --- submitting --------------------------------------------------------------------------------------------

    def _submit(self, wanted: Mapping[str, Missing]) -> list[Submission]:
        """Submit what is in no batch yet; returns all submissions that hold wanted calls."""
        with self._gateway.buyers.hold(_SUBMITTING):
            self._recover()
            taken = {row.call_id for rows in self._gateway.ledger.in_batches().values() for row in rows}
            store = self._gateway.store
            fresh = [m for name, m in wanted.items() if name not in taken and store.reply(name) is None]
            for calls, lines in self._parts(fresh):
                if not self._send(calls, lines) or self._most_calls < _MOST_CALLS:
                    break  # the budget covers no more; or the provider's queue takes one at a time
            held = self._gateway.ledger.in_batches()
            return [
                submission
                for submission in self._records.all()
                if any(row.call_id in wanted for row in held.get(submission.owner, ()))
            ]

    def _recover(self) -> None:
        """Set right what processes left that ended while they submitted or collected."""
        held = self._gateway.ledger.in_batches()
        records = self._records.all()
        for owner in held.keys() - {submission.owner for submission in records}:
            self._gateway.enter(held[owner], owner)
        for submission in records:
            if submission.owner not in held:
                self._records.drop(submission)
            elif not submission.batch and submission.provider == self._provider.alias:
                batch = self._ask(partial(self._provider.find, submission.key))
                if batch is None:
                    self._forget(submission)
                else:
                    self._records.write(submission.model_copy(update={"batch": batch}))

    def _parts(self, calls: Sequence[Missing]) -> Iterator[tuple[list[Missing], list[bytes]]]:
        """The calls and their lines, file by file: one model each, and not too large."""
        for model in dict.fromkeys(missing.call.model for missing in calls):
            part: list[Missing] = []
            lines: list[bytes] = []
            size = 0
            for missing in calls:
                if missing.call.model != model:
                    continue
                line = self._provider.line(missing.call)
                if part and (len(part) == self._most_calls or size + len(line) > _MOST_BYTES):
                    yield part, lines
                    part, lines, size = [], [], 0
                part.append(missing)
                lines.append(line)
                size += len(line)
            yield part, lines

    def _send(self, calls: Sequence[Missing], lines: Sequence[bytes]) -> bool:
        """Submit as many calls, from the first on, as the budget covers; returns whether it covers all."""
        submission = Submission(
            key=uuid.uuid4().hex, provider=self._provider.alias, submitted=self._polling.clock()
        )
        self._records.write(submission)
        covered = self._hold([self._worst(missing) for missing in calls], submission)
        if not covered:
            self._records.drop(submission)
            return False
        self._tell(f"{covered:,} calls are being submitted to {self._provider.alias}")
        try:
            batch = self._create(lines[:covered], submission.key)
        except TransportFault as fault:  # it may be there: the record stays, and the next run looks
            raise CallRefused(f"{self._provider.alias}: a batch was not submitted: {fault.reason}") from None
        except ProviderFault as fault:
            self._forget(submission)
            raise CallRefused(
                f"{self._provider.alias} refuses a batch: {fault.reason}; without --batch the calls are asked live"
            ) from None
        self._records.write(submission.model_copy(update={"batch": batch}))
        return covered == len(calls)

    def _create(self, lines: Sequence[bytes], key: str) -> str:
        patience = self._patience()
        uploaded, _ = persist(lambda _: self._provider.upload(lines), patience)
        tried = False

        def create(_: float) -> str:
            nonlocal tried
            there = (
                self._provider.find(key) if tried else None
            )  # the lost reply may have been to a batch made
            tried = True
            return there or self._provider.create(uploaded, key)

        return persist(create, patience)[0]

    def _worst(self, missing: Missing) -> Entry:
        row = missing.worst
        dollars = (row.charged_usd or 0.0) * self._share(row)
        reason = "sent in a batch that was given up"
        return replace(row, charged_usd=dollars, flags=("batch",), reason=reason)

    def _share(self, row: Entry) -> float:
        """The share of a live call's price that one in a batch costs."""
        price = self._gateway.limits.prices.of(row.provider, row.model)
        return 1.0 if price is None else price.batch

    def _hold(self, rows: Sequence[Entry], submission: Submission) -> int:
        """Hold the worst case of as many calls, from the first on, as the budget covers; returns how many."""
        held, step = 0, len(rows)
        while step and held < len(rows):
            part = rows[held : held + step]
            try:
                reserved = self._gateway.ledger.reserve(part, self._gateway.limits.budget, submission.owner)
            except BudgetExhausted:
                reserved = None
            if reserved is None:
                step //= 2
            else:
                held += len(part)
        return held

    def _forget(self, submission: Submission) -> None:
        """What was never sent costs nothing."""
        self._gateway.ledger.release(submission.owner)
        self._records.drop(submission)

    # --- waiting and collecting --------------------------------------------------------------------------------

    def _collect_ended(self, missing: Callable[[], Mapping[str, Missing]]) -> None:
        """Collect all that has ended meanwhile, whoever sent it: it may hold a budget, and nobody else may come."""
        for submission in self._records.all():
            if submission.batch and submission.provider == self._provider.alias:
                with suppress(ProviderFault):  # who needs it meets the fault again, and says so
                    state = self._provider.state(submission.batch)
                    if state.ended:
                        self._collect(submission, state, missing())

    def _wait(self, submission: Submission) -> BatchState | None:
        """The state in which a batch ends; none if another process has collected it meanwhile."""
        wait = self._polling.first
        while self._records.has(submission):
            state = self._ask(lambda: self._provider.state(submission.batch), submission)
            if state.ended:
                return state
            progress = f"{state.done:,} of {state.total:,} calls" if state.total else "no counts yet"
            self._tell(f"{self._provider.alias} batch {state.id} is {state.status}: {progress}")
            self._polling.sleep(wait)
            wait = min(self._polling.longest, wait * 1.5)
        return None

    def _collect(self, submission: Submission, state: BatchState, missing: Mapping[str, Missing]) -> None:
        """Store what a batch has answered, and enter all its calls in the ledger; once, whoever comes first."""
        with self._gateway.buyers.hold(submission.owner):
            if not self._records.has(submission):
                return
            rows = self._gateway.ledger.in_batches().get(submission.owner, [])
            answers = self._answers(state, {row.call_id for row in rows}, submission)
            store = self._gateway.store
            replies = {name: asdict(raw) for name, raw in answers.items() if isinstance(raw, RawReply)}
            store.keep_replies({name: raw for name, raw in replies.items() if store.reply(name) is None})
            each_ms = max(0.0, self._polling.clock() - submission.submitted) * 1e3 / max(1, len(rows))
            entered = [replace(row, latency_ms=each_ms) for row in rows]
            entries = [self._entry(row, answers.get(row.call_id), state, missing) for row in entered]
            if state.code == FULL:
                entries = []  # it was never begun, and its calls are submitted again
            self._gateway.enter(entries, submission.owner)
            self._gateway.collected.update(replies)
            self._records.drop(submission)
        self._count_tries(state, rows, answers)
        try:
            self._provider.forget(state)
        except ProviderFault as fault:  # the provider deletes them by itself after a month
            _LOG.info("files of batch %s stay at %s: %s", state.id, self._provider.alias, fault.reason)

    def _answers(self, state: BatchState, asked: set[str], submission: Submission) -> Answers:
        """What a batch's results say of the calls that were asked in it; the first answer to each counts."""
        answers: dict[str, RawReply | ProviderFault] = {}
        strange: Counter[str] = Counter()
        for line in self._ask(lambda: list(self._provider.results(state)), submission):
            if line is None:
                strange["unreadable"] += 1
            elif line.call_id not in asked:
                strange["to calls that were never asked"] += 1
            elif line.call_id in answers:
                strange["to calls that were answered already"] += 1
            else:
                answers[line.call_id] = line.answer
        for what, number in strange.items():
            _LOG.warning("batch %s: %d lines are ignored: %s", state.id, number, what)
        return answers

    def _entry(
        self,
        row: Entry,
        answer: RawReply | ProviderFault | None,
        state: BatchState,
        missing: Mapping[str, Missing],
    ) -> Entry:
        """The ledger's row of a call that a batch has ended for; `row` is its worst case."""
        named = f"{self._provider.alias} batch {state.id}"
        if isinstance(answer, RawReply):
            asker = missing.get(row.call_id)
            reason = unusable(answer, asker.read if asker else str)
            tokens = (answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens)
            dollars = self._gateway.limits.prices.usd(row.provider, row.model, *tokens)
            bought = replace(row, outcome="unusable" if reason else "paid", reason=reason)
            worst = Spent(1, row.charged_tokens or 0, row.charged_usd or 0.0)
            return billed(
                bought, answer, None if dollars is None else dollars * self._share(row), lambda: worst
            )
        may_be_billed = state.status == "completed" if answer is None else answer.may_be_billed
        reason = (
            f"{named} is {state.status} without a result" if answer is None else f"{named}: {answer.reason}"
        )
        if may_be_billed:
            return replace(row, reason=reason)
        return replace(row, outcome="failed", reason=reason, charged_tokens=None, charged_usd=None)

    def _count_tries(self, state: BatchState, rows: Sequence[Entry], answers: Answers) -> None:
        """What has no reply is tried again, in smaller parts if the provider's queue was full.

        Raises:
            CallRefused: If the provider has refused the same calls twice.
        """
        if state.code == FULL and len(rows) > 1:
            self._most_calls = len(rows) // 2
            return
        for row in rows:
            answer = answers.get(row.call_id)
            if answer is None or isinstance(answer, TransportFault):
                self._tries[row.call_id] += 1
            elif isinstance(answer, ProviderFault):
                self._tries[row.call_id] = _TRIES
        if state.status == "failed" and any(self._tries[row.call_id] >= _TRIES for row in rows):
            raise CallRefused(
                f"{self._provider.alias} refuses its calls in batches, the last time as batch {state.id}"
                f" ({state.code or 'no code'}); without --batch they are asked live"
            )

    def _patience(self) -> Patience:
        return replace(self._gateway.limits.chat, deadline=_DEADLINE)

    def _ask(self, ask: Callable[[], T], submission: Submission | None = None) -> T:
        """Ask what may be asked any number of times.

        Raises:
            CallRefused: If there is no reply; what is under way stays so, and the same command goes on.
        """
        try:
            return persist(lambda _: ask(), self._patience())[0]
        except ProviderFault as fault:
            if submission is None:
                raise CallRefused(f"{self._provider.alias}: {fault.reason}") from None
            raise CallRefused(
                f"{self._provider.alias} batch {submission.batch}: {fault.reason};"
                f" delete {self._records.path(submission)} to give it up"
            ) from None
