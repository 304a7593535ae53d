"""What a call may cost at worst, before it is sent."""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache

from bpe_openai import Encoding, get_encoding

from tasks.models.budget import Spent
from tasks.models.calls import Payload
from tasks.models.prices import UNKNOWN_MOST_REPLY, Prices

# Tokens that a provider adds around each message and each request; OpenAI adds three of each.
AROUND = 8
# The tokenizer refuses inputs of a million characters and more.
_PIECE = 200_000
_O200K = re.compile(r"(gpt-4o|gpt-4\.1|gpt-5|chatgpt-4o|o\d)")
_CL100K = re.compile(r"(gpt-4|gpt-3\.5|text-embedding)")


def chat_worst(provider: str, model: str, payload: Payload, prices: Prices) -> Spent:
    """The most that a chat call may take: its prompt, and a reply as long as its cap or its model's longest.

    A model that is computed in this process takes no tokens and costs nothing.
    """
    if provider == "offline":
        return Spent(1)
    prompt = prompt_bound(provider, model, payload)
    price = prices.of(provider, model)
    most = price.most_reply if price else UNKNOWN_MOST_REPLY
    options = payload.get("options", {})
    cap = payload.get("max_tokens", options.get("num_predict", options.get("num_ctx", most)))
    return Spent(1, prompt + cap, price.usd(prompt, cap) if price else 0.0)


def prompt_bound(provider: str, model: str, payload: Payload) -> int:
    """At least as many tokens as the prompt has: messages, the reply's schema, and what a provider adds around them."""
    messages = payload["messages"]
    schema = payload.get("response_format", payload.get("format"))
    texts = [message["content"] for message in messages]
    texts.append("" if schema is None else json.dumps(schema, ensure_ascii=False))
    return sum(text_bound(provider, model, text) for text in texts) + AROUND * (len(messages) + 1)


def embed_worst(provider: str, model: str, text: str, prices: Prices) -> Spent:
    """The most that the vector of a text may take."""
    if provider == "offline":
        return Spent(1)
    tokens = text_bound(provider, model, text) + AROUND
    price = prices.of(provider, model)
    return Spent(1, tokens, price.usd(tokens, 0) if price else 0.0)


def knows_vocabulary(provider: str, model: str) -> bool:
    """Whether a model's tokens are counted exactly."""
    return _vocabulary(provider, model) is not None


@lru_cache(maxsize=256)  # instructions come with every call
def text_bound(provider: str, model: str, text: str) -> int:
    """A text's tokens in the model's own vocabulary where that is known, else its bytes: no token is shorter."""
    encoding = _vocabulary(provider, model)
    if encoding is None:
        return len(text.encode("utf-8", "replace"))
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return sum(len(encoding.encode_ordinary(piece)) for piece in pieces)


@cache
def _vocabulary(provider: str, model: str) -> Encoding | None:
    if provider == "openai" and _O200K.match(model):
        return get_encoding("o200k_base")
    if provider == "openai" and _CL100K.match(model):
        return get_encoding("cl100k_base")
    return None
