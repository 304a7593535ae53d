"""What calls are foreseen to take: sums with a least and a most, by stage, condition and model."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory.tokens import count
from tasks.models.calls import Payload
from tasks.models.catalogue import BATCHING
from tasks.models.prices import Prices
from tasks.models.worst import AROUND, knows_vocabulary, prompt_bound, text_bound

# What another vocabulary makes of a token of o200k_base.
_FEWER, _MORE = 0.8, 1.5
# Tokens around a message at the least.
_AROUND_A_MESSAGE = 3
# OpenAI caches the beginnings of prompts of so many tokens or more.
_CACHED_FROM = 1_024


@dataclass(frozen=True, slots=True)
class Span:
    """The least and the most that something may come to."""

    low: float = 0.0
    high: float = 0.0

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.high + other.high)

    def __mul__(self, factor: float) -> Span:
        return Span(self.low * factor, self.high * factor)

    def wider(self, factor: float) -> Span:
        """The least divided by a factor, the most times it."""
        return Span(self.low / factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class Heading:
    """What calls are made for, and which model is asked, for a chat or for vectors."""

    stage: str
    condition: str
    provider: str
    model: str
    chat: bool


@dataclass(frozen=True, slots=True)
class Line:
    """Calls under one heading.

    Attributes:
        held: Calls whose replies the store has.
        calls: Calls to buy.
        prompt: Tokens of their prompts or texts.
        reply: Tokens of their replies.
        repeated: Tokens of `prompt.low` that are the same in call after call, so that a provider may have them cached.
    """

    held: float = 0.0
    calls: Span = field(default_factory=Span)
    prompt: Span = field(default_factory=Span)
    reply: Span = field(default_factory=Span)
    repeated: float = 0.0

    def __add__(self, other: Line) -> Line:
        return Line(
            self.held + other.held,
            self.calls + other.calls,
            self.prompt + other.prompt,
            self.reply + other.reply,
            self.repeated + other.repeated,
        )

    def __mul__(self, factor: float) -> Line:
        return Line(
            self.held * factor,
            self.calls * factor,
            self.prompt * factor,
            self.reply * factor,
            self.repeated * factor,
        )

    @property
    def tokens(self) -> Span:
        """Tokens of prompts and replies together."""
        return self.prompt + self.reply


Lines = dict[Heading, Line]


def dollars(heading: Heading, line: Line, prices: Prices, *, batch: bool) -> Span | None:
    """What buying a line costs, or none if the model's price is unknown.

    The least takes it that the provider has in its cache what is repeated; no cache is counted on in batches.
    """
    price = prices.of(heading.provider, heading.model)
    if price is None:
        return None
    in_batches = batch and heading.chat and heading.provider in BATCHING
    repeated = 0 if in_batches else round(line.repeated)
    low = price.usd(round(line.prompt.low), round(line.reply.low), repeated)
    high = price.usd(round(line.prompt.high), round(line.reply.high))
    return Span(low, high) * (price.batch if in_batches else 1.0)


def text_tokens(provider: str, model: str, text: str) -> Span:
    """Tokens of a text: counted where the model's vocabulary is known, else an estimate."""
    if knows_vocabulary(provider, model):
        tokens = text_bound(provider, model, text)
        return Span(tokens, tokens)
    tokens = count(text)
    return Span(tokens * _FEWER, tokens * _MORE)


def chat_prompt(provider: str, model: str, payload: Payload) -> Span:
    """Tokens of a chat's prompt: at least its messages, at most what a budget holds for it."""
    messages = payload["messages"]
    around = Span(_AROUND_A_MESSAGE * len(messages), AROUND * (len(messages) + 1))
    texts = (text_tokens(provider, model, message["content"]) for message in messages)
    said = sum(texts, start=around)
    if knows_vocabulary(provider, model):
        return Span(said.low, prompt_bound(provider, model, payload))
    return said


def repeated_tokens(provider: str, model: str, payload: Payload) -> float:
    """Tokens of the instructions, where they are long enough for OpenAI to keep them in its cache."""
    instructions = text_tokens(provider, model, payload["messages"][0]["content"]).low
    return instructions if instructions >= _CACHED_FROM else 0.0


def embed_prompt(provider: str, model: str, text: str) -> Span:
    """Tokens of a text that is embedded."""
    return text_tokens(provider, model, text) + Span(0, AROUND)
