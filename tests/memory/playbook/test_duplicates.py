"""Which bullet a new one is near to."""

from __future__ import annotations

import numpy as np
import pytest

from memory.playbook.duplicates import Duplicates

EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)


def near(cosine: float) -> np.ndarray:
    """A unit vector so near to east."""
    return np.array([cosine, np.sqrt(1 - cosine**2)])


@pytest.mark.parametrize(
    ("cosine", "found"), [(1.0, "a"), (0.51, "a"), (0.5, "a"), (0.49, None), (-1.0, None)]
)
def test_a_bullet_is_near_from_the_threshold_on(cosine, found):
    kept = Duplicates(2, 0.5)  # which a float32 holds exactly
    kept.put("a", EAST)
    assert kept.of(near(cosine)) == found


def test_of_several_the_nearest_is_named_and_of_equal_ones_the_oldest():
    kept = Duplicates(2, 0.9)
    for id, vector in (("a", near(0.95)), ("b", EAST), ("c", EAST)):
        kept.put(id, vector)
    assert kept.of(EAST) == "b"


def test_a_bullet_that_says_something_else_is_near_to_what_it_says_now_alone():
    kept = Duplicates(2, 0.9)
    kept.put("a", EAST)
    kept.put("b", -EAST)
    kept.put("a", NORTH)
    assert (kept.of(EAST), kept.of(NORTH), kept.of(-EAST)) == (None, "a", "b")
    ids, vectors = kept.kept()
    assert (ids, vectors.tolist()) == (["b", "a"], [[-1, 0], [0, 1]])


def test_nothing_is_near_to_nothing():
    assert Duplicates(2, 0.0).of(EAST) is None
