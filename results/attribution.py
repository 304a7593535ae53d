"""What a repair gained and lost, by category, and how much of it is noise (facts on GAAMA, section 8; Table 4).

A *printed* attribution compares one run before with one after: noise is the change of questions whose conversation was
not edited. It counts into gains and losses whatever a second run would have changed anyhow. A *faithful* one has
further runs of the unedited memory, and takes from gains and losses what these differ by among themselves.

All figures but counts are in points: a hundred times a sum of reward differences over the number of questions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pandas as pd

from results.statistics import RESAMPLES, SEED, PairedDifference, holm, paired_differences

OVERALL = "overall"
NEEDED = ("question", "history", "type", "before", "after", "executed")
"""Columns of rewards: one row a question, `before` and `after` within 0 and 1 (NaN is missing), `executed` the number
of edits that were made while it was repaired."""


def attribution(rewards: pd.DataFrame) -> pd.DataFrame:
    """Table 4 as it is printed.

    Args:
        rewards: See `NEEDED`.

    Returns:
        A row a type in order of appearance, and `overall`: n, missing, edits, noise, gain, loss, net, change (= noise +
        net). Questions that lack a reward are left out of n and counted in `missing`.

    Raises:
        ValueError: If a column is missing or a question has two rows.
    """
    rewards = _checked(rewards)
    delta = rewards["after"] - rewards["before"]
    edited = _edited(rewards)
    rows = []
    for name, chosen in _groups(rewards):
        n = int(delta[chosen].notna().sum())
        noise = _points(delta[chosen & ~edited], n)
        gain = _points(delta[chosen & edited].clip(lower=0), n)
        loss = _points(delta[chosen & edited].clip(upper=0), n)
        rows.append(
            {
                "type": name,
                "n": n,
                "missing": int(chosen.sum()) - n,
                "edits": int(rewards.loc[chosen, "executed"].sum()),
                "noise": noise,
                "gain": gain,
                "loss": loss,
                "net": gain + loss,
                "change": noise + gain + loss,
            }
        )
    return pd.DataFrame(rows)


def faithful_attribution(
    rewards: pd.DataFrame, repeats: npt.ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED
) -> pd.DataFrame:
    """Gains and losses beyond what runs of the unedited memory differ by.

    Two runs of one memory differ by chance: a question of an edited conversation gains and loses without its edits,
    too. The expected gain is the mean of max(0, b - a) over all ordered pairs (a, b) of unedited runs, and the expected
    loss is the same by symmetry; both are taken off. The paired difference is `after` minus the mean of the unedited
    runs, over the edited conversations' questions, resampled by conversation.

    Args:
        rewards: See `NEEDED`.
        repeats: `(questions, runs)`, rewards of further runs of the unedited memory, in the order of `rewards`.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        A row a type, and `overall`: n (all its questions with every reward), touched (those of edited conversations),
        expected (noise in gain, and negative in loss), gain, loss, net, spread (the largest net of two unedited runs,
        in either direction), difference, low, high, p and p_holm (over types). `difference` is a mean over `touched`
        questions, all else over n.

    Raises:
        ValueError: As `attribution`, or if `repeats` is no array of one row a question.
    """
    rewards = _checked(rewards)
    runs = np.column_stack([rewards["before"].to_numpy(np.float64), _runs(repeats, len(rewards))])
    after = rewards["after"].to_numpy(np.float64)
    whole = ~np.isnan(after) & ~np.isnan(runs).any(axis=1)
    edited = _edited(rewards).to_numpy()
    histories = rewards["history"].to_numpy()
    rows = []
    for name, among in _groups(rewards):
        chosen = among.to_numpy() & whole
        touched = chosen & edited
        tested = paired_differences(
            {"reward": after[touched]},
            {"reward": runs[touched].mean(axis=1)},
            list(histories[touched]),
            resamples=resamples,
            seed=seed,
        )["reward"]
        missing = int(among.sum()) - int(chosen.sum())
        rows.append({"type": name, "n": int(chosen.sum()), "missing": missing}
            | _beyond_noise(runs[touched], after[touched], int(chosen.sum()))
            | _tested(tested))  # fmt: skip
    table = pd.DataFrame(rows)
    types = table["type"] != OVERALL
    table["p_holm"] = math.nan
    table.loc[types, "p_holm"] = holm(table.loc[types, "p"].tolist())
    return table


@dataclass(frozen=True, slots=True)
class Exceeds:
    """Whether a repair's net gain exceeds noise, and the sentence that says so."""

    gain: bool
    sentence: str


def exceeds_noise(table: pd.DataFrame) -> Exceeds:
    """Read the row `overall` of a faithful attribution.

    Net gain exceeds noise if the interval of the paired difference lies above zero and the net gain is larger than that
    of any two unedited runs.
    """
    row = table.loc[table["type"] == OVERALL].iloc[0]
    if not row["touched"]:
        return Exceeds(False, "No conversation was edited: there is no gain to attribute.")
    said = (
        f"Net gain {row['net']:+.2f} points over {row['n']} questions ({row['gain']:+.2f} and {row['loss']:+.2f}, "
        f"beyond the {row['expected']:.2f} that is expected of each without edits); unedited runs differ by up to "
        f"{row['spread']:.2f}"
    )
    if math.isnan(row["low"]):
        return Exceeds(
            False, f"{said}. One edited conversation gives no interval: this cannot be told from noise."
        )
    exceeds = bool(row["low"] > 0 and row["net"] > row["spread"])
    interval = f"difference where edited {row['difference']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
    return Exceeds(exceeds, f"{said}; {interval}: it {'exceeds' if exceeds else 'does not exceed'} noise.")


def _beyond_noise(runs: npt.NDArray[np.float64], after: npt.NDArray[np.float64], n: int) -> dict[str, float]:
    """Gain and loss of the questions of edited conversations without what is expected of noise, in points of n."""
    pairs = [runs[:, b] - runs[:, a] for a, b in permutations(range(runs.shape[1]), 2)]
    expected = _points(np.mean([np.maximum(pair, 0) for pair in pairs], axis=0), n)
    spread = max(_points(pair, n) for pair in pairs)
    # Each unedited run is as good a "before" as any other.
    deltas = after[:, None] - runs
    gain = _points(np.maximum(deltas, 0).mean(axis=1), n) - expected
    loss = _points(np.minimum(deltas, 0).mean(axis=1), n) + expected
    return {
        "touched": len(after),
        "expected": expected,
        "gain": gain,
        "loss": loss,
        "net": gain + loss,
        "spread": spread,
    }


def _tested(tested: PairedDifference) -> dict[str, float]:
    return {
        "difference": 100 * tested.difference,
        "low": 100 * tested.low,
        "high": 100 * tested.high,
        "p": tested.p,
    }


def _points(deltas: npt.ArrayLike, n: int) -> float:
    return 100 * float(np.nansum(deltas)) / n if n else math.nan


def _edited(rewards: pd.DataFrame) -> pd.Series[bool]:
    """Of each question, whether its conversation was edited."""
    return rewards.groupby("history")["executed"].transform("sum") > 0


def _groups(rewards: pd.DataFrame) -> list[tuple[str, pd.Series[bool]]]:
    types = [(str(name), rewards["type"] == name) for name in rewards["type"].unique()]
    return [*types, (OVERALL, pd.Series(True, index=rewards.index))]


def _checked(rewards: pd.DataFrame) -> pd.DataFrame:
    missing = set(NEEDED) - set(rewards.columns)
    if missing:
        raise ValueError(f"rewards lack the column {min(missing)}")
    if rewards["question"].duplicated().any():
        raise ValueError("a question has two rewards")
    return rewards.reset_index(drop=True)


def _runs(repeats: npt.ArrayLike, questions: int) -> npt.NDArray[np.float64]:
    runs = np.asarray(repeats, np.float64)
    if runs.ndim != 2 or len(runs) != questions or not runs.shape[1]:
        raise ValueError(f"repeated runs have shape {runs.shape}, not ({questions}, runs)")
    return runs
