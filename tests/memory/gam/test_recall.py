"""What a question brings up: topics, neighbours, events and boosts, by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memory.conversation import Query, Turn
from memory.gam.factors import Cues
from memory.gam.graph import Utterance
from memory.gam.settings import GamSettings
from memory.systems.gam import Gam
from memory.systems.turns import StoredTurn
from tests.memory.fake_models import MAY, session
from tests.memory.gaama.fakes import PlacedEmbedder
from tests.memory.gam.fakes import (
    FakeBuilder,
    asking,
    gam_settings,
    heard,
    new_gam,
    order,
    starts_with,
    summed_up,
)

ASKED = "Where?"


def world(**changes: object) -> Gam:
    """Topics A, B and C and a buffer; A is nearest to the question, B is linked to it with .75, C is by itself."""
    embedder = PlacedEmbedder()
    for text, cosine in (
        ("about A1", 0.9), ("about B1", 0.2), ("about C1", 0.5),
        ("A1", 0.1), ("A2", 0.6), ("B1", 0.7), ("B2", 0.3), ("C1", 0.95), ("now", 0.65),
    ):  # fmt: skip
        embedder.place(text, ASKED, cosine)
    builder = FakeBuilder(
        gam_boundary=starts_with("B1", "C1", "now"),
        gam_topic=summed_up,
        gam_links=lambda request: {
            "links": [{"topic": "t1", "confidence": 0.75}] if request.inputs["summary"] == "about B1" else []
        },
    )
    memory = new_gam(builder, embedder, **{"top_topics": 1, **changes})
    return heard(memory, session("A1", "A2", "B1", "B2", "C1"), session("now", position=1))


def scores(memory: Gam) -> dict[str, float]:
    texts = {each.held.turn.id: each.held.turn.text for each in memory.graph.utterances}
    return {texts[source.turn]: source.score for source in memory.recall(asking(ASKED)).provenance}


def test_recall_goes_down_from_the_nearest_topic_and_its_neighbours_and_looks_at_the_buffer() -> None:
    found = scores(world())
    assert list(found) == ["B1", "A2", "now", "B2", "A1", "C1"]
    linked = 1 + 0.2 * 0.75
    assert found == pytest.approx(
        {
            "B1": 0.7 * linked,
            "A2": 0.6 * linked,
            "now": 0.65,
            "B2": 0.3 * linked,
            "A1": 0.1 * linked,
            "C1": -0.05,
        }
    )


def test_without_multi_factor_relevance_alone_ranks() -> None:
    assert list(scores(world(multi_factor=False))) == ["B1", "now", "A2", "B2", "A1", "C1"]


def test_without_topics_every_utterance_is_looked_at() -> None:
    assert list(scores(world(topics=False))) == ["C1", "B1", "now", "A2", "B2", "A1"]


def test_a_topic_by_its_best_utterance_is_as_near_as_that() -> None:
    assert list(scores(world(topic_similarity="best_utterance")))[:2] == ["C1", "now"]


def test_without_an_event_graph_summaries_are_shown_and_turns_rank_as_their_topics() -> None:
    memory = world(event_graph=False)
    recall = memory.recall(asking(ASKED))
    assert recall.context == "Topic: about A1\n\n---\n\nTopic: about B1"
    assert order(memory, ASKED) == ["A1", "A2", "B1", "B2", "C1", "now"]
    assert (recall.items, len(recall.stands_on)) == (2, 4)


def test_the_context_shows_a_topic_with_its_first_utterance_and_utterances_in_order_of_time() -> None:
    recall = world().recall(asking(ASKED))
    lines = recall.context.split("\n\n---\n\n")
    assert lines == ["Topic: about B1", "B1", "B2", "Topic: about A1", "A1", "A2", "now"]
    assert (recall.items, len(recall.stands_on)) == (7, 5)


def test_the_context_ends_before_the_first_that_does_not_fit() -> None:
    found = world().recall_within(asking(ASKED), [4, 7, 8, 9, 0])
    # B1 takes four words with its summary, A2 as many, `now` one.
    assert [len(recall.stands_on) for recall in found] == [1, 1, 2, 3, 0]
    assert [recall.context.count("Topic") for recall in found] == [1, 1, 2, 2, 0]
    assert "nothing_found" in found[-1].flags and "trimmed" in found[0].flags
    assert len({recall.provenance for recall in found}) == 1


def test_the_provenance_ranks_as_many_turns_as_the_settings_say_where_they_are_held() -> None:
    for ranked, count in ((1, 5), (5, 5), (6, 6), (50, 6)):
        assert len(world(ranked=ranked).recall(asking(ASKED)).provenance) == count


def test_a_turn_without_a_vector_is_ranked_last_and_flagged() -> None:
    memory = new_gam(embedder=PlacedEmbedder(refused=["lost"]))
    heard(memory, session("lost", ASKED, "far"))
    assert order(memory, ASKED) == [ASKED, "lost", "far"]
    assert "turns_without_vector" in memory.recall(asking(ASKED)).flags


# Boosts


def utterance(speaker: str = "Ann", time: datetime | None = MAY) -> Utterance:
    return Utterance(StoredTurn(Turn("h#0.0", "user", speaker, "hi"), "s", time), 0, 1, None)


def boost(question: str, said: Utterance, confidence: float = 0.0, asked: datetime | None = None) -> float:
    speakers = {"Ann", "Bob Stone", "user", "assistant"}
    return Cues(question, asked, speakers).boost(said, confidence, gam_settings())


JUNE = datetime(2023, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "asked", "factor"),
    [
        ("What happened in May 2023?", None, 1.4),
        ("What happened on 20 May 2023?", None, 1.4),
        ("What happened on 21 May 2023?", None, 1.0),
        ("What happened in 2023?", None, 1.4),
        ("What happened in 2022?", None, 1.0),
        ("What happened in May?", None, 1.0),
        ("What happened in May?", JUNE, 1.4),
        ("What happened last month?", JUNE, 1.4),
        ("What happened last week?", JUNE, 1.4),  # 25 May is within a week of it
        ("What happened last week?", datetime(2023, 6, 10, tzinfo=UTC), 1.0),
        ("What may happen?", JUNE, 1.0),
        ("What happened?", JUNE, 1.0),
    ],
)
def test_an_utterance_of_the_time_that_is_asked_about_is_boosted(
    question: str, asked: datetime | None, factor: float
) -> None:
    assert boost(question, utterance(), asked=asked) == pytest.approx(factor)
    assert boost(question, utterance(time=None), asked=asked) == 1.0


@pytest.mark.parametrize(
    ("question", "speaker", "factor"),
    [
        ("Where does Ann live?", "Ann", 1.4),
        ("Where is ann's boat?", "Ann", 1.4),
        ("Where does Ann live?", "Bob Stone", 1.0),
        ("Where does Bob live?", "Bob Stone", 1.4),
        ("Is it on the annex?", "Ann", 1.0),
        ("Where did I leave my boat?", "user", 1.4),
        ("Where did I leave my boat?", "assistant", 1.0),
        ("What did you recommend?", "assistant", 1.4),
    ],
)
def test_an_utterance_of_a_speaker_who_is_named_is_boosted(
    question: str, speaker: str, factor: float
) -> None:
    assert boost(question, utterance(speaker)) == pytest.approx(factor)


def test_boosts_multiply_and_that_of_a_link_grows_with_its_confidence() -> None:
    assert boost("What did Ann do in May 2023?", utterance(), 1.0) == pytest.approx(1.4 * 1.4 * 1.2)
    assert boost("What?", utterance(), 0.5) == pytest.approx(1.1)


def test_the_constants_are_those_that_are_reported() -> None:
    published = gam_settings()
    boosts = (published.time_boost, published.role_boost, published.confidence_boost)
    assert (boosts, published.buffer_tokens, published.nearest_topics) == ((1.4, 1.4, 1.2), 2048, 5)


def test_a_boost_moves_a_turn_up_in_a_whole_memory() -> None:
    embedder = PlacedEmbedder()
    question = "What did Bob say?"
    embedder.place("one", question, 0.5)
    embedder.place("two", question, 0.4)  # by Bob: .4 * 1.4 = .56
    memory = heard(new_gam(embedder=embedder), session("one", "two"))
    assert order(memory, question) == ["two", "one"]
    unboosted = new_gam(embedder=embedder, role_boost=1.0)
    assert order(heard(unboosted, session("one", "two")), question) == ["one", "two"]


def test_no_setting_lets_a_boost_lower_a_score() -> None:
    with pytest.raises(ValueError, match="role_boost"):
        GamSettings(role_boost=0.9)


def test_a_question_is_asked_of_its_own_day() -> None:
    embedder = PlacedEmbedder()
    question = "What was said last month?"
    embedder.place("april", question, 0.5)
    embedder.place("may", question, 0.4)
    april = replace(session("april"), date=datetime(2023, 4, 2, tzinfo=UTC))
    memory = heard(new_gam(embedder=embedder), april, session("may", position=1))
    recall = memory.recall(Query("q", "h", question, JUNE))
    assert [source.turn for source in recall.provenance] == ["h#1.0", "h#0.0"]
