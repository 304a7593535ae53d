"""One budget of tokens for every system: what each shows of it, and which turns its context stands on then."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st
from pydantic import ValidationError

from memory import tokens
from memory.conversation import OracleQuery, Query
from memory.packing import cost
from memory.systems import find
from memory.systems.graph import GraphMemory
from memory.systems.turns import RULE
from tests.memory.fake_models import MAY, asks_about, extraction, models, session, settings
from tests.memory.test_any_stream import fed, profiles, streams, switches

SHOWING = ("flat", "bm25", "full_context", "oracle", "gaama")
EVIDENCE = tuple(f"h#0.{place}" for place in range(20))


def heard(system, *texts, **changes):
    made = find(system)
    memory = made(
        made.Settings(**{"show_dates": False, **changes} if system != "gaama" else changes), models()
    )
    memory.remember(session(*texts), {})
    return memory


def ask(memory, text="kayak"):
    return memory.recall(
        OracleQuery("q", "h", text, None, EVIDENCE) if memory.sees_evidence else Query("q", "h", text)
    )


def parts(recall):
    return recall.context.split(RULE) if recall.context else []


# Turns that are ranked

RANKED = ("kayak", "kayak one two", "kayak " + "filler " * 30, "kayak " + "more " * 40, "tent")
"""BM25 ranks short turns with the word before longer ones, and the last, which does not have it, last."""


def test_a_turn_that_does_not_fit_is_passed_over_for_the_next_that_does_in_a_budget_of_tokens():
    sizes = [cost(text, 8) for text in RANKED]
    memory = heard("bm25", *RANKED, budget_tokens=sizes[0] + sizes[1] + sizes[4])
    assert parts(ask(memory)) == [RANKED[0], RANKED[1], RANKED[4]]
    memory = heard("bm25", *RANKED, budget_tokens=sizes[0] + sizes[1] + sizes[4] - 1)
    assert parts(ask(memory)) == [RANKED[0], RANKED[1]]


def test_the_ranking_stays_that_of_the_scores_and_the_context_says_apart_what_it_stands_on():
    sizes = [cost(text, 8) for text in RANKED]
    recall = ask(heard("bm25", *RANKED, ranked=1, k=1, budget_tokens=sizes[0] + sizes[2]))
    assert parts(recall) == [RANKED[0], RANKED[1], RANKED[4]]
    assert recall.stands_on == ("h#0.0", "h#0.1", "h#0.4")
    assert [source.turn for source in recall.provenance] == [f"h#0.{place}" for place in range(5)]
    scores = [source.score for source in recall.provenance]
    assert scores == sorted(scores, reverse=True)


def test_the_provenance_ends_with_the_last_turn_that_is_shown_where_no_more_are_to_be_ranked():
    recall = ask(heard("bm25", *RANKED, ranked=1, k=1, budget_tokens=cost(RANKED[0], 8) + 8))
    assert recall.stands_on == ("h#0.0",)
    assert [source.turn for source in recall.provenance] == ["h#0.0"]


@pytest.mark.parametrize("system", ["flat", "bm25"])
def test_the_budget_is_the_only_cap_on_what_a_ranking_shows(system):
    memory = heard(system, *RANKED, k=1, ranked=1, budget_tokens=10_000)
    assert sorted(parts(ask(memory))) == sorted(RANKED)


@pytest.mark.parametrize("system", ["flat", "bm25"])
def test_a_number_of_words_that_is_asked_for_comes_before_the_budget(system):
    [recall] = heard(system, *RANKED, budget_tokens=0).recall_within(Query("q", "h", "kayak"), [10_000])
    assert recall.items == 5


@pytest.mark.parametrize("system", ["flat", "bm25"])
def test_words_and_tokens_cannot_both_bound_a_context(system):
    with pytest.raises(ValidationError, match="max_words and budget_tokens both bound the context"):
        find(system).Settings(max_words=10, budget_tokens=10)


# Turns that are not ranked


def test_full_context_takes_the_newest_first_passes_over_what_does_not_fit_and_shows_them_in_order_of_time():
    memory = find("full_context")(
        find("full_context").Settings(show_dates=False, budget_tokens=cost("new", 8) + cost("old", 8)),
        models(),
    )
    memory.remember(session("new", position=0, date=MAY), {})
    memory.remember(session("old", position=1, date=MAY - timedelta(days=9)), {})
    memory.remember(session("long " * 40, position=2, date=MAY - timedelta(days=1)), {})
    recall = ask(memory)
    assert recall.context == "old\n\nnew"
    assert (recall.stands_on, recall.flags) == (("h#1.0", "h#0.0"), ("context_cut",))


def test_the_budget_stands_in_the_place_of_the_window_of_full_context():
    assert ask(heard("full_context", "a", "b", max_tokens=0, budget_tokens=100)).items == 2


def test_the_oracle_takes_the_evidence_in_its_order_and_says_that_it_left_some_out():
    recall = ask(heard("oracle", "one", "two " * 30, "three", budget_tokens=2 * cost("one", 8)))
    assert parts(recall) == ["one", "three"]
    assert recall.stands_on == ("h#0.0", "h#0.2")
    assert recall.flags == ("evidence_missing", "trimmed")  # of twenty turns of evidence it holds three


# The graph

CAT = extraction([("Person", "Ann"), ("Artifact", "cat")], [("Ann", "adopted", "cat")])
CAR = extraction([("Person", "Ann"), ("Artifact", "car")], [("Ann", "owns", "car")])
LINES = (
    "[Artifact] cat",
    "[Person] Ann",
    "Ann --[adopted]--> cat",
    "[Artifact] car",
    "Ann --[owns]--> car",
)
"""In the order of the budget: the root, then by score, each node with its edges to those before it."""


def graph(budget):
    memory = GraphMemory(
        settings("published", budget_tokens=budget, entry_tokens=8), models(asks_about(("Artifact", "cat")))
    )
    memory.remember(session("my cat", "?", "my car"), {"h#0.0": CAT, "h#0.2": CAR})
    return memory.recall(Query("q", "h", "cat?"))


@pytest.mark.parametrize("lines", range(1, 6))
def test_a_graph_shows_the_best_lines_that_fit(lines):
    recall = graph(sum(cost(line, 8) for line in LINES[:lines]))
    shown = [line for line in recall.context.splitlines() if line not in ("Nodes:", "Edges:")]
    assert sorted(shown) == sorted(LINES[:lines])
    assert (recall.items, recall.edges) == ([1, 2, 2, 3, 3][lines - 1], [0, 0, 1, 1, 2][lines - 1])
    assert ("trimmed" in recall.flags) == (lines < 5)


def test_a_whole_budget_shows_a_subgraph_as_no_budget_does():
    assert graph(1_000) == graph(None)


def test_a_graph_stands_on_the_turns_of_the_nodes_that_it_shows():
    assert graph(cost(LINES[0], 8)).stands_on == ("h#0.0",)
    assert graph(0).context == "" and graph(0).stands_on == ()


def test_an_edge_that_is_shown_stands_for_its_ends_though_their_lines_do_not_fit():
    long = extraction(
        [("Person", "Ann", "word " * 50), ("Location", "Rome", "word " * 50)], [("Ann", "in", "Rome")]
    )
    memory = GraphMemory(
        settings("published", budget_tokens=cost("Ann --[in]--> Rome", 8)),
        models(asks_about(("Person", "Ann"))),
    )
    memory.remember(session("Ann is in Rome."), {"h#0.0": long})
    recall = memory.recall(Query("q", "h", "Ann?"))
    assert recall.context == "Nodes:\nEdges:\nAnn --[in]--> Rome"
    assert (recall.items, recall.edges, recall.stands_on) == (0, 1, ("h#0.0",))


@effort(max_examples=40, deadline=None)
@given(profiles, switches, streams, st.integers(0, 150))
def test_no_graphs_context_takes_more_tokens_than_the_budget(profile, changes, stream, budget):
    memory = fed(profile, {**changes, "budget_tokens": budget}, stream)
    recall = memory.recall(Query("q", "h", "?", MAY))
    assert tokens.count(recall.context) <= budget
    assert {source.turn for source in recall.provenance} <= set(memory.graph.moments)


# All


TEXTS = st.lists(st.text("ab kayak.\n-#é漢", max_size=60), min_size=1, max_size=8)


@pytest.mark.parametrize("system", SHOWING)
@effort(max_examples=25, deadline=None)
@given(TEXTS, st.integers(0, 120))
def test_no_context_takes_more_tokens_than_the_budget(system, texts, budget):
    recall = ask(heard(system, *texts, budget_tokens=budget))
    assert tokens.count(recall.context) <= budget
    assert set(recall.stands_on) <= {source.turn for source in recall.provenance}
    if budget < 8:
        assert (recall.context, recall.stands_on) == ("", ())


@pytest.mark.parametrize("system", ["flat", "bm25", "full_context", "oracle"])
@effort(max_examples=25, deadline=None)
@given(TEXTS, st.integers(0, 120), st.integers(0, 120))
def test_a_larger_budget_never_spends_less_on_turns(system, texts, one, other):
    def spent(budget):
        shown = set(ask(heard(system, *texts, budget_tokens=budget)).stands_on)
        return sum(cost(text, 8) for place, text in enumerate(texts) if f"h#0.{place}" in shown)

    assert spent(min(one, other)) <= spent(max(one, other))


def test_gaamas_facts_and_episodes_pay_for_their_headings():
    episode = "- [12:00 pm on 20 May, 2023] Ann: kayak"
    headings = tokens.count("## Facts\n\n\n## Reflections\n\n\n## Episodes, in order of time\n")
    whole = headings + cost(episode, 8)
    assert ask(heard("gaama", "kayak", budget_tokens=whole)).context.splitlines()[-1] == episode
    assert ask(heard("gaama", "kayak", budget_tokens=whole - 1)).flags == ("trimmed", "nothing_found")
