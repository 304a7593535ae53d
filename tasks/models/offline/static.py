"""Static sentence embeddings: a table of token vectors distilled from MiniLM, averaged with NumPy alone.

After Model2Vec (Tulkens and van Dongen, 2024): each token of the vocabulary is sent through MiniLM by itself, what the
model makes of it is brought to 256 dimensions by PCA, and weighted by SIF, a / (a + p) (Arora et al., 2017), where a
token's frequency p follows Zipf's law. A text is the mean of its tokens' vectors. It knows no word order; what that
loses against MiniLM has to be measured wherever it is used.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memory.models import Vectors
from results.tables import write_bytes
from tasks.models.offline.minilm import VOCABULARY, WEIGHTS, MiniLM

DIMENSIONS = 256
SIF = 1e-4
"""The constant a of the weights, as Model2Vec has it."""
IDENTITY = f"static-1-{WEIGHTS}-{VOCABULARY}"
"""What decides the vectors: a table that is distilled in another way has another number."""
CACHE = "PALIMPSEST_CACHE"
"""The environment variable that names the folder of what can be made again; by default ~/.cache/palimpsest."""

_ASCII = range(999, 1065)
_WORDS = 1996  # `the`: from here on BERT's vocabulary is in falling order of frequency


class Static:
    """The table, loaded once; safe to use from several threads.

    Raises:
        BadInput: If MiniLM's files, which it is distilled from and which split texts into tokens, are not there.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._model = MiniLM()
        self._table = kept(_file(folder or cache_folder()), lambda: distil(self._model))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """`(texts, 256)` rows of unit length, of whole texts however long; zeros where a text has no token."""
        return means(self._table, self._model.tokens(texts))


def means(table: Vectors, texts: Sequence[Sequence[int]]) -> Vectors:
    """`(texts, dimensions)` for each text the mean, at unit length, of the rows that its tokens name.

    A text's row depends on that text alone, not on those it is asked for with.
    """
    vectors = np.zeros((len(texts), table.shape[1]), np.float32)
    for row, tokens in enumerate(texts):
        if tokens:
            mean = table[np.asarray(tokens)].mean(axis=0)
            vectors[row] = mean / (np.linalg.norm(mean) or 1.0)
    return vectors


def distil(model: MiniLM) -> Vectors:
    """`(vocabulary, 256)` the weighted vectors of all tokens; half a minute."""
    alone = model.alone(range(model.vocabulary))
    return (reduced(alone, DIMENSIONS) * weights(len(alone))[:, None]).astype(np.float32)


def reduced(rows: Vectors, dimensions: int) -> npt.NDArray[np.float64]:
    """Rows on their first principal components.

    A component's sign is free: its largest entry is made positive, so that equal rows give equal results.
    """
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    components = axes[:, ::-1][:, :dimensions]
    largest = np.abs(components).argmax(axis=0)
    signs = np.sign(components[largest, np.arange(components.shape[1])])
    reduced_rows: npt.NDArray[np.float64] = centred @ (components * signs)
    return reduced_rows


def weights(vocabulary: int) -> npt.NDArray[np.float64]:
    """SIF weights of BERT's tokens: ASCII characters are taken as the most frequent, then the words in their order.

    What stands before the words, placeholders and the characters of other scripts, is in no such order and comes last.
    The weights of Model2Vec, which take the number of a token for its rank, hardly tell `the` from a rare word: on
    LongMemEval-S they cost .036 of session MRR (.862 against .898, n = 469).
    """
    tokens = np.arange(vocabulary)
    group = np.where(tokens >= _WORDS, 1, np.where((tokens >= _ASCII.start) & (tokens < _ASCII.stop), 0, 2))
    rank = np.empty(vocabulary)
    rank[np.lexsort((tokens, group))] = np.arange(1, vocabulary + 1)
    frequency = 1 / (rank + 1)
    frequency /= frequency.sum()
    sif: npt.NDArray[np.float64] = SIF / (SIF + frequency)
    return sif


def cache_folder() -> Path:
    """Where what can be made again is kept."""
    return Path(os.environ.get(CACHE) or Path.home() / ".cache" / "palimpsest")


def _file(folder: Path) -> Path:
    return folder / f"{hashlib.sha256(IDENTITY.encode()).hexdigest()[:16]}-static.npy"


def kept(file: Path, make: Callable[[], Vectors]) -> Vectors:
    """The table of a file; made and kept, with its hash beside it, where it is not there or not what was written."""
    beside = file.with_suffix(".sha256")
    if file.is_file() and beside.is_file():
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest() == beside.read_text("ascii", "replace").strip():
            table: Vectors = np.load(BytesIO(data))
            return table
    made = make()
    written = BytesIO()
    np.save(written, made)
    write_bytes(file, written.getvalue())
    write_bytes(beside, hashlib.sha256(written.getvalue()).hexdigest().encode())
    return made
