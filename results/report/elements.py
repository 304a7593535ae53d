"""The pieces that a report's sections are made of: tables of text, and intervals on a common scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

LONG = 18
"""Characters of a label above which a chart takes the page's whole width."""
TICKS = 3
"""Steps of a scale, about: a plot is narrow on a telephone."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table whose first column names its rows.

    Attributes:
        caption: What it shows, and what its figures are over.
        folded: Whether it is shown only when its caption is opened.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A figure and its interval, in percent of the scale's width; the figure's text stands beside it.

    Attributes:
        hollow: Whether the interval of a difference holds zero.
    """

    label: str
    text: str
    n: str
    middle: str | None
    low: str | None
    high: str | None
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Intervals below one another on one scale.

    Attributes:
        zero: Where zero is drawn, in percent; none where the scale begins with it.
        ticks: Places of the scale in percent, with their texts.
    """

    title: str
    label: str
    figure: str
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[str, str], ...]
    zero: str | None

    @property
    def is_long(self) -> bool:
        """Whether its labels leave no room for another chart beside it."""
        return any(len(mark.label) > LONG for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Estimated:
    """A figure with its interval; NaN where there is none."""

    label: str
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report.

    Attributes:
        anchor: Its name in links, in letters of the project.
        facts: Names and values, in order.
        lines: Sentences.
    """

    anchor: str
    title: str
    facts: tuple[tuple[str, str], ...] = ()
    lines: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[TextTable, ...] = ()
    texts: tuple[tuple[str, str], ...] = field(default=())


def chart(title: str, label: str, rows: Sequence[Estimated], *, difference: bool = False) -> Chart:
    """Intervals on the smallest round scale that holds them all."""
    ends = [end for row in rows for end in (row.value, row.low, row.high) if math.isfinite(end)]
    low, high, step = _scale(min([0.0, *ends]), max([0.0, *ends]))

    def place(value: float) -> str | None:
        return f"{100 * (value - low) / (high - low):.2f}%" if math.isfinite(value) else None

    shown = "{:+.3f}" if difference else "{:.3f}"
    marks = tuple(
        Mark(
            label=row.label,
            text=_figure(row, shown),
            n=f"{row.n:,}",
            middle=place(row.value),
            low=place(row.low),
            high=place(row.high),
            hollow=difference and not (row.low > 0 or row.high < 0),
        )
        for row in rows
    )
    count = round((high - low) / step)
    values = [low + step * number for number in range(count + 1)]
    ticks = tuple((str(place(value)), f"{value + 0.0:.2f}".rstrip("0").rstrip(".")) for value in values)
    figure = "A minus B [95 %]" if difference else "mean [95 %]"
    return Chart(title, label, figure, marks, ticks, place(0.0) if low < 0 else None)


def _figure(row: Estimated, shown: str) -> str:
    if not math.isfinite(row.value):
        return "–"
    if not math.isfinite(row.low):
        return shown.format(row.value)
    return f"{shown.format(row.value)} [{shown.format(row.low)}, {shown.format(row.high)}]"


def _scale(low: float, high: float) -> tuple[float, float, float]:
    """Round ends around both, and the step between ticks."""
    width = max(high - low, 0.01)
    raw = width / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw - 1e-12)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return first * step, max(last, first + 1) * step, step
