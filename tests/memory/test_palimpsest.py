"""The hybrid memory: each of its parts by hand, and what holds for any conversation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import tokens
from memory.conversation import Query, Session, Turn, turn_id
from memory.errors import BadInput
from memory.hybrid import scoring
from memory.hybrid.windows import Window
from memory.lexical import LexicalIndex
from memory.models import Embedded
from memory.protocol import Recall
from memory.systems.palimpsest import Palimpsest
from tests.memory.fake_models import FakeHashEmbedder, models

MAY = datetime(2023, 5, 1, 9, 0, tzinfo=UTC)
ONLY = {"lexical_session", "lexical_user", "lexical_turn", "dense_session", "dense_turn", "dates", "speaker"}
RULE = "\n\n---\n\n"


class OnACircle(FakeHashEmbedder):
    """Vectors in a plane: the cosine with the question is the one that the test gives for a text."""

    def __init__(self, cosines: dict[str, float]) -> None:
        super().__init__()
        self.cosines = cosines

    def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked += texts
        cosines = np.array([self.cosines.get(text, 1.0) for text in texts], np.float32)
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        vectors[:, 0], vectors[:, 1] = cosines, np.sqrt(1 - cosines**2)
        return Embedded(vectors)


def made(*, only: bool = False, embedder: FakeHashEmbedder | None = None, **changes: Any) -> Palimpsest:
    """A memory; with `only`, of all searches there are those alone that the test names."""
    off = dict.fromkeys(ONLY | {"neighbours"}, 0.0) if only else {}
    return Palimpsest(
        Palimpsest.Settings(**{**off, **changes}),  # type: ignore[arg-type]
        models(embedder=embedder),
    )


def said(position: int, *texts: str, day: int = 0, roles: Sequence[str] = ("user", "assistant")) -> Session:
    """A session of a user and an assistant by turns, so many days after the first of May."""
    turns = tuple(
        Turn(turn_id("h", position, place), roles[place % len(roles)], roles[place % len(roles)], text)
        for place, text in enumerate(texts)
    )
    return Session(f"s{position}", "h", position, MAY + timedelta(days=day), turns)


def told(memory: Palimpsest, *sessions: Session) -> Palimpsest:
    for session in sessions:
        memory.remember(session, {})
    return memory


def asked(memory: Palimpsest, text: str, day: int = 29) -> Recall:
    return memory.recall(Query("q", "h", text, MAY + timedelta(days=day)))


def ranked(recall: Recall) -> list[str]:
    return [source.turn.removeprefix("h#") for source in recall.provenance]


def scores(recall: Recall) -> dict[str, float]:
    return {turn: source.score for turn, source in zip(ranked(recall), recall.provenance, strict=True)}


# Searches


FERRY = said(0, "The ferry leaves.", "A ferry is a boat, and ferry tickets are dear.")
HARBOUR = said(1, "Ferry, ferry, harbour.", "Nothing.")


def test_of_sessions_words_count_in_the_whole_text_and_the_best_turn_stands_for_its_session() -> None:
    recall = asked(told(made(only=True, lexical_session=1, lexical_turn=1, gap=2), FERRY, HARBOUR), "ferry")
    index = LexicalIndex()
    index.add(held.text for session in (FERRY, HARBOUR) for held in session.turns)
    whole = index.scores("ferry", np.array([0, 0, 1, 1]))
    turns = index.scores("ferry") / index.scores("ferry").max()
    low, high = float(whole.min()), float(whole.max())
    first, second = ((float(score) - low) / (high - low) for score in whole)
    best = turns[:2].max()
    assert scores(recall) == pytest.approx(
        {
            "0.0": first - 2 * (best - turns[0]),
            "0.1": first - 2 * (best - turns[1]),
            "1.0": second,
            "1.1": second - 2 * (turns[2] - 0),
        },
        abs=1e-6,
    )


def test_of_a_person_s_best_turn_an_assistant_s_words_are_no_part() -> None:
    """Both sessions hold the word once; the second, where a user says it, has all of the part, the first nothing."""
    memory = told(
        made(only=True, lexical_user=0.75), said(0, "Hello.", "A ferry."), said(1, "A ferry.", "Yes.")
    )
    assert scores(asked(memory, "ferry")) == pytest.approx({"1.0": 0.75, "1.1": 0.75, "0.0": 0, "0.1": 0})


def test_of_cosines_that_of_the_best_turn_counts_for_the_session() -> None:
    cosines = {"a": 0.1, "b": 0.9, "c": 0.5}
    memory = made(only=True, dense_session=0.5, dense_turn=1, gap=1, embedder=OnACircle(cosines))
    recall = asked(told(memory, said(0, "a", "b"), said(1, "c")), "?")
    expected = {"0.1": 0.5, "1.0": 0.0, "0.0": 0.5 - 1.0}
    assert scores(recall) == pytest.approx(expected, abs=1e-4)


def test_without_search_by_meaning_nothing_is_embedded() -> None:
    embedder = FakeHashEmbedder()
    memory = told(made(embedder=embedder, dense_session=0, dense_turn=0), FERRY)
    assert ranked(asked(memory, "ferry"))
    assert memory.texts(FERRY, {}) == embedder.asked == []


WEEKS = [
    said(place, f"I bought a {what}.", day=day)
    for place, (what, day) in enumerate({"kettle": 0, "toaster": 15, "grill": 28}.items())
]


def test_the_session_in_the_time_that_a_question_names_comes_first() -> None:
    memory = told(made(dense_session=0, dense_turn=0), *WEEKS)
    assert ranked(asked(memory, "What did I buy two weeks ago?"))[0] == "1.0"
    assert ranked(asked(memory, "What did I buy yesterday?"))[0] == "2.0"


def test_the_words_of_that_time_find_nothing() -> None:
    memory = told(
        made(only=True, lexical_session=1, dates=0.5), *WEEKS, said(3, "Ten days ago, two weeks ago.")
    )
    by_turn = scores(asked(memory, "Which kettle did I get two weeks ago?"))
    assert by_turn["3.0"] == 0
    assert by_turn["1.0"] == 0.5


def test_with_dates_off_the_time_is_words_like_others() -> None:
    sessions = (*WEEKS, said(3, "Ten days ago, two weeks ago."))
    memory = told(made(only=True, lexical_session=1), *sessions)
    assert scores(asked(memory, "Which kettle did I get two weeks ago?"))["3.0"] > 0


def test_a_window_counts_less_the_more_sessions_lie_in_it() -> None:
    """Of four sessions, two inside: ln(1 + 2.5 / 2.5) over ln(1 + 3.5 / 1.5)."""
    first = MAY.date()
    days = np.array([first.toordinal(), first.toordinal() + 1, first.toordinal() + 9, 0], np.int32)
    found = scoring.in_window(Window(first, first + timedelta(days=1), ""), days)
    assert found == pytest.approx([math.log(2) / math.log(1 + 3.5 / 1.5)] * 2 + [0, 0])
    alone = scoring.in_window(Window(first, first, ""), days)
    assert alone.tolist() == [1, 0, 0, 0]


def test_turns_of_people_lend_to_those_before_and_after_and_assistants_do_not() -> None:
    values, sittings = np.array([1.0, 0.0, 0.5, 2.0]), np.array([0, 0, 0, 1])
    everyone = np.ones(4, np.bool_)
    assert scoring.lent(values, sittings, everyone, 0.5).tolist() == [1.0, 0.75, 0.5, 2.0]
    no_second = np.array([True, False, True, True])
    assert scoring.lent(values, sittings, no_second, 0.5).tolist() == values.tolist()


NAMED = Session(
    "s",
    "h",
    0,
    MAY,
    (
        Turn("h#0.0", "user", "Ann", "I went to Rome."),
        Turn("h#0.1", "assistant", "Bob Lee", "I went to Rome."),
    ),
)


@pytest.mark.parametrize(("question", "first"), [("Where did Ann go?", "0.0"), ("Where did Bob go?", "0.1")])
def test_the_turn_of_whom_a_question_names_comes_first(question: str, first: str) -> None:
    assert ranked(asked(told(made(), NAMED), question))[0] == first


@pytest.mark.parametrize(
    ("question", "first"), [("Which fern?", "0.0"), ("Which fern did you recommend?", "0.1")]
)
def test_where_there_are_no_names_the_user_is_meant_or_the_assistant_if_asked_for(
    question: str, first: str
) -> None:
    memory = told(made(dense_session=0, dense_turn=0), said(0, "The tree fern.", "The tree fern."))
    assert ranked(asked(memory, question))[0] == first


def test_the_walk_brings_up_a_session_that_shares_an_entity_with_the_best() -> None:
    sessions = (
        said(0, "I met the plumber."),
        said(1, "We had soup."),
        said(2, "The plumber drives a van."),
    )
    off = made(only=True, lexical_session=1)
    on = made(only=True, lexical_session=1, graph=0.5)
    by_turn = scores(asked(told(on, *sessions), "Whom have I met?"))
    assert by_turn["0.0"] == pytest.approx(1.5)
    assert 0.5 > by_turn["2.0"] > by_turn["1.0"] == 0
    assert scores(asked(told(off, *sessions), "Whom have I met?")) == {"0.0": 1, "1.0": 0, "2.0": 0}


def test_feedback_counts_what_is_near_to_the_best_turns() -> None:
    embedder = FakeHashEmbedder({"the van": "I met the plumber."})
    memory = made(only=True, lexical_session=1, feedback=0.5, feedback_turns=1, embedder=embedder)
    by_turn = scores(
        asked(told(memory, said(0, "I met the plumber."), said(1, "soup"), said(2, "the van")), "met")
    )
    assert by_turn["0.0"] == pytest.approx(1.5)
    assert by_turn["2.0"] == pytest.approx(0.5)
    assert by_turn["1.0"] < 0.5


# What is added


RENT = (
    said(0, "My rent is $900 a month.", "Fine.", day=0),
    said(1, "My rent went up, my rent is $950 now.", "Oh.", day=9),
    said(2, "Rent, rent, rent, rent!", "It is.", day=12),
    said(3, "My rent is $990 since today.", "Oh dear.", day=20),
)


def test_of_how_things_are_now_the_newest_value_is_added_and_the_one_before_with_their_dates() -> None:
    memory = made(k=1, only=True, lexical_session=1, lexical_turn=1)
    recall = asked(told(memory, *RENT), "The current rent?")
    assert ranked(recall)[0] == "2.0"
    assert ranked(recall)[1:3] == ["3.0", "1.0"]
    assert recall.context.split(RULE)[1:] == [
        "[2023-05-21] My rent is $990 since today.",
        "[2023-05-10] My rent went up, my rent is $950 now.",
    ]
    assert (recall.items, len(recall.stands_on)) == (3, 3)


def test_the_value_before_is_another_one_not_the_same_said_again() -> None:
    again = said(4, "As I said, my rent is $990.", day=25)
    recall = asked(told(made(k=1, dense_session=0, dense_turn=0), *RENT, again), "What is my current rent?")
    assert {"4.0", "1.0"} <= set(ranked(recall)[: len(recall.stands_on)])
    assert "3.0" not in ranked(recall)[: len(recall.stands_on)]


def test_with_versions_off_or_for_another_kind_of_question_nothing_is_added() -> None:
    quiet = told(made(k=1, versions=False), *RENT)
    assert asked(quiet, "What is my current rent?").items == 1
    assert asked(told(made(k=1), *RENT), "Which rent?").items == 1


TRIP = said(0, "We left home.", "We reached the lake.", "We swam.", "We drove back.", day=5, roles=("user",))


def test_of_time_the_turns_before_and_after_the_best_are_added_and_all_stand_in_order_of_time() -> None:
    """The best are those that hold the word; what lies before the first of a session is of another one."""
    before = said(1, "The lake, the lake.", "It froze.", day=3, roles=("user",))
    memory = made(k=2, only=True, lexical_session=1, lexical_turn=1)
    recall = asked(told(memory, TRIP, before), "When did we reach the lake?")
    assert ranked(recall)[:5] == ["0.1", "1.0", "0.0", "0.2", "1.1"]
    assert recall.context.split(RULE) == [
        "[2023-05-04] The lake, the lake.",
        "[2023-05-04] It froze.",
        "[2023-05-06] We left home.",
        "[2023-05-06] We reached the lake.",
        "[2023-05-06] We swam.",
    ]


def test_a_turn_between_the_two_best_is_added_once() -> None:
    trip = said(0, "The lake.", "We rowed.", "The lake!", "We left.", "Rain.", roles=("user",))
    recall = asked(told(made(k=2, only=True, lexical_turn=1), trip), "When were we at the lake?")
    assert ranked(recall) == ["0.0", "0.2", "0.1", "0.3", "0.4"]
    assert recall.items == len(recall.context.split(RULE)) == 4


def test_what_an_assistant_said_between_is_passed_over() -> None:
    trip = said(0, "We rowed.", "Rowing is fine.", "The lake.", "Lakes are deep.", "We left.")
    recall = asked(told(made(k=1, only=True, lexical_turn=1), trip), "When were we at the lake?")
    assert ranked(recall)[: len(recall.stands_on)] == ["0.2", "0.0", "0.4"]


def test_of_what_the_assistant_said_its_best_turn_is_added_verbatim() -> None:
    memory = made(k=1, speaker=0, dense_session=0, dense_turn=0)
    told(memory, said(0, "Plant ferns? ferns, ferns!", "Plant ferns in the shade,\n  2 m apart."))
    recall = asked(memory, "Which ferns did you recommend to plant?")
    assert recall.context.split(RULE)[1] == "[2023-05-01] Plant ferns in the shade,\n  2 m apart."
    assert ranked(recall) == ["0.0", "0.1"]


# What fits


def test_within_a_number_of_words_turns_are_taken_until_the_first_that_does_not_fit() -> None:
    memory = told(
        made(dense_session=0, dense_turn=0, show_dates=False),
        said(0, "ferry one", "ferry", "ferry two three"),
    )
    (few, all_of_it) = memory.recall_within(Query("q", "h", "ferry"), [3, 99])
    assert few.context == RULE.join(["ferry", "ferry one"])
    assert all_of_it.items == 3


def test_within_a_budget_of_tokens_what_does_not_fit_is_passed_over() -> None:
    texts = ("ferry " + "word " * 50, "ferry boat", "harbour")
    budget = tokens.count(texts[1]) + tokens.count(texts[2]) + 2 * 8
    memory = made(budget_tokens=budget, show_dates=False, only=True, lexical_session=1, lexical_turn=1)
    recall = asked(told(memory, said(0, *texts, roles=("user",))), "ferry")
    assert recall.context == RULE.join(texts[1:])
    assert asked(told(made(budget_tokens=0), FERRY), "ferry").context == ""


# What is forgotten


def heard(kept: float, *sessions: Session, questions: Sequence[str] = ()) -> Palimpsest:
    memory = told(made(kept=kept), *sessions)
    for question in questions:
        asked(memory, question)
    memory.finish()
    return memory


def test_entities_go_first_then_vectors_and_turns_last() -> None:
    whole = told(made(), *RENT)
    entities = whole.graph.nbytes - 8 * len(whole.turns)
    everything = whole.size().bytes
    vectors = whole.vectors.nbytes
    few = heard(1 - entities / everything, *RENT)
    assert (len(few.graph.numbers), len(few.vectors), len(few.turns)) == (0, 8, 8)
    fewer = heard(1 - (entities + vectors) / everything, *RENT)
    assert (len(fewer.vectors), len(fewer.turns)) == (0, 8)
    assert "turns_without_vector" in asked(fewer, "rent?").flags
    assert 0 < len(heard(0.2, *RENT).turns) < 8


def test_what_was_recalled_outlives_what_was_not_and_what_is_forgotten_is_never_found() -> None:
    sessions = [said(place, f"Word{place} is a boat, {place}.") for place in range(6)]
    memory = told(made(k=1, kept=0.2), *sessions)
    asked(memory, "word4")
    memory.finish()
    assert "h#4.0" in {held.turn.id for held in memory.turns}
    assert len(memory.turns) < 6
    assert set(ranked(asked(memory, "word0 word1 word2 boat"))) == {
        held.turn.id.removeprefix("h#") for held in memory.turns
    }


@settings(deadline=None)
@given(st.floats(0.05, 1.0), st.integers(0, 3))
def test_at_most_the_share_is_kept_of_all_that_was_heard_and_forgetting_again_changes_nothing(
    share: float, times: int
) -> None:
    whole = told(made(), *RENT).size().bytes
    memory = heard(share, *RENT)
    assert memory.size().bytes <= share * whole
    before = memory.tables()
    for _ in range(times):
        memory.finish()
    assert memory.tables() == before


# What holds for any conversation


WORDS = st.sampled_from(
    ["the ferry", "my rent is 900", "Rome", "we sail now", "you told Ann", "", "two weeks ago"]
)
SESSIONS = st.lists(st.lists(WORDS, min_size=1, max_size=4), max_size=4)
QUESTION = st.sampled_from(
    [
        "the ferry?",
        "What is my current rent?",
        "When did we sail two weeks ago?",
        "What did you tell me of Rome?",
        "?",
    ]
)
PROFILES = st.sampled_from(sorted(Palimpsest.profiles))


def profiled(profile: str, **changes: Any) -> Palimpsest:
    return made(**{**Palimpsest.profiles[profile], **changes})


@settings(deadline=None, max_examples=50)
@given(SESSIONS, QUESTION, PROFILES)
def test_a_ranking_has_every_turn_once_and_what_is_shown_stands_first(
    texts: list[list[str]], question: str, profile: str
) -> None:
    memory = told(profiled(profile), *[said(place, *own, day=place) for place, own in enumerate(texts)])
    recall = asked(memory, question)
    assert sorted(ranked(recall)) == sorted(held.turn.id.removeprefix("h#") for held in memory.turns)
    assert len(recall.stands_on) == recall.items <= len(recall.provenance)
    assert all(math.isfinite(source.score) for source in recall.provenance)


@settings(deadline=None, max_examples=50)
@given(SESSIONS, QUESTION, PROFILES)
def test_turns_that_come_one_by_one_are_recalled_as_if_they_had_come_together(
    texts: list[list[str]], question: str, profile: str
) -> None:
    sessions = [said(place, *own, day=place) for place, own in enumerate(texts)]
    pieces = [
        Session(session.id, "h", session.position, session.date, (turn,))
        for session in sessions
        for turn in session.turns
    ]
    one, all_at_once = told(profiled(profile), *pieces), told(profiled(profile), *sessions)
    assert one.tables() == all_at_once.tables()
    assert asked(one, question) == asked(all_at_once, question)


@settings(deadline=None, max_examples=50)
@given(SESSIONS, QUESTION, PROFILES)
def test_a_memory_that_comes_back_from_its_tables_goes_on_as_before(
    texts: list[list[str]], question: str, profile: str
) -> None:
    memory = told(profiled(profile), *[said(place, *own, day=place) for place, own in enumerate(texts)])
    asked(memory, question)
    memory.finish()
    back = Palimpsest.from_tables(memory.tables(), memory.settings, models())
    later = said(9, "My rent is 950 now.", "The ferry is late.")
    for held in (memory, back):
        held.remember(later, {})
        held.finish()
    assert back.tables() == memory.tables()
    assert back.size() == memory.size()
    assert asked(back, question) == asked(memory, question)


def test_tables_of_two_memories_are_refused() -> None:
    memory, other = told(made(), FERRY), told(made(), *RENT)
    for name in ("uses", "mentions"):
        mixed = {**memory.tables(), name: other.tables()[name]}
        with pytest.raises(BadInput):
            Palimpsest.from_tables(mixed, memory.settings, models())
    with pytest.raises(BadInput, match="not of this version"):
        bare = memory.tables()["uses"].replace_schema_metadata(None)
        Palimpsest.from_tables({**memory.tables(), "uses": bare}, memory.settings, models())
