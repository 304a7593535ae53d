"""The section of a report on a ranking run: quality by side, differences, types, ages, sizes of store, and costs."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from results import ranking_text
from results.report.elements import Chart, Estimated, Section, TextTable, chart
from results.report.sources import RunFolder

_CHARTED = (("session", "mrr", "Session MRR"), ("turn", "recall_5", "Evidence turns among the first 5"))


def rankings(run: RunFolder) -> Section | None:
    """What the ranking study found; none for another study, or before it has got so far."""
    ranking, costs = run.frame("ranking"), run.frame("ranking_costs")
    if ranking is None or costs is None:
        return None
    benchmark = str(run.about.study.get("benchmark", ""))
    sides = list(dict.fromkeys(ranking["side"].astype(str)))
    shown = [ranking_text.ranking_text(ranking, costs, side, f"evidence on {benchmark}") for side in sides]
    differences = run.frame("ranking_differences")
    if differences is not None:
        shown += [ranking_text.differences_text(differences, side) for side in sides]
    tables = [
        TextTable(table.caption, table.header, table.rows, place > 0) for place, table in enumerate(shown)
    ]
    return Section(
        "ranking",
        "Evidence as it is ranked",
        lines=tuple(_lines(run)),
        charts=tuple(_charts(ranking)),
        tables=(*tables, *_by_group(run)),
    )


def _lines(run: RunFolder) -> Iterator[str]:
    yield (
        "No model answers or judges here. Times of recalls are those of this machine as it was loaded then, with the "
        "question's vector looked up."
    )
    left_out = run.frame("ranking_left_out")
    if left_out is not None:
        yield ranking_text.left_out_line(left_out)


def _charts(ranking: pd.DataFrame) -> Iterator[Chart]:
    own = ranking[ranking["side"] == "all"]
    for unit, metric, title in _CHARTED:
        rows = own[(own["unit"] == unit) & (own["metric"] == metric)].to_dict("records")
        found = [Estimated(str(r["condition"]), r["mean"], r["low"], r["high"], int(r["n"])) for r in rows]
        yield chart(title, "Condition", found)


def _by_group(run: RunFolder) -> Iterator[TextTable]:
    """By question type, by age of the evidence, by size of the store."""
    for name, text in ranking_text.BY_GROUP.items():
        found = run.frame(name)
        if found is not None:
            table = text(found)
            yield TextTable(table.caption, table.header, table.rows, folded=True)
