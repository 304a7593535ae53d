import numpy as np
import pyarrow as pa
import pytest

from tasks.embed import text_hash
from tasks.kept_vectors import KeptVectors
from tests.memory.fake_models import FakeHashEmbedder


def table(embedder: FakeHashEmbedder, *texts: str) -> pa.Table:
    vectors = pa.array(embedder.embed(list(texts)).vectors.reshape(-1))
    return pa.table(
        {
            "text": [text_hash(text) for text in texts],
            "vector": pa.FixedSizeListArray.from_arrays(vectors, embedder.dimensions),
        }
    )


def test_texts_come_from_the_tables_and_only_the_rest_is_asked_for_in_order() -> None:
    plain, behind = FakeHashEmbedder(), FakeHashEmbedder()
    kept = KeptVectors([table(plain, "a", "b"), table(plain, "c")], behind)
    texts = ["c", "new", "a", "", "b"]
    found, direct = kept.embed(texts), plain.embed(texts)
    assert np.array_equal(found.vectors, direct.vectors)
    assert found.failures == direct.failures
    assert behind.asked == ["new", ""]


def test_without_tables_everything_is_asked_for() -> None:
    kept = KeptVectors([], FakeHashEmbedder())
    assert kept.embed(["a"]).vectors == pytest.approx(FakeHashEmbedder().embed(["a"]).vectors)
