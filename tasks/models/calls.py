"""The identity of a model call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Payload = Mapping[str, Any]
"""What a provider consumes, as JSON values."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a model.

    Neither URL nor transport is part of it: the same model behind another address is the same call.

    Attributes:
        provider: The provider's alias, such as `openai`.
        model: The model asked.
        payload: Everything else that the provider consumes: parameters, reply schema and the full rendered
            input.
        attempt: Zero for the first ask; a re-ask is another call.
        repeat: Zero for the first run of a question; a repeated run asks anew.
    """

    provider: str
    model: str
    payload: Payload
    attempt: int = 0
    repeat: int = 0

    @property
    def id(self) -> str:
        """SHA-256, in hexadecimal, of the call as canonical JSON (sorted keys, no blanks, ASCII).

        Raises:
            ValueError: If the payload holds NaN or an infinity.
        """
        fields = {
            "provider": self.provider,
            "model": self.model,
            "payload": self.payload,
            "attempt": self.attempt,
            "repeat": self.repeat,
        }
        canonical = json.dumps(
            fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()
