"""What a repair gained beyond noise: the arithmetic of the printed Table 4, and the faithful version of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.attribution import OVERALL, attribution, exceeds_noise, faithful_attribution

# Category: n, edits, noise, gain, loss, net, in points (Table 4).
PRINTED = {
    "multi-hop": (282, 21, -0.2, 4.6, -2.1, 2.5),
    "temporal": (321, 16, -0.4, 2.1, -4.8, -2.7),
    "open-domain": (96, 18, -0.2, 6.4, -5.4, 1.0),
    "single-hop": (841, 26, 0.0, 2.1, -1.8, 0.3),
}
PRINTED_OVERALL = (1540, 81, -0.1, 2.8, -2.7, 0.1)


def rewards(*rows: tuple[str, str, float, float, int]) -> pd.DataFrame:
    """`(conversation, type, before, after, executed)` a question."""
    frame = pd.DataFrame(rows, columns=["history", "type", "before", "after", "executed"])
    return frame.assign(question=[f"q{number}" for number in range(len(frame))])


def spread(points: float, n: int) -> list[float]:
    """Reward differences of at most 1 that sum to so many points of n questions."""
    total, found = points / 100 * n, []
    while abs(total) > 1e-9:
        found.append(float(np.clip(total, -1, 1)))
        total -= found[-1]
    return found


def as_printed() -> pd.DataFrame:
    """Rewards of 1,540 questions whose sums by category are those of the printed table."""
    rows = []
    for kind, (n, edits, noise, gain, loss, _) in PRINTED.items():
        moved = [("quiet", each) for each in spread(noise, n)]
        moved += [("edited", each) for points in (gain, loss) for each in spread(points, n)]
        moved += [("edited", 0.0)] * (n - len(moved))
        for number, (history, delta) in enumerate(moved):
            before = 0.0 if delta > 0 else 1.0
            executed = edits if history == "edited" and number == n - 1 else 0
            rows.append((history, kind, before, before + delta, executed))
    return rewards(*rows)


def test_the_printed_rows_give_the_printed_overall_row_and_the_edits_add_up() -> None:
    table = attribution(as_printed()).set_index("type")
    for kind, (n, edits, noise, gain, loss, net) in PRINTED.items():
        row = table.loc[kind]
        assert (row["n"], row["edits"]) == (n, edits)
        found = [round(row[name], 1) for name in ("noise", "gain", "loss", "net")]
        assert found == pytest.approx([noise, gain, loss, net], abs=1e-9), kind
    whole = table.loc[OVERALL]
    n, edits, *points = PRINTED_OVERALL
    assert (whole["n"], whole["edits"]) == (n, edits)
    assert [round(whole[name], 1) for name in ("noise", "gain", "loss", "net")] == pytest.approx(points)
    hundredths = [round(whole[name], 2) for name in ("noise", "gain", "loss")]
    assert hundredths == pytest.approx([-0.13, 2.83, -2.70])  # section 8


def test_gains_and_losses_are_counted_where_the_conversation_was_edited_whatever_question_the_edit_was_for() -> (
    None
):
    table = attribution(
        rewards(
            ("a", "x", 0.0, 1.0, 0),  # gains by the edit made for the next question
            ("a", "x", 0.5, 0.5, 2),
            ("b", "x", 1.0, 0.5, 0),  # noise
            ("a", "y", 1.0, 0.75, 0),
        )
    ).set_index("type")
    x, y = table.loc["x"], table.loc["y"]
    assert (x["edits"], x["n"]) == (2, 3)
    assert x["noise"] == pytest.approx(-100 * 0.5 / 3)
    assert (x["gain"], x["loss"]) == (pytest.approx(100 / 3), 0)
    assert x["change"] == pytest.approx(100 * 0.5 / 3)
    assert (y["edits"], y["noise"], y["loss"]) == (0, 0, pytest.approx(-25))


def test_a_missing_reward_is_left_out_and_counted() -> None:
    table = attribution(rewards(("a", "x", 0.0, 1.0, 1), ("a", "x", 0.0, float("nan"), 0)))
    assert table["n"].tolist() == [1, 1]
    assert table["missing"].tolist() == [1, 1]
    assert table["gain"].tolist() == [100, 100]


def test_what_unedited_runs_gain_and_lose_among_themselves_is_taken_off() -> None:
    # One question that half of the runs get: it gains 1 in one direction, and loses 1 in the other.
    frame = rewards(("a", "x", 0.0, 1.0, 1), ("b", "x", 0.0, 1.0, 1))
    row = faithful_attribution(frame, [[1.0], [1.0]]).set_index("type").loc["x"]
    # Ordered pairs (before, repeat): +1 and -1, so half a reward of gain is expected of each question.
    assert row["expected"] == pytest.approx(50)
    # Against the two unedited runs the gain is 1 and 0: just as much as is expected.
    assert row["gain"] == pytest.approx(0)
    assert row["loss"] == pytest.approx(50)
    assert row["spread"] == pytest.approx(100)
    assert row["difference"] == pytest.approx(50)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.33, 0.5, 1.0]), min_size=3, max_size=3), min_size=2, max_size=12
    )
)
@settings(max_examples=40, deadline=None)
def test_a_run_that_is_one_of_the_unedited_ones_never_exceeds_noise(runs: list[list[float]]) -> None:
    frame = rewards(*((f"h{number % 4}", "x", row[0], row[1], 1) for number, row in enumerate(runs)))
    table = faithful_attribution(frame, [row[1:] for row in runs], resamples=200)
    assert not exceeds_noise(table).gain


@given(st.permutations([0, 1, 2]))
def test_which_unedited_run_is_called_the_first_changes_nothing(order: Sequence[int]) -> None:
    runs = np.array([[0.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.5, 0.0, 0.5]])[:, list(order)]
    frame = rewards(*((f"h{number}", "x", run[0], 1.0, 1) for number, run in enumerate(runs)))
    row = faithful_attribution(frame, runs[:, 1:], resamples=100).set_index("type").loc["x"]
    assert row["net"] == pytest.approx(100 * (9 - 4.5) / 9)


def test_a_steady_gain_exceeds_noise_and_a_net_of_the_printed_size_within_it_does_not() -> None:
    rows = [(f"h{number % 10}", "x", 0.0, 1.0 if number % 2 else 0.5, 1) for number in range(60)]
    steady = exceeds_noise(faithful_attribution(rewards(*rows), np.zeros((60, 2)), resamples=500))
    assert steady.gain
    assert steady.sentence.endswith("it exceeds noise.")
    assert "Net gain +75.00 points over 60 questions" in steady.sentence
    frame = as_printed().assign(executed=1)
    repeats = np.column_stack([frame["after"].to_numpy()[::-1], frame["before"].to_numpy()])
    printed = exceeds_noise(faithful_attribution(frame, repeats, resamples=500))
    assert not printed.gain
    assert printed.sentence.endswith("it does not exceed noise.")


def test_where_nothing_was_edited_there_is_nothing_to_attribute() -> None:
    frame = rewards(("a", "x", 0.0, 1.0, 0), ("b", "x", 1.0, 0.0, 0))
    table = faithful_attribution(frame, [[0.0], [1.0]], resamples=50)
    assert exceeds_noise(table).sentence == "No conversation was edited: there is no gain to attribute."
    assert attribution(frame).set_index("type").loc["x", "net"] == 0


def test_one_edited_conversation_cannot_be_told_from_noise() -> None:
    frame = rewards(("a", "x", 0.0, 1.0, 1), ("b", "x", 1.0, 1.0, 0))
    found = exceeds_noise(faithful_attribution(frame, [[0.0], [1.0]], resamples=50))
    assert not found.gain
    assert "cannot be told from noise" in found.sentence


def test_faults_in_the_input_are_named() -> None:
    frame = rewards(("a", "x", 0.0, 1.0, 1), ("b", "x", 1.0, 1.0, 0))
    with pytest.raises(ValueError, match="lack the column executed"):
        attribution(frame.drop(columns="executed"))
    with pytest.raises(ValueError, match="two rewards"):
        attribution(frame.assign(question="q"))
    with pytest.raises(ValueError, match=r"not \(2, runs\)"):
        faithful_attribution(frame, [[0.0]])
