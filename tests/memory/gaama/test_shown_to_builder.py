"""What the builder is shown: each constant of facts, sections 4.2 and 4.3, by what it does."""

from __future__ import annotations

import json

from memory.conversation import Observation
from memory.gaama.graph import episode_id
from tests.memory.gaama.fakes import (
    FakeBuilder,
    PlacedEmbedder,
    concept,
    edges,
    entries,
    event,
    fact,
    from_all_facts,
    ids,
    in_turn,
    new_builder,
    reply,
    texts,
    worked,
)

OVER = 0.501
"""A cosine just over 0.5, which is 0.75 on the scale (1 + cosine) / 2."""
UNDER = 0.499


# What the builder is shown


def test_older_episodes_their_facts_and_concepts_are_shown_from_a_similarity_of_three_quarters():
    embedder = PlacedEmbedder()
    for text, cosine in (("near", OVER), ("far", UNDER), ("near_label", OVER), ("far_label", UNDER)):
        embedder.place(text, "new", cosine)
    _, chat = worked(
        ["near", "far"],
        ["new"],
        concept_facts=in_turn(
            reply(
                [fact("of near", ["near"]), fact("of far", ["far"])],
                [concept("near_label", "far"), concept("far_label", "near")],
            ),
            reply(),
        ),
        embedder=embedder,
    )
    second = chat.asked("concept_facts")[1]
    assert entries(second, "episodes") == [[episode_id("new"), "new"]]
    assert entries(second, "related") == [[episode_id("near"), "near"]]
    assert texts(second, "facts") == ["of near"]
    assert entries(second, "concepts") == [["", "near_label"]]


def test_related_facts_and_known_reflections_are_shown_from_a_similarity_of_three_quarters():
    embedder = PlacedEmbedder()
    embedder.place("near", "new fact", OVER)
    embedder.place("far", "new fact", UNDER)
    _, chat = worked(
        ["a"],
        ["b"],
        ["c"],
        concept_facts=in_turn(reply([fact("near")]), reply([fact("far")]), reply([fact("new fact")])),
        reflections=lambda request: from_all_facts(f"of {texts(request, 'facts')[0]}")(request),
        embedder=embedder,
    )
    third = chat.asked("reflections")[2]
    assert [texts(third, name) for name in ("facts", "related", "reflections")] == [
        ["new fact"],
        ["near"],
        ["of near"],
    ]


def crowd(embedder, name, count, beside):
    """Texts ever a little less near to another."""
    made = [f"{name} {place}" for place in range(count)]
    for place, text in enumerate(made):
        embedder.place(text, beside, 0.9 - place * 0.01)
    return made


def test_ten_items_near_to_an_episode_are_looked_at_for_episodes_itself_among_them():
    embedder = PlacedEmbedder()
    older = crowd(embedder, "older", 12, "new")
    _, chat = worked(older, ["new"], embedder=embedder)
    assert texts(chat.requests[1], "related") == older[:9]


def test_five_items_near_to_an_episode_are_looked_at_for_concepts_itself_among_them():
    embedder = PlacedEmbedder()
    labels = crowd(embedder, "label", 7, "new")
    _, chat = worked(["old"], ["new"], concept_facts=reply(concepts=map(concept, labels)), embedder=embedder)
    assert texts(chat.asked("concept_facts")[1], "concepts") == labels[:4]


def test_five_items_near_to_a_fact_are_looked_at_for_facts_itself_among_them():
    embedder = PlacedEmbedder()
    older = crowd(embedder, "older", 7, "new fact")
    _, chat = worked(
        ["a"],
        ["b"],
        concept_facts=in_turn(reply(map(fact, older)), reply([fact("new fact")])),
        embedder=embedder,
    )
    assert texts(chat.asked("reflections")[1], "related") == older[:4]


def test_a_known_concept_is_taken_again_and_keeps_its_place():
    embedder = PlacedEmbedder()
    embedder.place("label", "new", 0.9)
    builder, _ = worked(
        ["old"], ["new"], concept_facts=reply(concepts=[concept("LABEL", "old", "new")]), embedder=embedder
    )
    [known] = builder.graph.of_kind("concept")
    assert known.sequence == 2
    assert edges(builder.graph, "HAS_CONCEPT") == [
        ("HAS_CONCEPT", "old", "label"),
        ("HAS_CONCEPT", "new", "label"),
    ]


# The words of a prompt


def words(name, count):
    """Texts of nine words, ten with an id."""
    return [f"{name} {place} 3 4 5 6 7 8 9" for place in range(count)]


def crowded_prompt(labels):
    """A request for facts with more to show than 2,000 words: 80 new episodes, 80 older, their facts, labels."""
    embedder = PlacedEmbedder()
    old, new = words("old", 80), words("new", 80)
    known = [[f"label{place}-{number}" for number in range(labels)] for place in range(80)]
    for place in range(80):
        embedder.place(old[place], new[place], 0.8)
        for label in known[place]:
            embedder.place(label, new[place], 0.95)
    facts = [fact(text, [source]) for text, source in zip(words("fact", 80), old, strict=True)]
    concepts = [concept(label) for some in known for label in some]
    _, chat = worked(old, new, concept_facts=in_turn(reply(facts, concepts), reply()), embedder=embedder)
    return chat.asked("concept_facts")[1]


def test_of_2000_words_new_episodes_have_35_percent_related_and_facts_25_and_concepts_15():
    request = crowded_prompt(labels=4)
    shown = {name: len(entries(request, name)) for name in ("episodes", "related", "facts", "concepts")}
    assert shown == {"episodes": 70, "related": 50, "facts": 50, "concepts": 300}


def test_words_that_a_section_leaves_over_go_to_the_others_in_their_order():
    request = crowded_prompt(
        labels=1
    )  # 220 words are left over: ten lines of episodes and twelve of related ones
    shown = {name: len(entries(request, name)) for name in ("episodes", "related", "facts", "concepts")}
    assert shown == {"episodes": 80, "related": 62, "facts": 50, "concepts": 80}


def test_of_2000_words_new_facts_have_40_percent_related_facts_and_reflections_30():
    embedder = PlacedEmbedder()
    old, new, insights = words("old", 90), words("new", 90), words("insight", 90)
    for one, two in zip(old, new, strict=True):
        embedder.place(one, two, 0.8)

    def one_each(request):
        pairs = zip(insights, ids(request, "facts"), strict=False)
        return {"reflections": [{"reflection_text": text, "source_fact_ids": [id]} for text, id in pairs]}

    chat = FakeBuilder(in_turn(reply(map(fact, old)), reply(map(fact, new))), one_each)
    builder = new_builder(chat, embedder, prompt_words=10_000)
    builder.work_in([event("a")], ())
    builder.settings = builder.settings.model_copy(update={"prompt_words": 2000})
    builder.work_in([event("b")], ())
    request = chat.asked("reflections")[1]
    shown = {name: len(entries(request, name)) for name in ("facts", "related", "reflections")}
    assert shown == {"facts": 80, "related": 60, "reflections": 60}


def test_a_section_ends_at_the_first_line_that_does_not_fit():
    long = " ".join(["word"] * 1990)
    _, chat = worked(["short", long, "also short"])
    assert texts(chat.requests[0], "episodes") == ["short", long, "also short"]
    _, chat = worked(["short", long + " and ten words more, which are too many for it", "also short"])
    assert texts(chat.requests[0], "episodes") == ["short"]


# What the benchmark itself says


def test_observations_are_shown_to_offline_models_with_the_ids_of_their_episodes_and_to_no_language_model():
    chat = FakeBuilder()
    builder = new_builder(chat)
    builder.work_in([event("a"), event("b")], [Observation("Ann is a pilot.", ("a", "b"))])
    [request] = chat.requests
    assert json.loads(request.inputs["observed"]) == [["Ann is a pilot.", [episode_id("a"), episode_id("b")]]]
    assert "pilot" not in request.user + request.system
