"""Budgets at the command line: the options `--budget-*`, and what is spent and left of each amount."""

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


def spent_and_left(budget: Budget, spent: Callable[[str], Spent]) -> list[str]:
    """A line for each limited amount, such as `budget of stage extract: 90 of 100 calls spent, 10 left`."""
    lines = []
    for stage, cap in (("", budget), *budget.stages.items()):
        gone = spent(stage)
        of = f"budget of stage {stage}" if stage else "budget"
        if cap.usd is not None:
            lines.append(
                f"{of}: ${gone.usd:.4f} of ${cap.usd:.4f} spent, ${max(0.0, cap.usd - gone.usd):.4f} left"
            )
        for kind, most, used in (("calls", cap.calls, gone.calls), ("tokens", cap.tokens, gone.tokens)):
            if most is not None:
                lines.append(f"{of}: {used:,} of {most:,} {kind} spent, {max(0, most - used):,} left")
    return lines
