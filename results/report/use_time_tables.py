"""The section of a report on a use-time run: systems at equal budgets, ablations, and storage by use."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from results.report.elements import Chart, Estimated, Section, TextTable, chart
from results.report.sources import RunFolder
from results.use_time_text import TEXTS, TITLES, headline


def use_times(run: RunFolder) -> Section | None:
    """What the use-time study found; none for another study, or before it has got so far."""
    means = run.frame("use_time")
    if means is None or means.empty:
        return None
    found = {name: run.frame(name) for name in TEXTS}
    texts = {name: TEXTS[name](frame) for name, frame in found.items() if frame is not None and len(frame)}
    tables = tuple(
        TextTable(text.caption, text.header, text.rows, folded=name == "use_time_differences")
        for name, text in texts.items()
    )
    line = (
        "Every system shows what fits into the same number of tokens, counted for each entry with a constant; what a "
        "system forgets in storage and what it selects at use are settings of its arms."
    )
    return Section(
        "use-time", "Forgetting at use time", lines=(line,), charts=tuple(_charts(means)), tables=tables
    )


def _charts(means: pd.DataFrame) -> Iterator[Chart]:
    figure = headline(means)
    own = means[(means["part"] == "system") & (means["figure"] == figure)]
    for tokens, rows in own.groupby("tokens"):
        found = [
            Estimated(str(row["condition"]), row["mean"], row["low"], row["high"], int(row["n"]))
            for row in rows.to_dict("records")
        ]
        yield chart(f"{TITLES[figure].capitalize()} within {tokens:,} tokens", "Condition", found)
