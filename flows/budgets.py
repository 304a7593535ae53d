"""The options `--budget-*`: amounts for the run or for one stage, in all or on top of what is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from memory.errors import BadInput
from tasks.models.budget import Budget, Spent

KINDS = ("usd", "calls", "tokens")


def budget_of(given: Mapping[str, Sequence[str]], base: Budget, spent: Callable[[str], Spent]) -> Budget:
    """The budget that options make of a study's own.

    Args:
        given: Texts such as `5`, `+2.5` or `extract=100`, by kind: usd, calls, tokens.
        base: The study's budget, which the options override amount by amount.
        spent: What a stage (or the run, for no name) has spent so far; `+` adds to it.

    Raises:
        BadInput: Naming the option that is no amount.
    """
    fields: dict[str, Any] = base.model_dump()
    for kind in KINDS:
        for text in given.get(kind, ()):
            stage, _, amount = text.rpartition("=")
            cap = fields["stages"].setdefault(stage, {}) if stage else fields
            cap[kind] = _amount(kind, text, amount, spent(stage) if amount.startswith("+") else Spent())
    try:
        return Budget.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"budget: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _amount(kind: str, text: str, amount: str, on_top_of: Spent) -> float | int:
    number = amount.removeprefix("+").replace("_", "").replace(",", "")
    try:
        value = float(number) if kind == "usd" else int(number)
    except ValueError:
        wanted = "dollars" if kind == "usd" else f"a whole number of {kind}"
        raise BadInput(
            f"--budget-{kind} {text}: give {wanted}, or STAGE=AMOUNT, such as extract=100"
        ) from None
    more: float | int = value + getattr(on_top_of, kind)
    return more
