"""GAAMA through the protocol: what it works in and when, what it shows, and that it comes back from its tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from memory.conversation import History, Observation
from memory.errors import BadInput, CallFailed
from memory.gaama.graph import episode_id
from memory.protocol import Beside, Budgeted, Finishing, Models, Nobody
from memory.systems.gaama import Gaama
from tasks.benchmarks import locomo
from tasks.merge import in_order
from tests.memory.fake_models import MAY, FakeHashEmbedder, session
from tests.memory.gaama.fakes import (
    FakeBuilder,
    PlacedEmbedder,
    ask,
    edges,
    gaama_settings,
    ids,
    of_kind,
    texts,
)

LOCOMO = Path(__file__).parents[3] / "shared" / "data" / "locomo10.json.gz"
LONG = " ".join(["word"] * 241)
"""With its date, its speaker and a first word of its own a turn of this text has 250 words: two fill a chunk."""


def turns(*names):
    return [f"{name} {LONG[5:]}" for name in names]


def named(text):
    """The first word that the speaker of an episode says."""
    return text.split(": ")[1].split()[0]


def one_fact_each(request):
    """A fact for each new episode, about a concept of its own and one that all share."""
    shown = list(zip(ids(request, "episodes"), map(named, texts(request, "episodes")), strict=True))
    facts = [
        {
            "fact_text": f"The fact of {name}.",
            "source_episode_ids": [id],
            "concepts": [f"about_{name}", "shared"],
        }
        for id, name in shown
    ]
    concepts = [{"concept_label": f"about_{name}", "episode_ids": [id]} for id, name in shown]
    shared = {"concept_label": "shared", "episode_ids": [id for id, _ in shown]}
    return {"facts": facts, "concepts": [*concepts, shared]}


def one_insight(request):
    """A reflection that rests on all new facts."""
    name = texts(request, "facts")[0]
    return {"reflections": [{"reflection_text": f"Seen in {name}", "source_fact_ids": ids(request, "facts")}]}


def made(profile="published", embedder=None, builder=None, **changes):
    builder = builder or FakeBuilder(one_fact_each, one_insight)
    return Gaama(gaama_settings(profile, **changes), Models(Nobody(), embedder or PlacedEmbedder(), builder))


# When chunks are worked in


def test_turns_wait_until_their_chunk_is_full_also_across_sessions():
    system = made()
    system.remember(session(*turns("a", "b", "c")), {})
    assert [named(text) for text in of_kind(system.graph, "episode")] == ["a", "b"]
    system.remember(session(*turns("d"), position=1), {})
    assert len(of_kind(system.graph, "episode")) == 2  # c and d fill a chunk, and no next turn says so yet
    system.remember(session(*turns("e"), position=2), {})
    assert [named(text) for text in of_kind(system.graph, "episode")] == ["a", "b", "c", "d"]
    system.finish()
    assert [named(text) for text in of_kind(system.graph, "episode")] == ["a", "b", "c", "d", "e"]
    system.finish()
    requests = system.models.builder.asked("concept_facts")
    assert [[named(text) for text in texts(request, "episodes")] for request in requests] == [
        ["a", "b"],
        ["c", "d"],
        ["e"],
    ]


def test_a_question_works_in_the_turns_that_still_wait():
    system = made()
    system.remember(session("Hello."), {})
    assert "Hello." in system.recall(ask("?")).context


def test_each_chunk_is_at_most_two_calls_facts_before_reflections():
    system = made()
    system.remember(session(*turns("a", "b", "c", "d", "e")), {})
    system.finish()
    assert [request.task for request in system.models.builder.requests] == [
        "concept_facts",
        "reflections",
    ] * 3


@pytest.mark.skipif(not LOCOMO.exists(), reason=f"{LOCOMO.name} is not at hand")
def test_locomos_first_conversation_of_29_chunks_is_built_with_58_calls_where_each_yields_a_fact():
    first = next(iter(locomo.load(LOCOMO, "locomo").histories.values()))
    builder = FakeBuilder('{"facts": [{"fact_text": "A fact."}], "concepts": []}')
    system = made(embedder=FakeHashEmbedder(), builder=builder)
    for heard in first.sessions:
        system.remember(heard, {})
    system.finish()
    assert len(builder.requests) == 58  # as all ten have 380 chunks, building them makes at most 760


def test_the_order_of_sessions_is_the_files_as_published_and_that_of_time_if_improved():
    history = History(
        "h", (session("later", date=MAY), session("earlier", position=1, date=MAY - timedelta(days=1)))
    )
    shown = {}
    for profile in ("published", "improved"):
        system = made(profile)
        for heard in in_order(history, system.settings.model_dump()):
            system.remember(heard, {})
        lines = system.recall(ask("?")).context.splitlines()
        shown[profile] = [named(line) for line in lines[lines.index("## Episodes, in order of time") + 1 :]]
    assert shown == {"published": ["later", "earlier"], "improved": ["earlier", "later"]}


def test_what_the_benchmark_says_is_shown_with_the_chunk_of_the_last_turn_that_it_stands_on():
    builder = FakeBuilder()
    system = made(builder=builder)
    heard = session(*turns("a", "b", "c", "d"))
    said = (Observation("of a and c", ("h#0.0", "h#0.2")), Observation("of b", ("h#0.1",)))
    system.remember(replace(heard, observations=said), {})
    system.finish()
    shown = [request.inputs["observed"] for request in builder.requests]
    assert [text in inputs for inputs in shown for text in ("of a and c", "of b")] == [
        False,
        True,
        True,
        False,
    ]
    assert episode_id("h#0.0") in shown[1]


# What is recalled


def test_a_recall_shows_facts_reflections_and_episodes_and_the_turns_they_stand_on():
    embedder = PlacedEmbedder()
    embedder.place("Which?", "The fact of b.", 0.9)
    system = made(embedder=embedder)
    system.remember(session("a", "b"), {})
    found = system.recall(ask("Which?"))
    # b: its fact has similarity 0.95, all else 0.5; it is the greatest seed, and a hop from its episode and concepts.
    assert found.context == (
        "## Facts\n- The fact of b.\n- The fact of a.\n\n"
        "## Reflections\n- Seen in The fact of a.\n\n"
        "## Episodes, in order of time\n"
        "- [12:00 pm on 20 May, 2023] Ann: a\n- [12:00 pm on 20 May, 2023] Bob: b"
    )
    assert [source.turn for source in found.provenance] == ["h#0.1", "h#0.0"]
    assert found.provenance[0].score == pytest.approx(1.1, abs=1e-5)
    assert (found.items, found.flags) == (5, ())


def test_a_thousand_words_are_shown_unless_another_number_is_asked_for():
    system = made()
    system.remember(session(*[f"turn{number} {'word ' * 91}" for number in range(20)]), {})
    system.finish()

    def words(found):
        return sum(len(line[2:].split()) for line in found.context.splitlines() if line.startswith("- "))

    usual, query = system.recall(ask("?")), ask("?")
    assert 900 < words(usual) <= 1000 and "trimmed" in usual.flags
    some, all_of_it, same = system.recall_within(query, [250, None, 1000])
    assert same == usual
    assert 150 < words(some) <= 250
    assert words(all_of_it) > 2000
    assert all_of_it.items == 20 + 20 + len(of_kind(system.graph, "reflection"))


def test_of_a_turn_it_holds_the_episode_the_facts_read_in_it_and_the_reflections_on_these():
    system = made()
    heard = session("a", "b")
    system.remember(heard, {})
    assert system.standing_on(heard.turns[0]) == []  # it waits
    system.finish()
    assert system.standing_on(heard.turns[0]) == [
        "- [12:00 pm on 20 May, 2023] Ann: a",
        "- The fact of a.",
        "- Seen in The fact of a.",
    ]


@pytest.mark.parametrize(("words", "items"), [(1000, 1), (1001, 0)])
def test_a_turn_of_more_than_a_thousand_words_is_not_shown(words, items):
    system = made(builder=FakeBuilder())
    system.remember(session(" ".join(["word"] * (words - 1)), date=None), {})  # and one of its speaker
    assert system.recall(ask("?")).items == items


def test_rows_of_other_conversations_take_places_as_published_and_none_if_improved():
    for profile, expected in (("published", ("nothing_found",)), ("improved", ())):
        embedder = PlacedEmbedder()
        system = made(profile, embedder)
        system.remember(session("a", "b"), {})
        system.finish()
        system.beside(np.stack([embedder.vector("?")] * 660))
        assert system.recall(ask("?")).flags == expected


def test_it_says_what_is_amiss():
    embedder = PlacedEmbedder(refused=["[12:00 pm on 20 May, 2023] Bob: b"])
    system = made(embedder=embedder, builder=FakeBuilder("no JSON"))
    system.remember(session("a", "b"), {})
    assert system.recall(ask("?")).flags == ("replies_failed", "items_without_vector")
    assert system.builder.failed == system.builder.unembedded == 1
    assert made().recall(ask("?")).flags == ("nothing_found",)


@pytest.mark.parametrize(("mode", "flags"), [("ppr", ("found_by_graph_alone",)), ("semantic", ())])
def test_it_says_that_only_the_graph_has_found_something(mode, flags):
    embedder = PlacedEmbedder()
    embedder.place("?", "[12:00 pm on 20 May, 2023] Bob: turn49", 0.9)
    budgets = {"facts": 1, "reflection_items": 0, "skills": 0, "episodes": 1}  # so that the pool is 80 of 100
    system = made("improved", embedder, mode=mode, reflections=False, concepts=False, **budgets)
    system.remember(session(*[f"turn{number}" for number in range(50)]), {})
    found = system.recall(ask("?"))
    assert "Bob: turn49" in found.context
    assert ("The fact of turn49." in found.context, found.flags) == (bool(flags), flags)


def test_the_question_must_have_a_vector():
    system = made(embedder=PlacedEmbedder(refused=["?"]))
    with pytest.raises(CallFailed, match="question") as failure:
        system.recall(ask("?"))
    assert not failure.value.final


# Tables


def test_it_comes_back_in_the_middle_of_a_conversation_and_goes_on_as_the_first_would():
    heard = [session(*turns(*names), position=place) for place, names in enumerate(("abc", "de", "fgh"))]
    heard[1] = replace(heard[1], observations=(Observation("of d and e", ("h#1.0", "h#1.1")),))
    first = made()
    for one in heard[:2]:
        first.remember(one, {})
    assert len(first.waiting) == 1 and first.observed
    first.builder.failed, first.builder.unembedded = 3, 4
    back = Gaama.from_tables(first.tables(), first.settings, first.models)
    for system in (first, back):
        system.remember(heard[2], {})
        system.finish()
    assert [back.tables()[name].equals(table) for name, table in first.tables().items()] == [True] * 4
    assert (back.builder.failed, back.builder.unembedded) == (3, 4)
    asked = first.models.builder.asked("concept_facts")
    assert [request.inputs for request in asked[-2:]] == [request.inputs for request in asked[-4:-2]]
    assert back.recall(ask("?")) == first.recall(ask("?"))


@pytest.mark.parametrize("lacking", ["items", "links", "waiting", "state"])
def test_a_memory_that_lacks_a_table_is_refused_in_one_line(lacking):
    system = made()
    system.remember(session("a"), {})
    tables = {name: table for name, table in system.tables().items() if name != lacking}
    with pytest.raises(BadInput, match=rf"^[^\n]*{lacking}[^\n]*build it again$"):
        Gaama.from_tables(tables, system.settings, system.models)


def test_what_a_model_wrote_can_be_stored_even_half_a_character():
    reply = '{"facts": [{"fact_text": "half \\ud83d", "concepts": ["c \\ud83d"]}], "concepts": []}'
    system = made(builder=FakeBuilder(reply))
    system.remember(session("a"), {})
    system.finish()
    back = Gaama.from_tables(system.tables(), system.settings, system.models)
    assert of_kind(back.graph, "fact") == of_kind(system.graph, "fact") == ["half \ufffd"]


def test_a_chain_goes_on_after_coming_back():
    first = made()
    first.remember(session("a"), {})
    first.finish()
    back = Gaama.from_tables(first.tables(), first.settings, first.models)
    back.remember(session("b", position=1), {})
    back.finish()
    assert [(named(one), named(two)) for _, one, two in edges(back.graph, "NEXT")] == [("a", "b")]


def test_it_offers_what_the_protocol_names():
    assert isinstance(made(), Finishing) and isinstance(made(), Budgeted) and isinstance(made(), Beside)
