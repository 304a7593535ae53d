"""Counting and cutting text by tokens of o200k_base, the encoding of GPT-4o.

For models with another vocabulary the count is an estimate; their limits in `tasks.models.catalogue` leave
room for it.
"""

from __future__ import annotations

from functools import cache

from bpe_openai import Encoding, get_encoding

# The tokenizer refuses inputs of a million characters and more.
_PIECE = 200_000


@cache
def _encoding() -> Encoding:
    return get_encoding("o200k_base")


def count(text: str) -> int:
    """Tokens of a text; special-token markup inside it counts as the plain text that it is."""
    encode = _encoding().encode_ordinary
    return sum(len(encode(text[start : start + _PIECE])) for start in range(0, len(text), _PIECE))


def cut(text: str, limit: int) -> tuple[str, bool]:
    """The longest beginning of a text that has at most `limit` tokens, and whether anything was cut off."""
    if len(text) <= limit and len(text.encode("utf-8", "surrogatepass")) <= limit:
        return text, False  # a token is at least one byte
    encoding = _encoding()
    tokens: list[int] = []
    for start in range(0, len(text), _PIECE):
        tokens.extend(encoding.encode_ordinary(text[start : start + _PIECE]))
        if len(tokens) > limit:
            # The last token may end inside a character.
            return encoding.decode_bytes(tokens[:limit]).decode("utf-8", "ignore"), True
    return text, False


def sendable(text: str) -> str:
    """The text without lone surrogates, which JSON files may hold and UTF-8 cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
