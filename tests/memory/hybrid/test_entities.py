"""Entities and stated values by rule, and the graph of the turns that mention them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.hybrid.entities import entities_of, phrases_of, values_of
from memory.hybrid.graph import EntityGraph, Version
from memory.vectors import Doubles

ALONE = np.arange(9)
"""Every turn in a session of its own."""


def graph(*texts: str) -> EntityGraph:
    made = EntityGraph()
    for text in texts:
        made.add(text, stated=True)
    return made


def test_noun_phrases_and_their_words_and_names_are_entities_in_the_singular_and_in_lower_case() -> None:
    text = "I polish my leather boots, with Ann Lee."
    assert entities_of(text) == ["ann lee", "leather", "boot", "leather boot"]


def test_a_capital_that_begins_a_sentence_names_nothing() -> None:
    assert entities_of("Boats sink. Trains stop.") == []


def test_a_value_is_what_a_sentence_states_beside_an_entity_and_the_last_one_counts() -> None:
    text = "My rent is $1,200. The garage is free. My rent was 900 once."
    assert values_of(text)["rent"] == "900"
    assert values_of("My rent is $1,200. The garage is free.") == {"rent": "$1,200"}


def test_a_question_names_its_runs_of_words_the_longest_first() -> None:
    assert phrases_of("What is my monthly rent?") == ["monthly rent", "monthly", "rent"]


def test_the_versions_of_an_entity_stand_in_the_order_of_their_turns() -> None:
    made = graph("My rent is $1,200.", "My goat is ill.", "My rent is $1,300 by now.")
    found = made.versions_of(made.numbers["rent"], range(3))
    assert found == [Version(0, "$1,200"), Version(2, "$1,300")]


def test_what_an_assistant_says_states_no_value() -> None:
    made = EntityGraph()
    made.add("The rent is $5,000.", stated=False)
    assert made.versions_of(made.numbers["rent"], [0]) == []


def walked(made: EntityGraph, seeds: list[int], turns: int | None, entities: tuple[str, ...] = ()) -> Doubles:
    return made.walk(
        np.array(seeds, np.intp),
        np.ones(len(seeds)),
        [made.numbers[name] for name in entities],
        ALONE[: len(made)],
        damping=0.5,
        hub_limit=50,
        turns=turns,
    )


CHAIN = ("I saw the goat.", "The goat ate the boot.", "The boot is red.", "We had the soup.")


def test_a_walk_reaches_turns_by_shared_entities_the_nearer_ones_more() -> None:
    rank = walked(graph(*CHAIN), [0], None)
    assert rank[0] > rank[1] > rank[2] > 0
    assert rank[3] == 0


def test_a_walk_from_a_named_entity_needs_no_turn_to_start_at() -> None:
    rank = walked(graph(*CHAIN), [], None, ("soup", "boot"))
    assert np.flatnonzero(rank).tolist() == [0, 1, 2]
    assert rank[1] == rank.max()


def test_an_entity_that_everything_mentions_is_not_walked_through() -> None:
    made = graph(*["The goat bleats."] * 5)
    rank = made.walk(np.array([0]), np.ones(1), [], ALONE[:5], damping=0.5, hub_limit=5, turns=None)
    assert np.flatnonzero(rank).tolist() == [0]


def test_turns_that_follow_each_other_in_a_session_are_joined() -> None:
    made = graph("We sail.", "We row.", "We swim.")
    rank = made.walk(np.array([0]), np.ones(1), [], np.array([0, 0, 1]), damping=0.5, hub_limit=5, turns=None)
    assert np.flatnonzero(rank).tolist() == [0, 1]


def test_on_a_subgraph_that_holds_everything_in_reach_a_walk_is_that_over_the_whole_graph() -> None:
    made = graph(*CHAIN)
    assert walked(made, [0], 3) == pytest.approx(walked(made, [0], None), abs=1e-6)


def test_a_bounded_walk_goes_to_the_nearest_turns_alone() -> None:
    assert np.flatnonzero(walked(graph(*CHAIN), [0], 2)).tolist() == [0, 1]


@given(st.lists(st.sampled_from([*CHAIN, "Ann met Bob.", "My rent is 900.", ""]), max_size=8), st.data())
def test_what_is_kept_is_as_if_nothing_else_had_been_added(texts: list[str], data: st.DataObject) -> None:
    stay = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), np.bool_)
    made = graph(*texts)
    kept = made.keep(stay, np.ones(len(made.numbers), np.bool_))
    expected = graph(*[text for text, stays in zip(texts, stay.tolist(), strict=True) if stays])
    assert list(kept.numbers) == list(expected.numbers)
    assert kept.values() == expected.values()
    assert kept.nbytes == expected.nbytes


def test_a_forgotten_entity_takes_its_mentions_and_values_with_it() -> None:
    made = graph("My rent is 900.", "My goat is 3.")
    entities = np.array([name != "rent" for name in made.numbers])
    kept = made.keep(np.ones(2, np.bool_), entities)
    assert list(kept.numbers) == ["goat"]
    assert kept.versions_of(0, range(2)) == [Version(1, "3")]


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_values_are_of_its_entities_by_sentence(text: str) -> None:
    assert all(entity and value for entity, value in values_of(text).items())
    assert len(set(entities_of(text))) == len(entities_of(text))
    assert len(set(phrases_of(text))) == len(phrases_of(text))
