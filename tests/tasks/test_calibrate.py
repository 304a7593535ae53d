"""The threshold probe of an embedder, through the gateway."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from memory.calibration import CALIBRATED, calibrated_on
from memory.errors import CallFailed, CallRefused
from memory.models import Embedded, Vectors
from tasks.calibrate import calibrate, calibration_of, with_cosines
from tasks.models.ledger import Totals
from tasks.probe import pairs
from tests.memory.fake_models import DIMENSIONS, FakeHashEmbedder
from tests.tasks.models.fakes import FakeServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with FakeServer() as running:
        monkeypatch.setenv("OLLAMA_HOST", running.ollama)
        yield running


def test_what_is_built_in_for_minilm_is_what_the_probe_recommends(tmp_path: Path) -> None:
    made = calibrate("offline:minilm", tmp_path)
    built_in = CALIBRATED["minilm"]
    assert (made.found.dedup, made.found.floor) == (built_in.dedup, built_in.floor)
    assert calibrated_on(made.found.dedup_pairs, made.found.floor_pairs) == built_in.basis
    # Also where it had no say, it parts what is one entity from what is not.
    reported = made.curve[(made.curve["half"] == "report") & (made.curve["purpose"] == "dedup")]
    at = reported[reported["threshold"] == built_in.dedup].iloc[0]
    assert at["kept_low"] > at["let_in_high"]


def test_a_cosine_is_that_of_the_pairs_two_texts_whatever_the_length_of_their_vectors() -> None:
    class Longer(FakeHashEmbedder):
        def vector(self, text: str) -> Vectors:
            return len(text) * super().vector(text)

    some, model = pairs()[:6], FakeHashEmbedder()
    for pair, cosine in zip(some, with_cosines(some, Longer())["cosine"], strict=True):
        assert cosine == pytest.approx(float(model.vector(pair.a) @ model.vector(pair.b)), abs=1e-6)


def test_texts_are_bought_once(server: FakeServer, tmp_path: Path) -> None:
    first = calibrate("ollama:some@8", tmp_path)
    asked = len(server.requests)
    again = calibrate("ollama:some@8", tmp_path)
    texts = {text for pair in pairs() for text in (pair.a, pair.b)}
    assert (first.spent.paid, again.spent.paid, again.spent.replayed) == (len(texts), 0, len(texts))
    assert len(server.requests) == asked
    assert again.found == first.found and first.found.embedder == "ollama:some@8"


def test_an_embedder_to_which_all_texts_are_alike_merges_none_by_similarity() -> None:
    class Blind(FakeHashEmbedder):
        def vector(self, text: str) -> Vectors:
            return (10 * np.eye(DIMENSIONS, dtype=np.float32)[0] + super().vector(text)).astype(np.float32)

    made = calibration_of("some:model", with_cosines(pairs(), Blind()), Totals())
    assert made.found.dedup == 1.0


def test_a_provider_that_is_down_stops_the_probe_in_words() -> None:
    class Down(FakeHashEmbedder):
        def embed(self, texts: Sequence[str]) -> Embedded:
            raise CallFailed("some:model: connection refused", final=False)

    with pytest.raises(CallRefused, match="connection refused; what is bought is kept"):
        with_cosines(pairs(), Down())


def test_a_text_without_a_vector_stops_the_probe_and_is_named() -> None:
    unlucky = pairs()[0].a
    with pytest.raises(
        CallRefused, match=r"no vector for 1 of the probe's \d+ texts, such as 'Artifact.*refused"
    ):
        with_cosines(pairs(), FakeHashEmbedder(refused=[unlucky]))
