"""Facts and concepts without a language model: what a benchmark states, or else what clauses state."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.prompts import concept_facts, reflections
from memory.prompts.concept_facts import ConceptFactsReply
from memory.prompts.material import Section
from tasks.models.offline.chat import OfflineChat

EPISODES = (
    ("ep-1", "[1:56 pm on 8 May, 2023] Ilse: I bought a wooden kayak at the boat fair. Do you like it?"),
    ("ep-2", "[1:56 pm on 8 May, 2023] Bob: Great. My tent leaks on every camping trip."),
)
OBSERVED = (
    ("Ilse bought a wooden kayak at a boat fair.", ["ep-1"]),
    ("Ilse's kayak and Bob's leaking tent need care.", ["ep-1", "ep-2"]),
)


def replied(model: str, episodes=EPISODES, observed=OBSERVED) -> ConceptFactsReply:
    sections = [Section("episodes", "New episodes", tuple(episodes), 0.35)]
    asked = concept_facts.request(sections, observed)
    return concept_facts.read(OfflineChat(model).complete(asked.task, asked.inputs))


def test_observations_become_facts_word_for_word_with_the_episodes_that_they_name() -> None:
    facts = replied("locomo-observations").facts
    assert [(fact.fact_text, list(fact.source_episode_ids)) for fact in facts] == [
        (text, ids) for text, ids in OBSERVED
    ]
    assert {fact.belief for fact in facts} == {1.0}


def test_concepts_are_noun_phrases_in_snake_case_that_join_facts_and_the_episodes_that_say_them() -> None:
    reply = replied("locomo-observations")
    named = {label for fact in reply.facts for label in fact.concepts}
    assert "wooden_kayak" in named
    assert named == {concept.concept_label for concept in reply.concepts}
    by_label = {concept.concept_label: list(concept.episode_ids) for concept in reply.concepts}
    assert by_label["wooden_kayak"] == ["ep-1"]
    assert all(len(fact.concepts) <= 3 for fact in reply.facts)
    assert all(label == label.lower() and " " not in label for label in named)


def test_no_speaker_is_part_of_a_concept() -> None:
    for model in ("locomo-observations", "noun-phrases"):
        reply = replied(model)
        parts = {part for concept in reply.concepts for part in concept.concept_label.split("_")}
        assert parts
        assert not parts & {"ilse", "ilse's", "bob", "bob's"}


def test_what_the_benchmark_does_not_state_is_no_fact_of_the_model_that_takes_its_facts() -> None:
    reply = replied("locomo-observations", observed=())
    assert (reply.facts, reply.concepts) == ([], [])


def test_clauses_that_state_something_are_facts_with_their_speaker_and_questions_are_not() -> None:
    facts = [(fact.fact_text, list(fact.source_episode_ids)) for fact in replied("noun-phrases").facts]
    assert ("Bob: My tent leaks on every camping trip", ["ep-2"]) in [
        (text.rstrip("."), ids) for text, ids in facts
    ]
    assert all(text.startswith(("Ilse: ", "Bob: ")) for text, _ in facts)
    assert not [text for text, _ in facts if "like it" in text or text == "Bob: Great."]


def test_nothing_is_reflected_on_offline() -> None:
    asked = reflections.request([Section("facts", "New facts", (("f", "Ilse owns a kayak."),), 0.4)])
    for model in ("locomo-observations", "noun-phrases"):
        assert reflections.read(OfflineChat(model).complete(asked.task, asked.inputs)) == []


@given(st.lists(st.text(max_size=80), max_size=3), st.lists(st.text(max_size=80), max_size=3))
def test_any_text_gets_a_readable_reply_that_names_known_episodes_alone(
    said: list[str], stated: list[str]
) -> None:
    episodes = [(f"ep-{number}", text) for number, text in enumerate(said)]
    known = {id for id, _ in episodes}
    observed = [(text, sorted(known)) for text in stated]
    for model in ("locomo-observations", "noun-phrases"):
        reply = replied(model, episodes, observed)
        named = [id for fact in reply.facts for id in fact.source_episode_ids]
        assert set(named) | {id for concept in reply.concepts for id in concept.episode_ids} <= known
