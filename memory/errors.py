"""The errors that cross the borders of the memory core."""

from __future__ import annotations

from typing import Any


class CallFailed(Exception):
    """One model call has no usable reply; the row that needed it fails with this reason, others go on.

    Attributes:
        reason: One line for the row, without conversation text.
        final: False for a fault of transport, which the next run tries again; true for a reply that stayed unusable
            after its re-asks, which only `--retry-failed` asks for again.
    """

    def __init__(self, reason: str, *, final: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.final = final

    def __reduce__(self) -> tuple[Any, ...]:
        # It may come from another process, whose pickle would call `CallFailed(reason)`.
        return _call_failed, (type(self), self.args), self.__dict__


def _call_failed(kind: type[CallFailed], args: tuple[Any, ...]) -> CallFailed:
    return kind.__new__(kind, *args)


class BudgetExhausted(CallFailed):
    """The run's budget does not cover the call; a run with more budget makes it. What is stored is still replayed.

    Attributes:
        stage: The stage whose own budget it is; empty for that of the whole run.
    """

    def __init__(self, reason: str, stage: str = "") -> None:
        super().__init__(reason, final=False)
        self.stage = stage


class CallRefused(Exception):
    """The run may make no further call (a key is refused, a provider is down). Memory systems never catch it."""


class BadInput(Exception):
    """What the user gave cannot be used. The message names file, place and remedy in one line."""
