"""Which items answer a question: each constant of section 5 of the facts file by what it does."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from memory.gaama.graph import Item, text_id
from memory.gaama.retrieval import nearest, rank
from memory.vectors import VectorIndex
from tests.memory.gaama.fakes import Placed, gaama_settings

STOPPED = 1e-5
"""How far a score by hand may be from one whose iteration stops at a change of 1e-6."""


def ranked(placed, profile="published", others=None, **changes):
    return rank(placed.graph, gaama_settings(profile, **changes), placed.query, others)


def scores(ranking):
    return {found.item.text: found.score for found in ranking.chosen}


def ppr(placed, ranking):
    """Personalized PageRank by the text of an item."""
    return {item.text: ranking.ppr[item.row] for item in placed.graph.items.values()}


def others_at(similarity, count):
    """As many vectors of other conversations, all of one similarity."""
    cosine = 2 * similarity - 1
    index = VectorIndex(2)
    for _ in range(count):
        index.add([cosine, np.sqrt(1 - cosine**2)])
    return index


# The score


def test_the_score_is_a_tenth_of_the_greatest_pagerank_and_all_of_the_greatest_similarity():
    placed = Placed()
    placed.add("fact", "near", 0.8)
    placed.add("fact", "far", 0.6)
    # Without edges each seed keeps its share: 0.8 / 1.4 and 0.6 / 1.4, the first the greatest.
    found = ranked(placed)
    assert ppr(placed, found) == pytest.approx({"near": 1.0, "far": 0.75}, abs=STOPPED)
    assert scores(found) == pytest.approx({"near": 1.1, "far": 0.1 * 0.75 + 0.6 / 0.8}, abs=STOPPED)


def test_similarity_is_half_of_one_and_the_cosine():
    placed = Placed()
    for text, vector in (
        ("same", [1.0, 0.0]),
        ("sixty degrees", [0.5, 0.75**0.5]),
        ("right angle", [0.0, 1.0]),
    ):
        placed.graph.add(Item(text, -1, "fact", text, None), vector)
    expected = {"same": 1.0, "sixty degrees": 0.75, "right angle": 0.5}
    assert scores(ranked(placed, mode="semantic")) == pytest.approx(expected)


def test_an_item_without_similarity_and_pagerank_does_not_enter():
    placed = Placed()
    placed.add("fact", "opposite", 0.0)
    assert ranked(placed).chosen == () and ranked(placed, mode="semantic").chosen == ()


def test_a_seed_follows_an_edge_with_a_chance_of_six_tenths():
    placed = Placed()
    placed.graph.join("DERIVED_FROM", placed.add("fact", "f", 1.0), placed.add("episode", "e", 0.0))
    # f = 0.4 + 0.6 e and e = 0.6 f
    found = ranked(placed)
    assert ppr(placed, found) == pytest.approx({"f": 1.0, "e": 0.6}, abs=STOPPED)
    assert scores(found) == pytest.approx({"f": 1.1, "e": 0.06}, abs=STOPPED)


def test_edges_pass_on_by_the_weight_of_their_type_in_either_direction():
    placed = Placed()
    middle = placed.add("fact", "middle", 1.0)
    for type in ("NEXT", "DERIVED_FROM", "HAS_CONCEPT", "ABOUT_CONCEPT", "DERIVED_FROM_FACT"):
        leaf = placed.add("episode", type, 0.0)
        ends = (leaf, middle) if type in ("DERIVED_FROM_FACT", "NEXT") else (middle, leaf)
        placed.graph.join(type, *ends)
    # Together the leaves have 0.6 of the middle's rank, by weight: 0.8 + 0.8 + 0.8 + 0.8 + 0.5 = 3.7.
    strong, weak = 0.6 * 0.8 / 3.7, 0.6 * 0.5 / 3.7
    assert ppr(placed, ranked(placed)) == pytest.approx(
        {
            "middle": 1.0,
            "NEXT": strong,
            "DERIVED_FROM": strong,
            "HAS_CONCEPT": strong,
            "ABOUT_CONCEPT": strong,
            "DERIVED_FROM_FACT": weak,
        },
        abs=STOPPED,
    )


def test_parallel_edges_add_up():
    placed = Placed()
    middle = placed.add("fact", "middle", 1.0)
    once, twice = placed.add("episode", "once", 0.0), placed.add("episode", "twice", 0.0)
    for target in (once, twice, twice):
        placed.graph.join("DERIVED_FROM", middle, target)
    assert ppr(placed, ranked(placed)) == pytest.approx(
        {"middle": 1.0, "once": 0.2, "twice": 0.4}, abs=STOPPED
    )


def by_hand(settings, change, most):
    """Two joined items of similarity 1 and 0: the iteration as section 5.2 writes it, to its end."""
    one, two = 1.0, 0.0
    for _ in range(most):
        following = (1 - settings.damping + settings.damping * two, settings.damping * one)
        moved = abs(following[0] - one) + abs(following[1] - two)
        one, two = following
        if moved < change:
            break
    return two / one


@pytest.mark.parametrize("profile", ["published", "improved"])
def test_it_stops_when_a_step_moves_less_than_a_millionth_or_after_a_hundred_steps(profile):
    placed = Placed()
    placed.graph.join("NEXT", placed.add("episode", "a", 1.0), placed.add("episode", "b", 0.0))
    usual = gaama_settings(profile)
    assert ppr(placed, ranked(placed, profile))["b"] == pytest.approx(by_hand(usual, 1e-6, 100), rel=1e-12)
    slow = gaama_settings(profile, damping=0.99, tolerance=1e-9)
    found = ranked(placed, profile, damping=0.99, tolerance=1e-9)
    assert ppr(placed, found)["b"] == pytest.approx(by_hand(slow, 1e-9, 100), rel=1e-12)


# Seeds and hops


def test_the_forty_most_similar_of_any_kind_are_seeds():
    placed = Placed()
    kinds = ["episode", "fact", "concept", "reflection"]
    for place in range(41):
        placed.add(kinds[place % 4], f"item {place}", 0.9 - place * 0.01)
    walked = ranked(placed).ppr
    assert (walked[:40] > 0).all() and walked[40] == 0


@pytest.mark.parametrize(("change", "reached"), [({}, 2), ({"hops": 1}, 1), ({"hops": 0}, 0)])
def test_two_hops_are_walked_from_the_seeds(change, reached):
    placed = Placed()
    placed.many("fact", 39, 0.9)
    chain = [placed.add("episode", f"e{place}", 0.95 if not place else 0.1) for place in range(4)]
    for one, two in itertools.pairwise(chain):
        placed.graph.join("NEXT", one, two)
    walked = ppr(placed, ranked(placed, **change))
    assert [walked[f"e{place}"] > 0 for place in range(4)] == [place <= reached for place in range(4)]


# The pool


@pytest.mark.parametrize(
    ("changes", "pool"),
    [
        ({}, 330),
        ({"mode": "semantic"}, 1650),
        ({"facts": 2, "reflection_items": 0, "skills": 0, "episodes": 2}, 80),
        ({"facts": 20, "reflection_items": 10, "skills": 1, "episodes": 20}, 102),
        ({"mode": "semantic", "facts": 1, "reflection_items": 0, "skills": 0, "episodes": 1}, 80),
    ],
)
def test_the_search_takes_twice_the_budgets_or_ten_times_in_semantic_mode_and_at_least_eighty(changes, pool):
    placed = Placed()
    placed.many("fact", 1700, 0.9)
    assert ranked(placed, **changes).pool == pool


@pytest.mark.parametrize(
    ("changes", "raw"),
    [({}, 660), ({"mode": "semantic"}, 3300), ({"facts": 0, "episodes": 0, "reflection_items": 0}, 160)],
)
def test_published_looks_at_twice_as_many_rows_of_the_whole_database_before_it_leaves_out_others(
    changes, raw
):
    placed = Placed()
    placed.many("fact", 10, 0.6)
    nearer = others_at(0.9, raw - 4)
    assert ranked(placed, others=nearer, **changes).pool == 4
    assert ranked(placed, "improved", nearer, **changes).pool == 10
    assert ranked(placed, others=others_at(0.3, 5000), **changes).pool == 10


def test_a_small_search_looks_at_twenty_rows():
    placed = Placed()
    placed.many("fact", 10, 0.6)
    found = nearest(placed.graph, gaama_settings(), placed.query, 5, others_at(0.9, 17))
    assert [shown.item.text for shown in found] == ["fact 0", "fact 1", "fact 2"]


def test_rows_of_others_take_places_by_their_similarity():
    placed = Placed()
    placed.add("fact", "nearer than the others", 0.95)
    placed.add("fact", "as near", 0.9)
    placed.add("fact", "farther", 0.85)
    found = ranked(placed, others=others_at(0.9, 700))
    assert list(scores(found)) == ["nearer than the others", "as near"]


# What only the graph finds


def beyond_the_pool():
    """Eighty items fill the pool; the best of them, `f`, leads to an episode outside it."""
    placed = Placed()
    fact = placed.add("fact", "f", 0.95)
    for place in range(79):
        placed.add("fact", f"filler {place}", 0.75)
    placed.graph.join("DERIVED_FROM", fact, placed.add("episode", "e", 0.7))
    return placed


SMALL = {"facts": 10, "reflection_items": 5, "skills": 5, "episodes": 10}


def test_what_the_graph_alone_finds_has_no_similarity_as_published_and_its_own_if_improved():
    placed = beyond_the_pool()
    # Among forty seeds of about one weight, f has the greatest rank and e 0.6 of it.
    published, improved = ranked(placed, **SMALL), ranked(placed, "improved", **SMALL)
    assert published.pool == improved.pool == 80
    assert scores(published)["e"] == pytest.approx(0.06, abs=STOPPED)
    assert scores(improved)["e"] == pytest.approx(0.06 + 0.7 / 0.95, abs=STOPPED)
    assert published.discovered == improved.discovered == 1


def test_what_the_graph_alone_finds_is_not_there_in_semantic_mode():
    placed = beyond_the_pool()
    found = ranked(placed, mode="semantic", facts=5, reflection_items=0, skills=0, episodes=3)
    assert "e" not in scores(found) and found.ppr.shape == (0,)


# Hubs


@pytest.mark.parametrize("episodes", [50, 51, 100])
def test_the_limit_on_hubs_does_nothing_as_published_and_acts_above_fifty_if_improved(episodes):
    placed = Placed()
    concept = placed.add("concept", "c", 1.0)
    for episode in placed.many("episode", episodes, 0.0001 * episodes):
        placed.graph.join("HAS_CONCEPT", episode, concept)
    graph, seeds = placed.graph, {"seeds": 1}
    published = rank(graph, gaama_settings("published", **seeds), placed.query).ppr
    improved = rank(graph, gaama_settings("improved", **seeds), placed.query).ppr
    each = 0.6 / episodes
    assert published[1:] == pytest.approx(np.full(episodes, each), abs=STOPPED)
    assert improved[1:] == pytest.approx(np.full(episodes, each * min(1, 50 / episodes)), abs=STOPPED)


# Budgets


def test_sixty_facts_twenty_reflections_eighty_episodes_and_never_a_concept_are_chosen():
    placed = Placed()
    for kind, similarity in (("concept", 0.9), ("fact", 0.8), ("reflection", 0.7), ("episode", 0.6)):
        placed.many(kind, 90, similarity)
    chosen = ranked(placed, mode="semantic").chosen
    assert Counter(found.item.kind for found in chosen) == {"fact": 60, "reflection": 20, "episode": 80}
    assert [found.item.text for found in chosen[:60]] == [f"fact {place}" for place in range(60)]


def test_as_on_memoryarena_forty_facts_five_reflections_sixty_episodes_from_a_pool_of_210_and_one_hop():
    placed = Placed()
    for kind, similarity in (("fact", 0.8), ("reflection", 0.7), ("episode", 0.6)):
        placed.many(kind, 90, similarity)
    chosen = ranked(placed, "arena", mode="semantic").chosen
    assert Counter(found.item.kind for found in chosen) == {"fact": 40, "reflection": 5, "episode": 60}
    chain = ["fact 0", placed.add("episode", "one hop"), placed.add("episode", "two hops")]
    placed.graph.join("DERIVED_FROM", text_id("fact 0"), chain[1])
    placed.graph.join("NEXT", chain[1], chain[2])
    found = ranked(placed, "arena")
    assert found.pool == 210
    assert [ppr(placed, found)[text] > 0 for text in chain] == [True, True, False]


def test_items_of_one_score_are_ranked_as_they_came_to_be():
    placed = Placed()
    texts = [f"fact {place}" for place in range(60, 0, -1)]
    for text in texts:
        placed.add("fact", text, 0.7)
    assert list(scores(ranked(placed, seeds=60))) == texts


# Parts that may be left out


def test_without_concepts_nothing_passes_through_one():
    placed = Placed()
    placed.many("fact", 40, 0.9)
    one, two = placed.add("episode", "one", 0.95), placed.add("episode", "two", 0.1)
    concept = placed.add("concept", "c", 0.1)
    placed.graph.join("HAS_CONCEPT", one, concept)
    placed.graph.join("HAS_CONCEPT", two, concept)
    assert ppr(placed, ranked(placed))["two"] > 0
    without = ranked(placed, concepts=False)
    assert ppr(placed, without)["two"] == 0 and without.pool == ranked(placed).pool - 1


def test_without_reflections_none_is_chosen():
    placed = Placed()
    placed.add("reflection", "r", 0.9)
    placed.add("fact", "f", 0.8)
    assert list(scores(ranked(placed))) == ["r", "f"]
    assert list(scores(ranked(placed, reflections=False))) == ["f"]


@pytest.mark.parametrize("profile", ["published", "improved"])
def test_what_was_taken_out_is_never_ranked(profile):
    placed = Placed()
    one, two = placed.add("fact", "one", 0.9), placed.add("fact", "two", 0.8)
    placed.graph.join("DERIVED_FROM", one, placed.add("episode", "e", 0.7))
    placed.graph.remove(one)
    found = ranked(placed, profile)
    assert list(scores(found)) == ["two", "e"] and found.ppr[0] == 0
    placed.graph.remove(two)
    assert list(scores(ranked(placed, profile, mode="semantic"))) == ["e"]


def test_an_item_that_becomes_one_of_another_kind_is_found_once_and_as_that():
    placed = Placed()
    placed.add("fact", "same", 0.9)
    placed.add("fact", "other", 0.8)
    assert list(scores(ranked(placed, concepts=False))) == ["same", "other"]
    placed.add("concept", "same", 0.9)
    assert list(scores(ranked(placed))) == ["other"]
    assert ranked(placed, concepts=False).pool == 1
    near = nearest(placed.graph, gaama_settings(), placed.query, 5)
    assert [found.item.text for found in near] == ["same", "other"]


def test_an_edge_or_item_added_later_takes_part():
    placed = Placed()
    placed.many("fact", 40, 0.9)
    fact = placed.add("fact", "f", 0.95)
    assert "e" not in ppr(placed, ranked(placed))
    placed.graph.join("DERIVED_FROM", fact, placed.add("episode", "e", 0.1))
    assert ppr(placed, ranked(placed))["e"] > 0
    placed.graph.part(fact, "e")
    assert ppr(placed, ranked(placed))["e"] == 0
