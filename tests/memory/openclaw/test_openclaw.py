"""OpenClaw's search: weights, candidates, decay, diversity."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from pydantic import ValidationError

from memory.conversation import Query
from memory.lexical import LexicalIndex
from memory.openclaw.ranking import NO_CANDIDATE, decayed, diversified, fused
from memory.openclaw.settings import OpenClawSettings
from memory.protocol import Recall
from memory.systems.openclaw import OpenClaw
from tests.memory.fake_models import MAY, models, session
from tests.memory.test_searching import OnACircle

TOLD = {
    "Ann: The ferry leaves at noon.": 0.5,
    "Ann: Bread needs flour.": 0.8,
    "Ann: The ferry is late.": 0.1,
}
"""One chunk each, in sessions of their own, with their cosines."""


def made(**settings: object) -> OpenClaw:
    given = OpenClawSettings.model_validate({"text": "spoken", "show_dates": False, **settings})
    return OpenClaw(given, models("{}", embedder=OnACircle(TOLD)))


def told(**settings: object) -> OpenClaw:
    memory = made(**settings)
    for position, line in enumerate(TOLD):
        date = MAY - timedelta(days=30 * position)
        memory.remember(session(line.removeprefix("Ann: "), position=position, date=date), {})
    return memory


def asked(memory: OpenClaw, text: str) -> Recall:
    return memory.recall(Query("q", "h", text, MAY))


def scores(recall: Recall) -> dict[str, float]:
    return {source.turn.removeprefix("h#"): source.score for source in recall.provenance}


def relevance(question: str) -> list[float]:
    """SQLite's BM25 without stemming, as r / (1 + r)."""
    index = LexicalIndex(stem=False, stop_words=False, k1=1.2)
    index.add(TOLD)
    bm25 = index.scores(question).astype(float) * 2.2
    return list(bm25 / (1 + bm25))


def test_a_score_is_seven_tenths_cosine_and_three_tenths_text() -> None:
    first, second, third = relevance("ferry")
    assert second == 0
    expected = {"1.0": 0.56, "0.0": 0.35 + 0.3 * first, "2.0": 0.07 + 0.3 * third}
    assert scores(asked(told(), "ferry")) == pytest.approx(expected, abs=1e-5)


def test_with_earlier_releases_whatever_was_found_by_words_is_as_good_as_can_be() -> None:
    found = scores(asked(told(text_score="rank_clamped"), "ferry"))
    assert found == pytest.approx({"0.0": 0.65, "1.0": 0.56, "2.0": 0.37}, abs=1e-5)


def test_as_published_a_chunk_has_to_hold_every_word_of_the_question() -> None:
    found = scores(asked(told(match="all"), "When is the ferry late?"))
    assert found == pytest.approx({"0.0": 0.35, "1.0": 0.56, "2.0": 0.07}, abs=1e-5)
    found = scores(asked(told(match="all"), "ferry late"))
    assert found["2.0"] == pytest.approx(0.07 + 0.3 * relevance("ferry late")[2], abs=1e-5)
    assert found["0.0"] == pytest.approx(0.35, abs=1e-5)


def test_each_search_gives_four_candidates_for_a_result_and_what_is_nobodys_candidate_comes_last() -> None:
    settings = OpenClawSettings()
    cosines = np.array([0.1, 0.9, 0.8, 0.7, 0.6, -np.inf], np.float32)
    bm25 = np.array([0, 0, 0, 1, 0, 3], np.float32)
    found = fused(cosines, bm25, bm25 > 0, settings, wanted=1)
    expected = [NO_CANDIDATE, 0.63, 0.56, 0.49 + 0.15, 0.42, 0.3 * 0.75]
    assert found.tolist() == pytest.approx(expected)


def test_a_score_halves_with_every_half_life_and_never_grows() -> None:
    times = [MAY, MAY - timedelta(days=30), MAY - timedelta(days=60), MAY + timedelta(days=9), None]
    given = np.full(5, 0.8)
    assert decayed(given, times, MAY, 30).tolist() == pytest.approx([0.8, 0.4, 0.2, 0.8, 0.8])
    assert decayed(given, times, None, 30).tolist() == given.tolist()
    assert decayed(np.array([NO_CANDIDATE]), [MAY - timedelta(days=99)], MAY, 30).tolist() == [NO_CANDIDATE]
    fresh, late = scores(asked(told(), "x")), scores(asked(told(recency_decay=True), "x"))
    assert late == pytest.approx({"0.0": fresh["0.0"], "1.0": fresh["1.0"] / 2, "2.0": fresh["2.0"] / 4})


def test_a_copy_of_what_was_taken_is_put_off_until_something_else_was_taken() -> None:
    """At 0.7, the copy has .7 * .9 - .3 * 1 = .33, the other .7 * .5 - .3 * 1/5 = .29; at .6, .14 and .22."""
    texts = ["the ferry leaves", "the ferry leaves", "bread, the daily", "fog"]
    given = np.array([1.0, 0.9, 0.5, 0.0])
    assert diversified(given, texts, 0.7).tolist() == [0, 1, 2, 3]
    assert diversified(given, texts, 0.6).tolist() == [0, 2, 1, 3]
    assert diversified(given, texts, 1.0).tolist() == [0, 1, 2, 3]
    assert diversified(np.ones(3), ["", "", "fog"], 0.5).tolist() == [0, 2, 1]


def test_diversity_puts_a_copy_after_something_else_and_keeps_everything_ranked() -> None:
    order = {}
    for mmr in (False, True):
        memory = made(mmr=mmr, mmr_lambda=0.4)
        for position, text in enumerate(
            ("Bread needs flour.", "Bread needs flour.", "The ferry leaves at noon.")
        ):
            memory.remember(session(text, position=position), {})
        order[mmr] = [source.turn for source in asked(memory, "flour").provenance]
    assert order == {False: ["h#0.0", "h#1.0", "h#2.0"], True: ["h#0.0", "h#2.0", "h#1.0"]}


def test_a_turn_is_ranked_by_its_best_chunk_and_a_context_stands_on_all_turns_of_its_chunks() -> None:
    memory = made(k=1, chunk_tokens=10, overlap_tokens=4)
    memory.remember(session("Fog came in.", "Yes, thick.", "The ferry waits.", "Long?"), {})
    assert [(chunk.first, chunk.last) for chunk in memory.chunks] == [(0, 1), (1, 2), (2, 3)]
    recall = asked(memory, "thick fog")
    assert recall.context == "Ann: Fog came in.\nBob: Yes, thick."
    assert recall.stands_on == ("h#0.0", "h#0.1")
    assert [source.turn for source in recall.provenance] == ["h#0.0", "h#0.1", "h#0.2", "h#0.3"]
    assert memory.standing_on(session("", "Yes, thick.").turns[1]) == [
        "Ann: Fog came in.\nBob: Yes, thick.",
        "Bob: Yes, thick.\nAnn: The ferry waits.",
    ]


def test_every_turn_is_ranked_where_that_is_asked_though_few_chunks_are_candidates() -> None:
    memory = made(k=1, candidate_multiplier=1, ranked=1, chunk_tokens=8, overlap_tokens=0)
    memory.remember(session(*(f"This is the number {n} of many." for n in range(9))), {})
    assert len(asked(memory, "number 3").provenance) == 1
    wide = made(k=1, candidate_multiplier=1, ranked=9, chunk_tokens=8, overlap_tokens=0)
    wide.remember(session(*(f"This is the number {n} of many." for n in range(9))), {})
    assert len(asked(wide, "number 3").provenance) == 9


def test_below_the_least_score_nothing_is_shown_and_everything_is_ranked() -> None:
    recall = asked(told(min_score=0.5), "x")
    assert (recall.items, recall.context) == (1, "Ann: Bread needs flour.")
    assert (len(recall.stands_on), len(recall.provenance)) == (1, 3)


def test_within_a_number_of_words_chunks_are_shown_until_the_first_that_does_not_fit() -> None:
    one, none = told().recall_within(Query("q", "h", "ferry", MAY), [9, 3])
    assert (one.items, none.items, none.context, none.stands_on) == (1, 0, "", ())


def test_an_overlap_as_long_as_a_chunk_is_refused() -> None:
    with pytest.raises(ValidationError, match="overlap_tokens 40: must be less than chunk_tokens 40"):
        OpenClawSettings(chunk_tokens=40, overlap_tokens=40)


def test_its_bytes_are_those_of_turns_chunks_postings_and_vectors() -> None:
    memory = told()
    texts = sum(len(line.encode()) for line in TOLD)
    ids = 3 * (len("h#0.0") + len("Ann")) - 3 * len("Ann: ")
    assert memory.size().items == 3
    assert memory.size().bytes == (texts + ids) + texts + memory.index.nbytes + 3 * (16 * 4 + 8)
