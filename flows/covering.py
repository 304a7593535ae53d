"""Whether a budget covers an estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from tasks.estimate import Estimate, Priced
from tasks.models.budget import Spent
from tasks.models.foreseen import Line, Span
from tasks.models.holdings import spent_by
from tasks.models.prices import UNKNOWN_MOST_REPLY, Prices


def total(priced: Sequence[Priced]) -> tuple[Line, Span]:
    """The sum of lines, and of their known dollars."""
    lines, usd = Line(), Span()
    for each in priced:
        lines += each.line
        usd += each.usd or Span()
    return lines, usd


def whole(span: Span) -> tuple[int, int]:
    """Whole numbers around a span."""
    return math.floor(span.low + 1e-6), math.ceil(
        span.high - 1e-6
    )  # sums of shares are a hair off whole ones


def coverage(found: Estimate) -> Iterator[str]:
    """A sentence for each amount of the study's budget: whether it covers the estimate, low and high."""
    run = found.run
    budget = run.study.budget
    priced = found.priced()
    for stage, cap in (("", budget), *budget.stages.items()):
        part = [each for each in priced if stage in ("", each.heading.stage)]
        amounts = {"usd": cap.usd, "calls": cap.calls, "tokens": cap.tokens}
        if not part or all(most is None for most in amounts.values()):
            continue
        spent = spent_by(Path(run.store), run.name, stage)
        left_over = _last_reply(part, found.prices, run.study.models.reply_cap)
        low, high = _ends(part)
        of = f"the budget of stage {stage}" if stage else "the budget"
        for kind, most in amounts.items():
            if most is not None:
                gone, at_least, at_most, idle = (getattr(s, kind) for s in (spent, low, high, left_over))
                yield _sentence(of, kind, most - gone, at_least + idle, at_most + idle, gone, idle)


def _ends(part: Sequence[Priced]) -> tuple[Spent, Spent]:
    line, usd = total(part)
    (least_calls, most_calls), (least_tokens, most_tokens) = whole(line.calls), whole(line.tokens)
    return Spent(least_calls, least_tokens, usd.low), Spent(most_calls, most_tokens, usd.high)


def _last_reply(part: Sequence[Priced], prices: Prices, cap: int | None) -> Spent:
    """What the last call's reply holds of a budget beyond what it takes: as much must be left when it is sent."""
    tokens, usd = 0, 0.0
    for each in part:
        if each.heading.chat and each.line.reply.high:
            price = prices.of(each.heading.provider, each.heading.model)
            most = cap or (price.most_reply if price else UNKNOWN_MOST_REPLY)
            tokens = max(tokens, most)
            usd = max(usd, price.usd(0, most) if price else 0.0)
    return Spent(0, tokens, usd)


def _sentence(of: str, kind: str, left: float, low: float, high: float, gone: float, idle: float) -> str:
    def shown(amount: float) -> str:
        return f"${amount:,.4f}" if kind == "usd" else f"{amount:,.0f}"

    if left >= high:
        verdict = "covers the high estimate"
    elif left >= low:
        verdict = "covers the low estimate, not the high one"
    else:
        verdict = "does not cover the low estimate"
    unit = "" if kind == "usd" else f" {kind}"
    spent = f", of which {shown(gone)} are spent," if gone else ""
    beyond = f", {shown(idle)} of it held for the longest reply of the last call" if idle else ""
    return (
        f"{of} of {shown(left + gone)}{unit}{spent} {verdict}: "
        f"{shown(low)} to {shown(high)}{unit} are still needed{beyond}"
    )
