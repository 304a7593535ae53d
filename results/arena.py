"""MemoryArena by step, as the GAAMA paper's Table 6 has it, with what the full context's advantage becomes over steps.

Step 0 is asked of an empty memory and stands apart. Where steps are put together, each result weighs the same (facts
on GAAMA, sections 12 and 13). Rewards share an entry, so entries are resampled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from results.paper_tables import PaperTable
from results.slopes import slope
from results.statistics import RESAMPLES, SEED, estimates, paired_differences

BASELINE = "full_context"
FEW = 5
"""Figures over fewer entries are marked; the published report hides them."""

RANGES: Mapping[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "memoryarena-travel": ((1, 3), (4, 7)),
    "memoryarena-shopping": ((1, 2), (3, 5)),
    "memoryarena-search": ((1, 4), (5, 8)),
}
"""Early and late steps, first and last, of each task (the paper's Table 6); steps after them are left out."""

PRINTED: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "memoryarena-travel": {
        "HippoRAG": (69.4, 69.6),
        "Mem0": (75.6, 76.7),
        "Nemori": (67.9, 68.7),
        "A-Mem": (71.9, 75.5),
        "Full-Context": (69.9, 71.5),
    },
    "memoryarena-shopping": {
        "HippoRAG": (64.1, 62.1),
        "Mem0": (72.1, 68.2),
        "Nemori": (60.7, 61.3),
        "A-Mem": (63.9, 45.2),
        "Full-Context": (68.1, 69.8),
    },
    "memoryarena-search": {
        "HippoRAG": (2.4, 2.2),
        "Mem0": (67.8, 72.6),
        "Nemori": (0.7, 0.6),
        "A-Mem": (73.2, 82.0),
        "Full-Context": (71.7, 81.3),
    },
}
"""Mean rewards in percent as Table 6 prints them; its row of GAAMA is not in the text at hand."""

PRINTED_GAIN = {"memoryarena-travel": 0.4, "memoryarena-shopping": 3.4, "memoryarena-search": 0.7}
"""GAAMA over the full context in percentage points, as the abstract has it; over which steps it does not say."""

_STEPS: dict[str, pa.DataType] = {
    "source": pa.string(),  # run | printed
    "condition": pa.string(),
    "against": pa.string(),  # null: the condition's own reward
    "counted": pa.string(),  # range | step | later | all
    "first": pa.int32(),
    "last": pa.int32(),
    "n": pa.int64(),
    "missing": pa.int64(),
    "entries": pa.int64(),
    "few": pa.bool_(),
    "reward": pa.float64(),
    "above_half": pa.float64(),
    "difference": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
}
STEPS = pa.schema(_STEPS)
_SLOPES: dict[str, pa.DataType] = {
    "condition": pa.string(),
    "against": pa.string(),
    "first": pa.int32(),
    "last": pa.int32(),
    "n": pa.int64(),
    "entries": pa.int64(),
    "slope": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
    "within": pa.float64(),
    "within_low": pa.float64(),
    "within_high": pa.float64(),
}
SLOPES = pa.schema(_SLOPES)

Rows = Iterator[dict[str, Any]]


def arena_steps(
    rewards: pd.DataFrame, benchmark: str, *, resamples: int = RESAMPLES, seed: int = SEED
) -> pa.Table:
    """Mean rewards by steps and by condition, what each is above the full context, and the printed figures.

    Args:
        rewards: One row a question and condition: `question`, `history` (the entry), `condition`, `step`, and `judge`,
            the reward, NaN where there is none.
        benchmark: The task, a key of `RANGES`.
        resamples: Of every bootstrap.
        seed: Of every bootstrap.
    """
    sampling = {"resamples": resamples, "seed": seed}
    rows = []
    for counted, first, last in _groups(rewards["step"], benchmark):
        asked = rewards[rewards["step"].between(first, last)]
        about = {"source": "run", "counted": counted, "first": first, "last": last}
        by_condition = dict(iter(asked.groupby("condition", sort=False)))
        for condition, own in by_condition.items():
            rows.append({**about, "condition": condition, **_mean(own, sampling)})
            if condition != BASELINE and BASELINE in by_condition:
                found = _difference(own, by_condition[BASELINE], sampling)
                rows.append({**about, "condition": condition, "against": BASELINE, **found})
    return pa.Table.from_pylist(_with_nulls([*rows, *_printed(benchmark)]), schema=STEPS)


def _groups(steps: pd.Series, benchmark: str) -> Iterator[tuple[str, int, int]]:
    """What is counted together, with first and last step."""
    yield from (("range", first, last) for first, last in RANGES[benchmark])
    latest = int(steps.max())
    yield ("later", 1, latest)
    yield from (("step", step, step) for step in range(latest + 1))


def _mean(rows: pd.DataFrame, sampling: Mapping[str, int]) -> dict[str, Any]:
    figures = rows["judge"].to_numpy()
    found = estimates({"reward": figures}, rows["history"].tolist(), **sampling)["reward"]
    above = float((figures > 0.5).sum() / found.n) if found.n else math.nan
    return {**_counts(found.n, found.missing, found.units), "reward": found.mean, "above_half": above,
            "low": found.low, "high": found.high}  # fmt: skip


def _difference(a: pd.DataFrame, b: pd.DataFrame, sampling: Mapping[str, int]) -> dict[str, Any]:
    both = _paired(a, b)
    found = paired_differences(
        {"reward": both["judge"]}, {"reward": both["judge_baseline"]}, both["history"].tolist(), **sampling
    )["reward"]
    return {**_counts(found.n, found.missing, found.units), "difference": found.difference,
            "low": found.low, "high": found.high}  # fmt: skip


def _paired(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    baseline = b[["question", "judge"]]
    return a.merge(baseline, on="question", suffixes=("", "_baseline"), validate="one_to_one")


def _counts(n: int, missing: int, entries: int) -> dict[str, Any]:
    return {"n": n, "missing": missing, "entries": entries, "few": entries < FEW}


def _printed(benchmark: str) -> Rows:
    for system, figures in PRINTED[benchmark].items():
        for (first, last), percent in zip(RANGES[benchmark], figures, strict=True):
            about = {"source": "printed", "condition": system, "counted": "range"}
            yield {**about, "first": first, "last": last, "reward": percent / 100}
    gain = PRINTED_GAIN[benchmark] / 100
    yield {
        "source": "printed",
        "condition": "GAAMA",
        "against": "Full-Context",
        "counted": "all",
        "difference": gain,
    }


def _with_nulls(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in row.items()
        }
        for row in rows
    ]


def arena_slopes(
    rewards: pd.DataFrame, benchmark: str, *, resamples: int = RESAMPLES, seed: int = SEED
) -> pa.Table:
    """How each condition's advantage over the full context changes a step, over the steps of Table 6.

    `slope` is through all paired differences; `within` compares every entry with itself alone, since only long entries
    have late steps.

    Args:
        rewards: As `arena_steps` takes it.
        benchmark: The task.
        resamples: Of every bootstrap.
        seed: Of every bootstrap.
    """
    first, last = RANGES[benchmark][0][0], RANGES[benchmark][1][1]
    asked = rewards[rewards["step"].between(first, last)]
    by_condition = dict(iter(asked.groupby("condition", sort=False)))
    if BASELINE not in by_condition:
        return SLOPES.empty_table()
    baseline = by_condition.pop(BASELINE)
    rows = []
    for condition, own in by_condition.items():
        both = _paired(own, baseline)
        points = (both["step"], both["judge"] - both["judge_baseline"], both["history"].tolist())
        over = slope(*points, resamples=resamples, seed=seed)
        within = slope(*points, within=True, resamples=resamples, seed=seed)
        about = {"condition": condition, "against": BASELINE, "first": first, "last": last}
        figures = {
            "n": over.n,
            "entries": over.units,
            "slope": over.slope,
            "low": over.low,
            "high": over.high,
        }
        figures |= {"within": within.slope, "within_low": within.low, "within_high": within.high}
        rows.append({**about, **figures})
    return pa.Table.from_pylist(_with_nulls(rows), schema=SLOPES)


def arena_text(steps: pd.DataFrame, slopes: pd.DataFrame) -> PaperTable:
    """Both tables for people: a row a condition, rewards in percent beside the printed ones.

    A figure over fewer than `FEW` entries has a star.
    """
    ranges = steps[(steps["counted"] == "range") & (steps["source"] == "printed")]
    spans = sorted(set(zip(ranges["first"].astype(int), ranges["last"].astype(int), strict=True)))
    own, against = steps[steps["against"].isna()], steps[steps["against"].notna()]
    rows = []
    for (source, condition), mine in own.groupby(["source", "condition"], sort=False):
        other = against[(against["source"] == source) & (against["condition"] == condition)]
        cells = [_cell(mine, "step", 0), _cell(mine, "later", 1)]
        cells += [_cell(rows, "range", *span) for rows in (mine, other) for span in spans]
        found = slopes[slopes["condition"] == condition] if source == "run" else slopes.iloc[:0]
        cells += [_slope(found, name) for name in ("slope", "within")]
        rows.append((f"{condition} (printed)" if source == "printed" else str(condition), *cells))
    [gain] = against[against["source"] == "printed"]["difference"]
    names = [f"steps {first}-{last}" for first, last in spans]
    return PaperTable(
        name="arena_steps",
        caption="Mean reward (%) by step (n), and the advantage over the full context in points, paired by question, "
        f"with 95 % intervals over entries; a star marks fewer than {FEW} entries. Printed rows are of the paper's "
        "Table 6, with other models and judges; its row of GAAMA is not in the text at hand, the abstract gives "
        f"{100 * gain:+.1f} points over its full context.",
        data=steps,
        header=(
            *("Condition", "step 0", "from step 1", *names, *(f"gain, {name}" for name in names)),
            *("gain a step", "gain a step within entries"),
        ),
        rows=tuple(rows),
    )


def _cell(rows: pd.DataFrame, counted: str, first: int, last: int | None = None) -> str:
    """The figure of what is counted together; its last step follows where it is not given."""
    found = rows[(rows["counted"] == counted) & (rows["first"] == first)]
    found = found if last is None else found[found["last"] == last]
    if found.empty:
        return "–"
    row = found.iloc[0]
    if row["source"] == "printed":
        return f"{100 * row['reward']:.1f}"
    star = "*" if row["few"] else ""
    if pd.notna(row["difference"]):
        return f"{100 * row['difference']:+.1f}{star} {_points(row['low'], row['high'])}"
    return "–" if pd.isna(row["reward"]) else f"{100 * row['reward']:.1f}{star} ({row['n']:,.0f})"


def _slope(rows: pd.DataFrame, name: str) -> str:
    if rows.empty or pd.isna(rows.iloc[0][name]):
        return "–"
    row = rows.iloc[0]
    ends = ("low", "high") if name == "slope" else (f"{name}_low", f"{name}_high")
    star = "*" if row["entries"] < FEW else ""
    return f"{100 * row[name]:+.1f}{star} {_points(*(row[end] for end in ends))}"


def _points(low: float | None, high: float | None) -> str:
    return "" if pd.isna(low) or pd.isna(high) else f"[{100 * low:+.1f}, {100 * high:+.1f}]"
