"""API keys: where they come from, and taking them out of whatever is shown or written.

A key comes from the environment or, inside a Prefect run, from a Secret block that is known by its name. It is looked
up when a provider is set up and kept nowhere but in this process.
"""

from __future__ import annotations

import os
import re
import sys
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from urllib.parse import unquote, urlsplit

BLOCK = "openai-api-key"
"""The Secret block that holds OpenAI's key, unless PALIMPSEST_OPENAI_KEY_BLOCK names another."""

_BLOCK_VARIABLE = "PALIMPSEST_OPENAI_KEY_BLOCK"
_KEYS = ("OPENAI_API_KEY", "OLLAMA_API_KEY", "PREFECT_API_KEY")
_ADDRESSES = ("OPENAI_BASE_URL", "OLLAMA_HOST", "PREFECT_API_URL")
# Servers that want no key are given a word such as `none` or `EMPTY`; taken out of replies, it would spoil them.
_SHORTEST = 8
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_NAMES_OF_KEYS = {
    "key",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "credentials",
    "bearer",
}
_SHAPED = re.compile(r"\b(sk-|Bearer\s+)[\w*.-]{6,}")
_BASE64_EITHER = {"+": r"(?:\+|-|%2[Bb])", "/": r"(?:/|_|%2[Ff])"}
_from_blocks: set[str] = set()


def openai_key() -> str:
    """OpenAI's key as it is now, empty if there is none."""
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    return key or (_block(block_name()) if _in_prefect() else "")


def block_name() -> str:
    """The name of the Secret block that holds OpenAI's key."""
    return os.environ.get(_BLOCK_VARIABLE) or BLOCK


def left_to_the_run() -> bool:
    """Whether the environment has no key but names a block, which only a Prefect run looks up."""
    return not os.environ.get("OPENAI_API_KEY", "").strip() and bool(os.environ.get(_BLOCK_VARIABLE))


def held() -> tuple[str, ...]:
    """The secrets that this process has been given, those inside addresses included."""
    found = [os.environ.get(name, "").strip() for name in _KEYS]
    for name in _ADDRESSES:
        found += in_address(os.environ.get(name, ""))
    return tuple(sorted({*found, *_from_blocks} - {""}))


def in_address(address: str) -> list[str]:
    """User and password of an address, as they are sent."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return []
    return [unquote(part) for part in (parts.username, parts.password) if part]


def misplaced(fields: object, path: str = "") -> str | None:
    """Where a field that is named like a key stands, in fields that are written down wherever a run is; or none."""
    if isinstance(fields, Mapping):
        for name, value in fields.items():
            here = f"{path}.{name}" if path else str(name)
            if {word.lower() for word in _WORDS.findall(str(name))} & _NAMES_OF_KEYS:
                return here
            if found := misplaced(value, here):
                return found
    elif isinstance(fields, list | tuple):
        for number, value in enumerate(fields):
            if found := misplaced(value, f"{path}.{number}"):
                return found
    return None


def redact(text: str, secrets: Sequence[str]) -> str:
    """The text without the secrets (plain, URL-encoded or in base64), and without anything shaped like an API key."""
    pattern = _forms(tuple(secrets))
    return _SHAPED.sub("[key]", pattern.sub("[key]", text) if pattern else text)


@lru_cache(maxsize=16)
def _forms(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = [form for secret in secrets if len(secret) >= _SHORTEST for form in _forms_of(secret)]
    return re.compile("|".join(forms)) if forms else None


def _forms_of(secret: str) -> list[str]:
    """Patterns of a secret: with any of its letters URL-encoded, and in base64 at each of the three alignments."""
    letters = []
    for letter in secret:
        encoded = "".join(f"%{byte:02x}" for byte in letter.encode("utf-8", "surrogatepass"))
        letters.append(f"(?:{re.escape(letter)}|(?i:{encoded}))")
    return ["".join(letters), *(_base64_core(secret, before) for before in range(3))]


def _base64_core(secret: str, before: int) -> str:
    """The part of the base64 form that is the same whatever stands around the secret, `before` bytes off alignment."""
    data = b"\0" * before + secret.encode("utf-8", "surrogatepass")
    core = b64encode(data).decode()[-(-8 * before // 6) : 8 * len(data) // 6]
    return "".join(_BASE64_EITHER.get(letter, letter) for letter in core)


def _in_prefect() -> bool:
    """Whether this is part of a Prefect run; without importing Prefect, which a run has done already."""
    if "prefect.context" not in sys.modules:
        return False
    from prefect.context import FlowRunContext, TaskRunContext

    return bool(FlowRunContext.get() or TaskRunContext.get())


def _block(name: str) -> str:
    from prefect.blocks.system import Secret

    try:
        block = cast("Secret[Any]", Secret.load(name))  # sync, where no event loop runs
    except ValueError:  # there is none of that name
        return ""
    key = str(block.get()).strip()
    _from_blocks.add(key)
    return key
