"""The arithmetic of the use-time study: accuracy, evidence, tokens and bytes of every point, and what each is worth.

Rate is what a question's context costs in tokens, distortion is what is lost: one minus accuracy (paper, What Should an
Agent Forget?, rate-distortion view). Figures that the paper prints are constants here, and stand in columns of their
own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from results.compare import shared_conversations
from results.statistics import estimates, holm, paired_differences

FIGURES = ("judge", "f1", "context_evidence")
"""Accuracy by the judge, token F1, and the share of the evidence turns that the context stands on."""
EVALUATED = ("judge", "f1")
"""Those that an answer has once it was evaluated. Evidence is missing where a benchmark names none, which is no fault
of the system's."""
SUITES: Mapping[str, str] = {
    "amb-text": "AMB-Text",
    "lme-ku": "LME-KU",
    "mab-fc": "MAB-FC",
    "mab-fc-mh-6k": "MAB-FC",
}
"""The paper's three suites, by benchmark."""
PRINTED_FULL: Mapping[str, float] = {"AMB-Text": 91.86, "LME-KU": 93.59, "MAB-FC": 74.00}
"""Accuracy of matched Full in percent, as the paper prints it (Luna family)."""
PRINTED: Mapping[str, Mapping[str, float]] = {
    "-FORGET": {"AMB-Text": 68.60, "LME-KU": 60.26, "MAB-FC": 51.00},
    "-QC": {"AMB-Text": 77.91, "LME-KU": 82.05, "MAB-FC": 56.00},
    "-CLOSURE": {"AMB-Text": 91.86 - 4.65, "LME-KU": 93.59 - 3.85, "MAB-FC": 74.00 - 3.00},
    "-RESCUE": {"AMB-Text": 91.86 - 3.49, "LME-KU": 93.59 - 2.56, "MAB-FC": 74.00 - 9.00},
    "-SLOT": {"AMB-Text": 91.86 - 5.81, "LME-KU": 93.59 - 3.85, "MAB-FC": 74.00 - 10.00},
}
"""Accuracy of each ablation in percent; of the last three the paper prints the deficit to matched Full."""

_TEXT, _COUNT, _SHARE = pa.string(), pa.int64(), pa.float64()
_POINT: dict[str, pa.DataType] = {
    "arm": _TEXT,
    "condition": _TEXT,
    "tokens": _COUNT,
    "part": _TEXT,
    "variant": _TEXT,
    "retention": _TEXT,
    "kept": _SHARE,
}
_ESTIMATE: dict[str, pa.DataType] = {
    **{"figure": _TEXT, "n": _COUNT, "missing": _COUNT, "units": _COUNT},
    **dict.fromkeys(("mean", "sem", "low", "high", "with_missing", "rate", "bytes"), _SHARE),
    "archive_rescues": _COUNT,
}
_MEANS: dict[str, pa.DataType] = {"figure": _TEXT, "mean_a": _SHARE, "mean_b": _SHARE}
_DIFFERENCE: dict[str, pa.DataType] = {
    **dict.fromkeys(("n", "missing", "units"), _COUNT),
    **dict.fromkeys(("difference", "low", "high", "p", "p_holm"), _SHARE),
}
_PRINTED: dict[str, pa.DataType] = {"printed": _SHARE, "printed_difference": _SHARE, "direction": _TEXT}
SCHEMAS: Mapping[str, pa.Schema] = {
    "use_time": pa.schema({**_POINT, **_ESTIMATE}),
    "use_time_differences": pa.schema({"a": _TEXT, "b": _TEXT, **_MEANS, **_DIFFERENCE}),
    "ablations": pa.schema({"variant": _TEXT, **_MEANS, **_DIFFERENCE, **_PRINTED}),
    "joint": pa.schema({**_POINT, **_ESTIMATE, "loss": _SHARE, "undominated": pa.bool_()}),
}
"""The tables of the study."""

Sampling = Mapping[str, int]


def resampled(rows: pd.DataFrame) -> list[str] | None:
    """What is resampled: conversations where there are several and questions share them, else questions.

    Where all questions are on one history, an interval speaks of questions on that history, and of no other.
    """
    return shared_conversations(rows) if rows["history"].nunique() > 1 else None


def means(rows: pd.DataFrame, points: pd.DataFrame, **sampling: int) -> pd.DataFrame:
    """Table `use_time`: a row a point and figure.

    Args:
        rows: A row a question and arm: `arm`, `question`, `history`, the `FIGURES`, `context_tokens`, `memory_bytes`,
            `archive_rescues` (entries shown that are not active).
        points: A row an arm: `arm` and what it is one of.
        sampling: `resamples` and `seed` of the bootstrap.

    Returns:
        The points' columns; `figure`, `n`, `missing`, `units`, `mean`, `sem`, `low`, `high`; `with_missing`, the mean
        with what is missing counted as zero, null for evidence; `rate` and `bytes`, means over the arm's questions;
        `archive_rescues`, the paper's counter.
    """
    lines = []
    for arm, some in rows.groupby("arm", sort=False):
        found = estimates({name: some[name] for name in FIGURES}, resampled(some), **sampling)
        held = {
            "rate": some["context_tokens"].mean(),
            "bytes": some["memory_bytes"].mean(),
            "archive_rescues": int(some["archive_rescues"].sum()),
        }
        for name, estimate in found.items():
            counted = estimate.n and name in EVALUATED
            with_missing = float(some[name].fillna(0.0).mean()) if counted else float("nan")
            lines.append(
                {"arm": arm, "figure": name, **asdict(estimate), "with_missing": with_missing, **held}
            )
    return points.merge(pd.DataFrame(lines), on="arm", how="inner")


def differences(rows: pd.DataFrame, pairs: Sequence[tuple[str, str]], **sampling: int) -> pd.DataFrame:
    """A minus B, a row a pair of arms and figure, paired by question; p after Holm over the pairs of a figure."""
    by_arm = {str(arm): some.set_index("question") for arm, some in rows.groupby("arm", sort=False)}
    lines: list[dict[str, Any]] = []
    for a, b in pairs:
        left, right = by_arm[a], by_arm[b].reindex(by_arm[a].index)
        ours, theirs = ({name: side[name] for name in FIGURES} for side in (left, right))
        found = paired_differences(ours, theirs, resampled(left), **sampling)
        for name, difference in found.items():
            fields = asdict(difference)
            line = {"a": a, "b": b, "figure": name, "mean_a": fields.pop("a"), "mean_b": fields.pop("b")}
            lines.append({**line, **fields})
    table = pd.DataFrame(lines, columns=SCHEMAS["use_time_differences"].names)
    for _, some in table.groupby("figure"):
        table.loc[some.index, "p_holm"] = holm(some["p"].tolist())
    return table


def ablations(differences: pd.DataFrame, variants: Mapping[str, str], suite: str) -> pd.DataFrame:
    """Table `ablations`: what each variant loses against matched Full, beside the paper.

    Args:
        differences: Variant minus Full, as `differences` gives them.
        variants: By arm, the paper's name of its ablation or what is turned.
        suite: The paper's name of the benchmark; none of its suites has printed figures.

    Returns:
        A row a variant and figure, with `printed` (percent), `printed_difference` (percentage points, both null where
        nothing is printed) and `direction`: `as printed`, `opposite`, `none` (equal), or null.
    """
    found = differences[differences["a"].isin(variants.keys())].copy()
    found.insert(0, "variant", found["a"].map(dict(variants)))
    full = PRINTED_FULL.get(suite)
    printed = [PRINTED.get(variant, {}).get(suite) for variant in found["variant"]]
    judged = found["figure"] == "judge"
    found["printed"] = pd.Series(printed, found.index, dtype="float64").where(judged)
    found["printed_difference"] = (found["printed"] - full) if full is not None else float("nan")
    directions = map(_direction, found["difference"], found["printed_difference"])
    found["direction"] = pd.Series(list(directions), found.index, dtype="object")
    return found.drop(columns=["a", "b"])


def _direction(ours: float, printed: float) -> str | None:
    if pd.isna(ours) or pd.isna(printed):
        return None
    if ours == 0:
        return "none"
    return "as printed" if (ours < 0) == (printed < 0) else "opposite"


def joint(means: pd.DataFrame) -> pd.DataFrame:
    """Table `joint`: storage-time forgetting by use-time selection, with what is lost against the best of all points.

    Returns:
        A row a selection, policy, share kept, budget and figure. `loss` is the best mean of the figure minus the
        row's. `undominated`: no other row has a mean at least as high for at most as many bytes and tokens, one of
        the three better; a row without a mean is not.
    """
    stored = means[means["part"] == "joint"]
    whole = means[
        (means["part"] == "system")
        & means["condition"].isin(stored["condition"].unique())
        & means["tokens"].isin(stored["tokens"].unique())
    ]
    table = pd.concat([whole, stored], ignore_index=True)
    parts = []
    for _, some in table.groupby("figure", sort=False):
        best = some["mean"].max()
        parts.append(some.assign(loss=best - some["mean"], undominated=_undominated(some)))
    return pd.concat(parts, ignore_index=True)


def _undominated(points: pd.DataFrame) -> list[bool]:
    costs = points[["bytes", "rate"]].assign(loss=-points["mean"]).to_numpy(float)
    return [
        not np.isnan(own).any() and not ((costs <= own).all(axis=1) & (costs < own).any(axis=1)).any()
        for own in costs
    ]
