"""Systems that score every turn or session: BM25 over sessions, and fusion with dense search."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.conversation import Query
from memory.errors import CallFailed
from memory.lexical import LexicalIndex
from memory.models import Embedded
from memory.protocol import MemorySystem, Recall
from memory.systems import find
from tests.memory.fake_models import FakeHashEmbedder, models, session

FIRST = ("The ferry leaves at noon.", "A ferry, a harbour, a ferry.", "Bread needs flour.")
SECOND = ("The harbour is foggy.", "We wait.")
THIRD = ("The ferry is late, the harbour crowded.",)


class OnACircle(FakeHashEmbedder):
    """Vectors in a plane: the cosine with the question is the one that the test gives for a text."""

    def __init__(self, cosines: dict[str, float], refused: tuple[str, ...] = ()) -> None:
        super().__init__(refused=refused)
        self.cosines = cosines

    def embed(self, texts: Any) -> Embedded:
        self.asked += texts
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            cosine = self.cosines.get(text, 1.0)
            vectors[row, :2] = cosine, math.sqrt(1 - cosine**2)
        return Embedded(vectors, {row: "refused" for row, text in enumerate(texts) if text in self.refused})


def made(name: str, embedder: FakeHashEmbedder | None = None, **settings: Any) -> MemorySystem:
    system = find(name)
    return system(system.Settings(show_dates=False, **settings), models("{}", embedder=embedder))


def told(memory: MemorySystem) -> MemorySystem:
    for position, texts in enumerate((FIRST, SECOND, THIRD)):
        memory.remember(session(*texts, position=position), {})
    return memory


def asked(memory: MemorySystem, text: str) -> Recall:
    return memory.recall(Query("q", "h", text))


def ranked(recall: Recall) -> list[str]:
    return [source.turn.removeprefix("h#") for source in recall.provenance]


def test_bm25_over_sessions_ranks_the_shortest_that_holds_the_word_with_all_its_turns_first() -> None:
    """Of three words the second session's, of four the third's, of more the first's; its own best turn comes first."""
    recall = asked(told(made("bm25", unit="session", k=3)), "harbour")
    assert ranked(recall) == ["1.0", "1.1", "2.0", "0.1", "0.0", "0.2"]
    assert recall.context == "\n\n---\n\n".join((*SECOND, *THIRD))
    whole = LexicalIndex()
    whole.add(["\n".join(texts) for texts in (FIRST, SECOND, THIRD)])
    first, second, third = whole.scores("harbour").tolist()
    assert [source.score for source in recall.provenance] == [second, second, third, first, first, first]


def test_sessions_that_come_turn_by_turn_and_out_of_order_are_ranked_as_if_they_had_come_whole() -> None:
    pieces = made("bm25", unit="session")
    for position, start in ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (0, 2)):
        whole = session(*(FIRST, SECOND, THIRD)[position], position=position)
        turn = whole.turns[start]
        pieces.remember(type(whole)(whole.id, whole.history, position, whole.date, (turn,)), {})
    expected = asked(told(made("bm25", unit="session")), "ferry harbour").provenance
    assert asked(pieces, "ferry harbour").provenance == expected


def test_a_session_whose_id_recurs_is_two_documents() -> None:
    memory = made("bm25", unit="session")
    for position in (0, 1):
        twice = session("ferry" if position else "bread", position=position)
        memory.remember(type(twice)("same", twice.history, position, twice.date, twice.turns), {})
    assert [source.score > 0 for source in asked(memory, "ferry").provenance] == [True, False]


@pytest.mark.parametrize("name", ["bm25", "fusion"])
def test_as_many_turns_are_ranked_as_the_setting_says_and_only_the_best_are_shown(name: str) -> None:
    recall = asked(told(made(name, ranked=4, k=1)), "ferry")
    assert (len(recall.provenance), recall.items, len(recall.stands_on)) == (4, 1, 1)
    assert len(asked(told(made(name, ranked=99, k=1)), "ferry").provenance) == 6


@given(st.integers(1, 40), st.sampled_from(["turn", "session"]))
def test_within_a_number_of_words_the_context_is_the_beginning_of_the_ranking(words: int, unit: str) -> None:
    memory = told(made("bm25", unit=unit))
    (within,) = memory.recall_within(Query("q", "h", "ferry harbour"), [words])  # type: ignore[attr-defined]
    texts = dict(zip(ranked(asked(memory, "x")), (*FIRST, *SECOND, *THIRD), strict=True))
    expected: list[str] = []
    for turn in ranked(within):
        if sum(len(text.split()) for text in [*expected, texts[turn]]) > words:
            break
        expected.append(texts[turn])
    assert within.context == "\n\n---\n\n".join(expected)


COSINES = {
    **dict(zip(FIRST, (0.1, 0.2, 0.9), strict=True)),
    **dict(zip(SECOND, (0.3, 0.5), strict=True)),
    THIRD[0]: 0.4,
}
"""Lowest 0.1 and highest 0.9 of turns; of sessions 0.4 and 0.9."""


def test_scores_of_turns_are_fused_by_hand() -> None:
    memory = told(made("fusion", OnACircle(COSINES), lexical_unit="turn"))
    index = LexicalIndex()
    index.add([*FIRST, *SECOND, *THIRD])
    words = index.scores("ferry")
    recall = asked(memory, "ferry")
    by_turn = {turn: source.score for turn, source in zip(ranked(recall), recall.provenance, strict=True)}
    assert by_turn == pytest.approx(
        {
            "0.0": words[0] / words.max() + 0.5 * 0,
            "0.1": words[1] / words.max() + 0.5 * 0.1 / 0.8,
            "0.2": 0.5,
            "1.0": 0.5 * 0.2 / 0.8,
            "1.1": 0.5 * 0.4 / 0.8,
            "2.0": words[5] / words.max() + 0.5 * 0.3 / 0.8,
        },
        abs=1e-5,
    )


def test_scores_of_sessions_are_fused_by_hand_a_session_having_the_cosine_of_its_best_turn() -> None:
    recall = asked(
        told(made("fusion", OnACircle(COSINES), lexical_unit="session", dense_unit="session")), "ferry"
    )
    index = LexicalIndex()
    index.add(["\n".join(texts) for texts in (FIRST, SECOND, THIRD)])
    first, second, third = index.scores("ferry").tolist()
    assert first > third > second == 0
    fused = {"0": 1.0 + 0.5, "2": third / first + 0.0, "1": 0.0 + 0.5 * 0.1 / 0.5}
    assert [turn[0] for turn in ranked(recall)] == ["0", "0", "0", "2", "1", "1"]
    expected = [fused[turn[0]] for turn in ranked(recall)]
    assert [source.score for source in recall.provenance] == pytest.approx(expected, abs=1e-5)


def test_where_only_words_are_of_sessions_a_turn_has_its_sessions_words_and_its_own_meaning() -> None:
    recall = asked(told(made("fusion", OnACircle(COSINES))), "bread")
    assert ranked(recall) == ["0.2", "0.1", "0.0", "1.1", "2.0", "1.0"]
    scores = [source.score for source in recall.provenance]
    assert scores == pytest.approx([1.5, 1.0625, 1.0, 0.25, 0.1875, 0.125], abs=1e-5)


def test_where_only_meaning_is_of_sessions_a_turn_has_its_own_words_and_its_sessions_best_cosine() -> None:
    memory = told(made("fusion", OnACircle(COSINES), lexical_unit="turn", dense_unit="session"))
    recall = asked(memory, "bread")
    scores = [source.score for source in recall.provenance]
    assert ranked(recall) == ["0.2", "0.0", "0.1", "1.0", "1.1", "2.0"]
    assert scores == pytest.approx([1.5, 0.5, 0.5, 0.1, 0.1, 0.0], abs=1e-5)


def test_reciprocal_ranks_are_fused_by_hand_and_what_shares_no_word_has_no_rank_in_words() -> None:
    memory = told(made("fusion", OnACircle(COSINES), rule="rrf", lexical_unit="turn", weight=1.0))
    recall = asked(memory, "flour")
    assert ranked(recall)[:3] == ["0.2", "1.1", "2.0"]
    scores = [source.score for source in recall.provenance[:3]]
    assert scores == pytest.approx([2 / 61, 1 / 62, 1 / 63])


def test_a_turn_without_a_vector_is_found_by_its_words() -> None:
    memory = made("fusion", OnACircle(COSINES, refused=(FIRST[0],)), lexical_unit="turn")
    recall = asked(told(memory), "noon")
    assert ranked(recall)[0] == "0.0"
    assert recall.flags == ("turns_without_vector",)


@pytest.mark.parametrize("name", ["fusion", "openclaw"])
def test_a_question_without_a_vector_fails_and_can_be_asked_again(name: str) -> None:
    memory = told(made(name, OnACircle(COSINES, refused=("ferry",))))
    with pytest.raises(CallFailed, match="could not be embedded") as failed:
        asked(memory, "ferry")
    assert not failed.value.final


@pytest.mark.parametrize("unit", ["turn", "session"])
def test_equal_turns_of_equal_sessions_come_in_the_order_of_the_memory(unit: str) -> None:
    memory = made("fusion", lexical_unit=unit, dense_unit=unit)
    for position in range(3):
        memory.remember(session(*["same"] * 51, position=position), {})
    assert ranked(asked(memory, "other")) == [f"0.{turn}" for turn in range(50)]


def test_bytes_are_those_of_texts_postings_and_vectors() -> None:
    size = told(made("fusion")).size()
    plain, lexical = told(made("flat")).size(), told(made("bm25")).size()
    texts = told(made("full_context")).size().bytes
    assert size.items == 6
    assert size.bytes == texts + (plain.bytes - texts) + (lexical.bytes - texts) + 6 * 8


@pytest.mark.parametrize("unit", ["turn", "session"])
@pytest.mark.parametrize("name", ["bm25", "fusion"])
def test_what_was_forgotten_in_storage_weighs_no_more_than_if_it_had_never_been_heard(
    name: str, unit: str
) -> None:
    units = {"lexical_unit": unit, "dense_unit": unit} if name == "fusion" else {"unit": unit}
    closed = told(made(name, retention="oldest", kept=0.5, **units))
    closed.finish()  # type: ignore[attr-defined]
    left = {held.turn.id for held in closed.turns}  # type: ignore[attr-defined]
    assert 0 < len(left) < 6
    other = made(name, **units)
    for position, texts in enumerate((FIRST, SECOND, THIRD)):
        whole = session(*texts, position=position)
        turns = tuple(turn for turn in whole.turns if turn.id in left)
        other.remember(type(whole)(whole.id, whole.history, position, whole.date, turns), {})
    assert asked(closed, "ferry harbour").provenance == asked(other, "ferry harbour").provenance
