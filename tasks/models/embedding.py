"""Embedding models behind the gateway."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memory.errors import BudgetExhausted, CallFailed
from memory.models import Embedded, Vectors
from memory.tokens import count, cut, sendable
from tasks.models.calls import Call
from tasks.models.gateway import Bought, Gateway, Place
from tasks.models.ledger import Entry, Outcome
from tasks.models.providers import EmbedProvider, EmbedSettings, RawVectors, RequestRejected, TransportFault
from tasks.models.store import Damaged
from tasks.models.worst import embed_worst

BLANK = "blank text"


@dataclass(frozen=True, slots=True)
class _Input:
    """A distinct text as it is sent."""

    call_id: str
    text: str
    was_cut: bool


@dataclass(slots=True)
class _Batch:
    """What became of a batch: vectors and failures by call id, and what has kept it from its provider, if anything."""

    vectors: dict[str, Vectors] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    undelivered: CallFailed | None = None

    def lacks(self, call_id: str) -> bool:
        """Whether it is not known what becomes of a call."""
        return call_id not in self.vectors and call_id not in self.failures

    def add(self, other: _Batch) -> None:
        self.vectors |= other.vectors
        self.failures |= other.failures
        self.undelivered = other.undelivered or self.undelivered


class GatewayEmbedder:
    """A `memory.models.Embedder`: a distinct text is embedded once, a bad one fails alone. Thread-safe."""

    def __init__(
        self, gateway: Gateway, provider: EmbedProvider, settings: EmbedSettings, place: Place
    ) -> None:
        self._gateway = gateway
        self._provider = provider
        self._settings = settings
        self._place = place

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self._provider.alias}:{self._settings.model}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._settings.dimensions

    def embed(self, texts: Sequence[str]) -> Embedded:
        """See `memory.models.Embedder.embed`. Vectors are stored as they came, and scaled here.

        Raises:
            CallFailed: After everything was asked for, if a fault of transport, the budget, or damage to the store has
                left a text without its vector: whatever is built without it would be built anew when it comes.
        """
        distinct = {text: self._input(text) for text in dict.fromkeys(texts) if text.strip()}
        inputs = {item.call_id: item for item in distinct.values()}
        result = self._replay(inputs)
        missing = [item for call_id, item in inputs.items() if result.lacks(call_id)]
        if missing:
            # One buyer at a time for a model: whoever waits finds in the store what the other has bought.
            with self._gateway.buyers.hold(f"embed {self.name}"):
                result.add(self._replay({item.call_id: item for item in missing}))
                batches = list(self._batches([item for item in missing if result.lacks(item.call_id)]))
                for batch in self._gateway.each(self._buy, batches, self._provider.local):
                    result.add(batch)
                self._gateway.without_vector |= result.failures
        if result.undelivered is not None:
            raise result.undelivered
        return self._lay_out(texts, distinct, result)

    def stored(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """The vectors of texts as `embed` gives them, as far as the store has them, and how many it has not.

        Nothing is bought. A text without its vector has a row of zeros.
        """
        inputs = [self._input(text) for text in texts]
        found = self._replay({item.call_id: item for item in inputs}).vectors
        vectors = np.zeros((len(texts), self._settings.dimensions), np.float32)
        for row, item in enumerate(inputs):
            vectors[row] = found.get(item.call_id, 0.0)
        return scaled(vectors), sum(item.call_id not in found for item in inputs)

    def _input(self, text: str) -> _Input:
        sent, was_cut = cut(sendable(text), self._settings.max_tokens)
        payload = self._provider.embed_payload(sent, self._settings)
        return _Input(Call(self._provider.alias, self._settings.model, payload).id, sent, was_cut)

    def _replay(self, inputs: Mapping[str, _Input]) -> _Batch:
        vectors = self._gateway.store.vectors(list(inputs), self._usable)
        self._gateway.ledger.enter([self._entry(inputs[call_id], "replayed", usd=0.0) for call_id in vectors])
        known = self._gateway.without_vector
        return _Batch(vectors, {call_id: known[call_id] for call_id in inputs if call_id in known})

    def _usable(self, kept: Vectors) -> Vectors:
        vector, defect = _vector(kept, self._settings.dimensions)
        if defect:
            raise ValueError(defect)
        return vector

    def _batches(self, inputs: Sequence[_Input]) -> Iterator[list[_Input]]:
        """Texts of like length together: little padding, and over-long ones among themselves."""
        batch: list[_Input] = []
        tokens = 0
        for item in sorted(inputs, key=lambda item: (len(item.text), item.text)):
            length = len(item.text) // 4 + 1
            if batch and (
                len(batch) == self._settings.batch or tokens + length > self._settings.batch_tokens
            ):
                yield batch
                batch, tokens = [], 0
            batch.append(item)
            tokens += length
        if batch:
            yield batch

    def _buy(self, batch: Sequence[_Input], last: bool = False) -> _Batch:
        """Embed a batch and store what is good. `last` says that a bad vector is not asked for again."""
        begun = time.perf_counter()
        try:
            self._gateway.check_unbought(self._place, [item.call_id for item in batch])
            bought = self._gateway.buy(
                self._provider.alias,
                lambda seconds: self._provider.embed([item.text for item in batch], self._settings, seconds),
                self._gateway.limits.embed,
                [self._worst(item) for item in batch],
                self._provider.local,
            )
        except RequestRejected as fault:
            if len(batch) == 1:
                return self._fail(batch, fault.reason, fault.retries)
            return self._halves(batch)
        except TransportFault as fault:
            self._fail(batch, fault.reason, fault.retries)
            return _Batch(undelivered=CallFailed(f"{self.name}: {fault.reason}", final=False))
        except (BudgetExhausted, Damaged) as refusal:
            return _Batch(undelivered=refusal) if len(batch) == 1 else self._halves(batch)
        return self._keep(batch, bought, (time.perf_counter() - begun) * 1e3, last)

    def _halves(self, batch: Sequence[_Input]) -> _Batch:
        """Buy the two halves of a batch, the first one first, so that only what cannot be had goes without."""
        middle = len(batch) // 2
        result = self._buy(batch[:middle])
        result.add(self._buy(batch[middle:]))
        return result

    def _keep(
        self, batch: Sequence[_Input], bought: Bought[RawVectors], latency_ms: float, last: bool
    ) -> _Batch:
        raw = bought.reply
        result = _Batch()
        bad: list[tuple[_Input, str]] = []
        for item, row in zip(batch, [*raw.rows, *([[]] * (len(batch) - len(raw.rows)))], strict=False):
            vector, defect = _vector(row, self._settings.dimensions)
            if defect:
                bad.append((item, defect))
            else:
                result.vectors[item.call_id] = vector
        if result.vectors:
            self._gateway.store.keep_vectors(list(result.vectors), np.stack(list(result.vectors.values())))
        defects = {item.call_id: defect for item, defect in bad}
        self._gateway.enter(self._bought(batch, bought, latency_ms, defects), bought.held)
        for item, defect in bad:
            if last:
                result.failures[item.call_id] = defect
            else:
                result.add(self._buy([item], last=True))
        return result

    def _bought(
        self,
        batch: Sequence[_Input],
        bought: Bought[RawVectors],
        latency_ms: float,
        defects: Mapping[str, str],
    ) -> list[Entry]:
        """A row for each text. The batch's tokens are shared out by our own count, its time evenly."""
        raw = bought.reply
        shares = _shares(raw.prompt_tokens, [item.text for item in batch])
        entries = []
        for row, (item, tokens) in enumerate(zip(batch, shares, strict=True)):
            defect = defects.get(item.call_id)
            entry = self._entry(
                item,
                "unusable" if defect else "paid",
                reason=defect,
                latency_ms=latency_ms / len(batch),
                retries=bought.retries if row == 0 else 0,
                read_in_part=row in raw.cut,
            )
            entries.append(replace(self._charged(entry, item, tokens), model_returned=raw.model))
        return entries

    def _charged(self, entry: Entry, item: _Input, tokens: int | None) -> Entry:
        """The row with its tokens and dollars, as known, and as a budget counts them."""
        prices = self._gateway.limits.prices
        dollars = prices.usd(self._provider.alias, self._settings.model, tokens, 0, 0)
        charged = tokens, dollars
        if tokens is None or dollars is None:
            worst = embed_worst(self._provider.alias, self._settings.model, item.text, prices)
            charged = worst.tokens, worst.usd
        return replace(
            entry, prompt_tokens=tokens, usd=dollars, charged_tokens=charged[0], charged_usd=charged[1]
        )

    def _worst(self, item: _Input) -> Entry:
        """The row of a text that is sent and whose vector is never seen."""
        worst = embed_worst(
            self._provider.alias, self._settings.model, item.text, self._gateway.limits.prices
        )
        row = self._entry(item, "lost", reason="sent, and the process ended before a reply was seen")
        return replace(row, charged_tokens=worst.tokens, charged_usd=worst.usd)

    def _fail(self, batch: Sequence[_Input], reason: str, retries: int) -> _Batch:
        entries = [
            self._entry(item, "failed", reason=reason, retries=retries if row == 0 else 0)
            for row, item in enumerate(batch)
        ]
        self._gateway.ledger.enter(entries)
        return _Batch(failures={item.call_id: reason for item in batch})

    def _entry(
        self,
        item: _Input,
        outcome: Outcome,
        *,
        reason: str | None = None,
        usd: float | None = None,
        latency_ms: float = 0.0,
        retries: int = 0,
        read_in_part: bool = False,
    ) -> Entry:
        return Entry(
            run=self._gateway.run,
            stage=self._place.stage,
            condition=self._place.condition,
            call_id=item.call_id,
            provider=self._provider.alias,
            model=self._settings.model,
            model_returned=None,
            task="embed",
            attempt=0,
            repeat=0,
            outcome=outcome,
            reason=reason,
            usd=usd,
            latency_ms=latency_ms,
            retries=retries,
            flags=("input_cut",) if item.was_cut or read_in_part else (),
        )

    def _lay_out(self, texts: Sequence[str], distinct: Mapping[str, _Input], result: _Batch) -> Embedded:
        vectors = np.zeros((len(texts), self._settings.dimensions), np.float32)
        failures: dict[int, str] = {}
        for row, text in enumerate(texts):
            item = distinct.get(text)
            if item is None:
                failures[row] = BLANK
            elif item.call_id in result.vectors:
                vectors[row] = result.vectors[item.call_id]
            else:
                failures[row] = result.failures[item.call_id]
        return Embedded(scaled(vectors), failures)


def scaled(vectors: Vectors) -> Vectors:
    """The rows `(texts, dimensions)` at unit length, in place; rows of zeros stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, norms, out=vectors, where=norms > 0)
    return vectors


def _vector(row: Sequence[float] | Vectors, dimensions: int) -> tuple[Vectors, str | None]:
    """A row as a vector, and what is wrong with it, if anything is."""
    try:
        with np.errstate(over="ignore"):  # beyond float32 is an infinity, and said below
            vector = np.asarray(row, np.float32)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(0, np.float32), "the vector holds something that is no number"
    if vector.shape != (dimensions,):
        return vector, f"the vector has {vector.size} dimensions, not {dimensions}"
    if not np.isfinite(vector).all():
        return vector, "the vector holds NaN or an infinity"
    if not 0.0 < float(np.linalg.norm(vector)) < float("inf"):
        return vector, "the vector has no length"
    return vector, None


def _shares(total: int | None, texts: Sequence[str]) -> list[int | None]:
    """Integers that sum to the total, in proportion to the texts' own token counts."""
    if total is None:
        return [None] * len(texts)
    bounds = np.concatenate([[0], np.cumsum([count(text) + 1 for text in texts])])
    return [int(share) for share in np.diff(total * bounds // bounds[-1])]
