import pickle
from pathlib import Path

import numpy as np
import pytest

from memory.models import Vectors
from tasks.models.bundles import choose
from tasks.models.offline.minilm import MiniLM
from tasks.models.offline.static import kept, means, reduced, weights

ROWS = np.random.default_rng(3).normal(size=(40, 12)).astype(np.float32)


def refused() -> Vectors:
    raise AssertionError("a whole table is not made again")


def test_a_text_is_the_unit_mean_of_its_tokens_and_one_without_tokens_is_zero() -> None:
    table = np.array([[3.0, 0.0], [0.0, 4.0]], np.float32)
    assert means(table, [[0, 1], [1], []]) == pytest.approx(np.array([[0.6, 0.8], [0.0, 1.0], [0.0, 0.0]]))


def test_a_text_has_the_same_row_to_the_bit_alone_and_among_others() -> None:
    texts = [[1, 5, 9], [2], [7] * 30, [4, 4, 8]]
    alone = np.concatenate([means(ROWS, [text]) for text in texts])
    assert np.array_equal(means(ROWS, texts), alone)


def test_with_all_dimensions_distances_stay_and_with_fewer_the_widest_are_kept() -> None:
    whole = reduced(ROWS, 12)
    assert np.linalg.norm(whole[0] - whole[1]) == pytest.approx(np.linalg.norm(ROWS[0] - ROWS[1]), rel=1e-5)
    spread = whole.var(axis=0)
    assert (np.diff(spread) <= 0).all()
    assert reduced(ROWS, 3) == pytest.approx(whole[:, :3])


def test_the_sign_of_a_component_does_not_depend_on_how_it_was_found() -> None:
    assert reduced(ROWS[:, ::-1].copy(), 5) == pytest.approx(reduced(ROWS, 5), abs=1e-5)


def test_frequent_words_weigh_least_and_placeholders_are_taken_as_rare() -> None:
    by_token = weights(30_522)
    full_stop, the, late = by_token[1012], by_token[1996], by_token[30_000]
    assert full_stop < the < late < by_token[0] < 1


def test_a_table_is_made_once_and_read_back_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "table.npy"
    assert np.array_equal(kept(file, lambda: ROWS), ROWS)
    assert np.array_equal(kept(file, refused), ROWS)


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", pickle.dumps("code that runs when it is read")])
def test_a_damaged_or_foreign_table_is_never_opened_but_made_again(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "table.npy"
    kept(file, lambda: ROWS)
    file.write_bytes(damage)
    assert np.array_equal(kept(file, lambda: ROWS + 1), ROWS + 1)


def test_all_of_a_long_text_is_split_into_tokens_and_without_marks() -> None:
    model = MiniLM()
    ((first, *_), last) = model.tokens(["word " * 400 + "end", "word"])
    assert last == [first]
    assert len(model.tokens(["word " * 400])[0]) == 400


def test_a_token_alone_is_what_the_model_makes_of_it_whatever_it_is_asked_with() -> None:
    model = MiniLM()
    tokens = [1996, 7997, 10165]
    together = model.alone(tokens)
    assert together.shape == (3, 384)
    assert np.array_equal(together, np.concatenate([model.alone([token]) for token in tokens]))


def test_the_static_table_can_be_chosen_as_an_embedder() -> None:
    assert choose("offline", {"embedder": "offline:static"}).embedder == "offline:static"
