"""What a run's calls have cost over all its attempts, from its table `calls`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from results.report.elements import Section, TextTable
from results.report.sources import RunFolder

BOUGHT = ("paid", "unusable")
_COLUMNS = (
    "stage", "provider", "model", "model_returned", "outcome", "reason", "prompt_tokens", "completion_tokens",
    "cached_tokens", "usd", "charged_usd", "retries", "flags",
)  # fmt: skip
_HEADER = (
    "Stage", "Model asked", "Model that answered", "Bought", "Unusable", "Failed", "Lost", "Replayed", "Tokens in",
    "Of them cached", "Tokens out", "Dollars",
)  # fmt: skip


def calls_of(run: RunFolder) -> pd.DataFrame | None:
    """The run's calls; none if none were published yet."""
    return run.frame("calls", _COLUMNS)


def cost(calls: pd.DataFrame | None, budget: Sequence[str]) -> Section:
    """Calls, tokens and dollars by stage and model; what is spent and left of each limit of the budget.

    Args:
        calls: As `calls_of` gives them.
        budget: A line for each limited amount; none without a budget.
    """
    left = tuple(budget) or ("No budget was set.",)
    if calls is None or calls.empty:
        return Section("cost", "Cost", lines=("No call is published yet.", *left))
    bought = calls[calls["outcome"].isin(BOUGHT)]
    lost = calls[calls["outcome"] == "lost"]
    unpriced = int(bought["usd"].isna().sum())
    facts = [
        ("Calls bought", f"{len(bought):,}"),
        ("Replayed at no cost", f"{(calls['outcome'] == 'replayed').sum():,}"),
        ("Tokens in and out", f"{_sum(bought['prompt_tokens'])} and {_sum(bought['completion_tokens'])}"),
        (
            "Dollars",
            f"${bought['usd'].sum():,.4f}{f', {unpriced:,} calls without a price' if unpriced else ''}",
        ),
    ]
    if len(lost):
        worst = f"{len(lost):,}; if they are billed, up to ${lost['charged_usd'].sum():,.4f} more"
        facts.append(("Sent, but no reply seen", worst))
    if failed := int((calls["outcome"] == "failed").sum()):
        facts.append(("Failed, not billed", f"{failed:,}"))
    if retries := int(calls["retries"].sum()):
        facts.append(("Tries after the first", f"{retries:,}"))
    lines = ("Over all attempts of the run.", *left)
    return Section("cost", "Cost", tuple(facts), lines, tables=(_by_model(calls),))


def _by_model(calls: pd.DataFrame) -> TextTable:
    asked = calls["provider"] + ":" + calls["model"]
    keyed = calls.assign(asked=asked, returned=calls["model_returned"].fillna("–"))
    rows = []
    for (stage, model, returned), own in keyed.groupby(["stage", "asked", "returned"], sort=False):
        counts = own["outcome"].value_counts()
        bought = own[own["outcome"].isin(BOUGHT)]
        rows.append(
            (
                str(stage),
                str(model),
                str(returned),
                *(
                    f"{counts.get(outcome, 0):,}"
                    for outcome in ("paid", "unusable", "failed", "lost", "replayed")
                ),
                *(_sum(bought[f"{kind}_tokens"]) for kind in ("prompt", "cached", "completion")),
                f"${bought['usd'].sum():,.4f}" if bought["usd"].notna().all() else "no price",
            )
        )
    return TextTable("Calls by stage and model; tokens and dollars of those bought", _HEADER, tuple(rows))


def _sum(tokens: pd.Series) -> str:
    """A sum of what providers counted; a dash where none did."""
    return f"{int(tokens.sum()):,}" if tokens.notna().any() else "–"
