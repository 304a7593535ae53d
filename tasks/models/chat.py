"""Chat models behind the gateway."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from memory.errors import CallFailed
from memory.models import ChatRequest, Reply
from tasks.models.budget import Spent
from tasks.models.calls import Call, Payload
from tasks.models.gateway import Gateway, Place
from tasks.models.ledger import Entry, Outcome, Reservation
from tasks.models.providers import ChatProvider, ChatSettings, ProviderFault, RawReply, TransportFault
from tasks.models.store import Damaged
from tasks.models.worst import chat_worst

T = TypeVar("T")
_RAW_REPLY = TypeAdapter(RawReply)

# `unknown` is a server that does not say how it came to its end.
_FINISHED = frozenset({"stop", "unknown"})
# What is computed in this process is stored by the chunk: a crash costs no more than computing a chunk again.
_CHUNK = 256
_READERS_BREAK_WITH = (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True)
class _Ask:
    """A request on its way through the gateway."""

    task: str
    payload: Payload


@dataclass(frozen=True, slots=True)
class _Found:
    """A raw reply from the store or from the provider, and what getting it took."""

    raw: RawReply
    replayed: bool
    latency_ms: float = 0.0
    retries: int = 0
    held: Reservation | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """A call that `ask` would buy next.

    Attributes:
        call: The call.
        worst: Its row in the ledger if it is sent and no reply is ever seen.
        read: The asker's reader, which says whether a reply is usable.
    """

    call: Call
    worst: Entry
    read: Callable[[str], object]


class GatewayChat:
    """A `memory.models.ChatModel`: a reply is bought once, an unusable one asked for again, boundedly.

    The raw reply is stored before it is read, and read anew at each replay: a reader that has learned to read
    more makes use of replies that were bought before. Thread-safe, if the readers are.
    """

    def __init__(
        self, gateway: Gateway, provider: ChatProvider, settings: ChatSettings, place: Place, repeat: int = 0
    ) -> None:
        self.gateway = gateway
        self._provider = provider
        self._settings = settings
        self._place = place
        self._repeat = repeat

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self._provider.alias}:{self._settings.model}"

    def ask(self, request: ChatRequest, read: Callable[[str], T]) -> Reply[T]:
        """See `memory.models.ChatModel.ask`."""
        return self._settle(self._prepare(request), read)

    def ask_many(
        self, requests: Sequence[ChatRequest], read: Callable[[str], T]
    ) -> list[Reply[T] | CallFailed]:
        """See `memory.models.ChatModel.ask_many`. Stored replies come first, without threads."""
        asks = [self._prepare(request) for request in requests]
        settled = self._replay(asks, read)
        if self._provider.local and not self.gateway.limits.budget.limits:
            for start in range(0, len(asks), _CHUNK):
                rows = [row for row in range(len(asks))[start : start + _CHUNK] if row not in settled]
                settled |= self._compute(asks, rows, read)

        def settle(row: int) -> Reply[T] | CallFailed:
            try:
                return self._settle(asks[row], read)
            except CallFailed as failure:
                return failure

        missing = [row for row in range(len(asks)) if row not in settled]
        rest = dict(zip(missing, self.gateway.each(settle, missing, self._provider.local), strict=True))
        return [settled[row] if row in settled else rest[row] for row in range(len(asks))]

    def missing(self, request: ChatRequest, read: Callable[[str], object]) -> Missing | None:
        """The call that `ask` would buy next, or none if what is stored settles the request; nothing is entered."""
        ask = self._prepare(request)
        attempt = asked = 0
        while asked <= self._reasks:
            call = self._call(ask, attempt)
            raw = self._stored(call.id)
            if raw is None:
                return Missing(call, self._worst(ask, call), read)
            if unusable(raw, read) is None:
                return None
            attempt += 1
            asked += self._counts(call)
        return None

    def _prepare(self, request: ChatRequest) -> _Ask:
        return _Ask(request.task, self._provider.payload(request, self._settings))

    def _call(self, ask: _Ask, attempt: int) -> Call:
        return Call(self._provider.alias, self._settings.model, ask.payload, attempt, self._repeat)

    def _stored(self, call_id: str) -> RawReply | None:
        return self.gateway.store.read_reply(call_id, _RAW_REPLY.validate_python)

    def _replay(self, asks: Sequence[_Ask], read: Callable[[str], T]) -> dict[int, Reply[T]]:
        """Usable first replies that the store has, by row."""
        replies: dict[int, Reply[T]] = {}
        entries: list[Entry] = []
        for row, ask in enumerate(asks):
            call = self._call(ask, 0)
            raw = self._stored(call.id)
            if raw is not None:
                result, entry = self._judge(ask, call, _Found(raw, replayed=True), read)
                entries.append(entry)
                if isinstance(result, Reply):
                    replies[row] = result
        self.gateway.ledger.enter(entries)
        return replies

    def _compute(
        self, asks: Sequence[_Ask], rows: Sequence[int], read: Callable[[str], T]
    ) -> dict[int, Reply[T]]:
        """Usable first replies of a local provider, by row, kept together; it may leave rows out."""
        found: dict[str, _Found] = {}
        for row in rows:
            call, begun = self._call(asks[row], 0), time.perf_counter()
            if call.id in found or self._stored(call.id) is not None:
                continue
            try:
                self.gateway.check_unbought(self._place, [call.id])
                raw = self._provider.complete(call.model, call.payload, self.gateway.limits.chat.deadline)
            except (ProviderFault, Damaged):
                continue  # met again, and reported, when the row is asked for singly
            found[call.id] = _Found(raw, replayed=False, latency_ms=_milliseconds(begun))
        self.gateway.store.keep_replies({call_id: asdict(item.raw) for call_id, item in found.items()})
        judged = {}
        for row in rows:
            call = self._call(asks[row], 0)
            if call.id in found:
                judged[row] = self._judge(asks[row], call, found.pop(call.id), read)
        self.gateway.ledger.enter([entry for _, entry in judged.values()])
        return {row: result for row, (result, _) in judged.items() if isinstance(result, Reply)}

    def _settle(self, ask: _Ask, read: Callable[[str], T]) -> Reply[T]:
        """Go through the attempts, stored ones first, until a reply is usable.

        A stored attempt counts as an ask, so that a bad call stays bad at no cost; with `retry_failed` it
        does not.
        """
        attempt = asked = 0
        reason = ""
        while True:
            call = self._call(ask, attempt)
            with self.gateway.buyers.hold(call.id):
                raw = self._stored(call.id)
                if raw is None and asked > self._reasks:
                    raise CallFailed(
                        f"no usable reply in {attempt} attempt{'s'[: attempt > 1]}: {reason}", final=True
                    )
                found = self._buy(ask, call) if raw is None else _Found(raw, replayed=True)
            result, entry = self._judge(ask, call, found, read)
            self.gateway.enter([entry], found.held)
            if isinstance(result, Reply):
                return result
            reason = result
            attempt += 1
            asked += not found.replayed or self._counts(call)

    @property
    def _reasks(self) -> int:
        return (
            0 if self._provider.local else self.gateway.limits.reasks
        )  # offline, the next would say the same

    def _counts(self, call: Call) -> bool:
        """Whether a stored attempt counts as an ask."""
        return not self.gateway.limits.retry_failed or call.id in self.gateway.collected

    def _buy(self, ask: _Ask, call: Call) -> _Found:
        self.gateway.check_unbought(self._place, [call.id])
        begun = time.perf_counter()
        try:
            bought = self.gateway.buy(
                call.provider,
                lambda seconds: self._provider.complete(call.model, call.payload, seconds),
                self.gateway.limits.chat,
                [self._worst(ask, call)],
                self._provider.local,
            )
        except ProviderFault as fault:
            self.gateway.ledger.enter([self._failure(ask, call, fault, _milliseconds(begun))])
            raise CallFailed(fault.reason, final=not isinstance(fault, TransportFault)) from None
        self.gateway.store.keep_replies({call.id: asdict(bought.reply)})
        return _Found(bought.reply, False, _milliseconds(begun), bought.retries, bought.held)

    def _judge(
        self, ask: _Ask, call: Call, found: _Found, read: Callable[[str], T]
    ) -> tuple[Reply[T] | str, Entry]:
        """The usable reply, or why it is not usable; and its row for the ledger."""
        raw = found.raw
        try:
            value = _usable(raw, read)
        except ValueError as error:
            reason = _unreadable(error)
            outcome: Outcome = "replayed" if found.replayed else "unusable"
            return reason, self._entry(ask, call, found, outcome, reason)
        reply = Reply(value, raw.text, call.id, call.attempt, found.replayed, raw.model)
        return reply, self._entry(ask, call, found, "replayed" if found.replayed else "paid", None)

    def _entry(self, ask: _Ask, call: Call, found: _Found, outcome: Outcome, reason: str | None) -> Entry:
        raw = found.raw
        row = self._row(ask, call, outcome, reason, found.latency_ms, found.retries)
        if found.replayed:
            return replace(row, model_returned=raw.model, usd=0.0, flags=_remarks(row, raw))
        prices = self.gateway.limits.prices
        dollars = prices.usd(
            call.provider, call.model, raw.prompt_tokens, raw.completion_tokens, raw.cached_tokens
        )
        return billed(row, raw, dollars, lambda: chat_worst(call.provider, call.model, call.payload, prices))

    def _worst(self, ask: _Ask, call: Call) -> Entry:
        """The call's row if it is sent and no reply is ever seen."""
        worst = chat_worst(call.provider, call.model, call.payload, self.gateway.limits.prices)
        row = self._row(ask, call, "lost", "sent, and the process ended before a reply was seen")
        return replace(row, charged_tokens=worst.tokens, charged_usd=worst.usd)

    def _failure(self, ask: _Ask, call: Call, fault: ProviderFault, latency_ms: float) -> Entry:
        return self._row(ask, call, "failed", fault.reason, latency_ms, fault.retries)

    def _row(
        self,
        ask: _Ask,
        call: Call,
        outcome: Outcome,
        reason: str | None,
        latency_ms: float = 0.0,
        retries: int = 0,
    ) -> Entry:
        return Entry(
            run=self.gateway.run,
            stage=self._place.stage,
            condition=self._place.condition,
            call_id=call.id,
            provider=call.provider,
            model=call.model,
            model_returned=None,
            task=ask.task,
            attempt=call.attempt,
            repeat=call.repeat,
            outcome=outcome,
            reason=reason,
            latency_ms=latency_ms,
            retries=retries,
        )


def billed(row: Entry, raw: RawReply, dollars: float | None, worst: Callable[[], Spent]) -> Entry:
    """A bought call's row with what the provider says of it; where it says too little, the worst is charged."""
    charged = (raw.prompt_tokens or 0) + (raw.completion_tokens or 0), dollars
    if dollars is None or raw.prompt_tokens is None or raw.completion_tokens is None:
        most = worst()
        charged = most.tokens, most.usd
    return replace(
        row,
        model_returned=raw.model,
        prompt_tokens=raw.prompt_tokens,
        completion_tokens=raw.completion_tokens,
        cached_tokens=raw.cached_tokens,
        usd=dollars,
        charged_tokens=charged[0],
        charged_usd=charged[1],
        flags=(*row.flags, *_remarks(row, raw)),
    )


def _remarks(row: Entry, raw: RawReply) -> tuple[str, ...]:
    return ("model_differs",) if raw.model and not raw.model.startswith(row.model) else ()


def unusable(raw: RawReply, read: Callable[[str], object]) -> str | None:
    """Why a reply is of no use, or none if it is."""
    try:
        _usable(raw, read)
    except ValueError as error:
        return _unreadable(error)
    return None


def _usable(raw: RawReply, read: Callable[[str], T]) -> T:
    """What a reader makes of a reply.

    Raises:
        ValueError: If the reply is of no use, or a plug-in's reader breaks on it: it is paid for, and its row in the
            ledger must not be lost with the reader.
    """
    _check(raw)
    try:
        return read(raw.text)
    except _READERS_BREAK_WITH as error:
        raise ValueError(f"its reader breaks on it ({type(error).__name__})") from error


def _check(raw: RawReply) -> None:
    """Raise ValueError if there is nothing whole to read; the finish reason explains most, so it is first."""
    if raw.finish_reason not in _FINISHED:
        raise ValueError(f"finish_reason is {raw.finish_reason[:40]}")
    if raw.refusal:
        raise ValueError("the model refuses")
    if not raw.text.strip():
        raise ValueError("the reply is empty")


def _unreadable(error: ValueError) -> str:
    """A reader's complaint on one line. Pydantic's own message would quote the reply."""
    if isinstance(error, ValidationError):
        places = (f"{'.'.join(map(str, item['loc']))}: {item['type']}" for item in error.errors()[:3])
        return f"the reply has not the wanted shape ({'; '.join(places)})"[:300]
    return " ".join(str(error).split())[:300]


def _milliseconds(begun: float) -> float:
    return (time.perf_counter() - begun) * 1e3
