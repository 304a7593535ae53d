"""Vectors of two bytes a number: near to those they were made of, and independent of how they came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput, CallFailed
from memory.hybrid import vectors
from memory.hybrid.vectors import PlaneVectors
from tests.memory.fake_models import DIMENSIONS, FakeHashEmbedder

TEXTS = ("one", "two", "three", "four", "five")


def planes(*texts: str, refused: tuple[str, ...] = ()) -> PlaneVectors:
    made = PlaneVectors(FakeHashEmbedder(refused=refused))
    made.add(list(texts))
    return made


def exact(texts: tuple[str, ...], question: str) -> np.ndarray:
    embedder = FakeHashEmbedder()
    return np.array([embedder.vector(t).astype(np.float64) @ embedder.vector(question) for t in texts])


def test_cosines_are_those_of_the_vectors_that_were_given_to_four_decimals() -> None:
    """A number is off by at most half a step, of which there are 32,512 up to the largest."""
    made = planes(*TEXTS)
    found = made.cosines(made.question("which?"))
    assert found == pytest.approx(exact(TEXTS, "which?"), abs=1e-4)


def test_beyond_the_best_a_cosine_is_that_of_the_upper_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step is 256 times larger there; the best, of which there are two here, are exact."""
    monkeypatch.setattr(vectors, "RESCORED", 2)
    found = planes(*TEXTS).cosines(planes().question("which?"))
    errors = np.abs(found - exact(TEXTS, "which?"))
    best = np.argsort(-exact(TEXTS, "which?"))[:2]
    assert errors[best].max() < 1e-4
    assert 1e-4 < errors.max() < DIMENSIONS * 0.5 / 127


def test_equal_texts_have_equal_cosines_wherever_they_stand() -> None:
    found = planes(*TEXTS * 300).cosines(planes().question("which?"))
    assert len(set(found.tolist())) == len(TEXTS)


@given(st.lists(st.sampled_from(TEXTS), max_size=9), st.integers(0, 9))
def test_texts_added_in_pieces_are_as_if_added_at_once(texts: list[str], cut: int) -> None:
    pieces = PlaneVectors(FakeHashEmbedder())
    pieces.add(texts[:cut])
    pieces.add(texts[cut:])
    assert pieces.table() == planes(*texts).table()


def test_a_text_without_a_vector_is_never_found_and_the_others_keep_their_places() -> None:
    made = planes(*TEXTS, refused=("two",))
    found = made.cosines(made.question("three"))
    assert np.flatnonzero(np.isneginf(found)).tolist() == [1]
    assert found.argmax() == 2
    assert (len(made), made.complete, planes(*TEXTS).complete) == (4, False, True)


def test_a_question_without_a_vector_fails_and_may_be_asked_again() -> None:
    with pytest.raises(CallFailed) as failed:
        planes(refused=("?",)).question("?")
    assert not failed.value.final


def test_what_is_kept_is_found_at_its_new_place_and_what_is_forgotten_is_not() -> None:
    made = planes(*TEXTS)
    made.keep(np.array([True, False, True, True, True]), np.array([True, True, False, True, True]))
    found = made.cosines(made.question("four"))
    assert np.isneginf(found).tolist() == [False, True, False, False]
    assert found.argmax() == 2
    assert made.nbytes == 3 * made.row_bytes == 3 * (2 * DIMENSIONS + 8)


def test_vectors_come_back_from_their_table_to_the_byte() -> None:
    made = planes(*TEXTS, refused=("two",))
    back = PlaneVectors(FakeHashEmbedder())
    back.restore(made.table(), len(TEXTS))
    assert back.table() == made.table()
    for held in (made, back):
        held.add(["six"])
    assert back.table() == made.table()
    assert np.array_equal(back.cosines(back.question("?")), made.cosines(made.question("?")))


@pytest.mark.parametrize("turns", [0, 4])
def test_a_table_that_does_not_fit_is_refused(turns: int) -> None:
    with pytest.raises(BadInput, match="does not hold"):
        PlaneVectors(FakeHashEmbedder()).restore(planes(*TEXTS).table(), turns)


def test_a_table_of_other_dimensions_is_refused() -> None:
    other = FakeHashEmbedder()
    other.dimensions = 3
    with pytest.raises(BadInput, match="3 dimensions"):
        PlaneVectors(other).restore(planes(*TEXTS).table(), len(TEXTS))


def test_the_mean_of_texts_leaves_out_those_that_have_no_vector() -> None:
    made = planes(*TEXTS, refused=("two",))
    mean = made.mean(np.array([0, 1]))
    assert mean is not None
    assert mean == pytest.approx(FakeHashEmbedder().vector("one"), abs=1e-4)
    assert made.mean(np.array([1])) is None
