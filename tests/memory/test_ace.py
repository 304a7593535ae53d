"""The playbook through the protocol: what sessions cost, what is shown under a budget, and that nothing is lost."""

from __future__ import annotations

import json
from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from memory import tokens
from memory.conversation import Query
from memory.errors import BadInput
from memory.packing import cost
from memory.playbook.bullets import Bullet, Playbook
from memory.systems.ace import Ace
from tests.memory.fake_models import MAY, FakeHashEmbedder, session
from tests.memory.playbook.fakes import ace, add, additions, chat, lesson, reflection, said

ANY = Query("q", "h", "Where does Mara work?")
SAID = session("Mara works for Acme.", "How nice!\nAnd her sister?", "  ")


def memory_of(*bullets: Bullet, **changes) -> Ace:
    memory = ace(chat(reflection()), **changes)
    memory.playbook = Playbook(bullets, len(bullets))
    return memory


def bullet(number, text, helpful=0, harmful=0, *turns):
    return Bullet(f"misc-{number}", "others", text, helpful, harmful, turns)


def echo(request):
    """Each lesson as a bullet."""
    return additions(*(add(text, id) for id, text in json.loads(request.inputs["lessons"])))


def first_lines(request):
    """The first line that is shown as a lesson; every bullet of others was helpful."""
    id, text = json.loads(request.inputs["lines"])[0]
    shown = [
        line[1:].split(" ")[0] for line in request.inputs["playbook"].splitlines() if line.startswith("[misc")
    ]
    return {**reflection(lesson(text, id)), "tags": [{"id": id, "tag": "helpful"} for id in shown]}


# What sessions cost


def test_each_session_costs_a_finished_reflection_and_a_curation_and_recalls_cost_nothing():
    given = chat(first_lines, echo)
    memory = ace(given)
    for day in range(4):
        memory.remember(session("It rains.", position=day, date=MAY + timedelta(days=day)), {})
        memory.recall(ANY)
    assert [request.task for request in given.requests] == ["ace_reflect", "ace_curate"] * 4
    assert [(each.id, each.helpful) for each in memory.playbook.ranked()] == [
        ("misc-1", 3),
        ("misc-2", 2),
        ("misc-3", 1),
        ("misc-4", 0),
    ]


def test_each_session_costs_three_reflections_where_none_is_finished():
    given = chat(reflection(finished=False))
    memory = ace(given)
    memory.remember(SAID, {})
    memory.remember(SAID, {})
    assert [request.task for request in given.requests] == [
        "ace_reflect",
        "ace_refine",
        "ace_refine",
        "ace_curate",
    ] * 2


def test_a_session_that_is_longer_than_a_chunk_is_reflected_on_chunk_by_chunk_and_blank_lines_are_left_out():
    given = chat(first_lines, echo)
    memory = ace(given, chunk_tokens=1)  # a line a chunk
    memory.remember(SAID, {})
    shown = [json.loads(request.inputs["lines"]) for request in given.asked("ace_reflect")]
    assert shown == [
        [["L1", "[2023-05-20] Ann: Mara works for Acme."]],
        [["L2", "[2023-05-20] Bob: How nice!"]],
        [["L3", "[2023-05-20] Bob: And her sister?"]],
    ]
    assert [each.turns for each in memory.playbook.bullets.values()] == [("h#0.0",), ("h#0.1",), ("h#0.1",)]


def test_a_session_that_says_nothing_costs_nothing():
    given = chat(reflection())
    memory = ace(given)
    memory.remember(session(" ", ""), {})
    assert given.requests == []


# What is shown


SHOWN = (
    bullet(1, "Mara works for Acme.", 0, 1, "h#0.0"),
    bullet(2, "Mara likes tea.", 2, 0, "h#0.1", "h#0.0"),
    bullet(3, "Cleo is Mara's sister.", 0, 0, "h#1.0"),
    bullet(4, "It rains.", 0, 0),
)


def test_the_whole_playbook_is_shown_best_first_whatever_the_question():
    recall = memory_of(*SHOWN).recall(ANY)
    assert recall.context.splitlines() == [
        "[misc-2 +2 -0] Mara likes tea.",
        "[misc-4 +0 -0] It rains.",
        "[misc-3 +0 -0] Cleo is Mara's sister.",
        "[misc-1 +0 -1] Mara works for Acme.",
    ]
    assert [(source.turn, source.score) for source in recall.provenance] == [
        ("h#0.1", 1.0),
        ("h#0.0", 1.0),
        ("h#1.0", 1 / 3),
    ]
    assert (recall.items, recall.flags) == (4, ())
    assert memory_of(*SHOWN).recall(Query("p", "h", "What is the weather like?")) == recall


def test_under_a_budget_a_bullet_is_taken_if_it_still_fits_and_one_that_does_not_is_passed_over():
    # Best first, the lines have 13, 12, 16 and 15 tokens, so that with 8 for each they cost 21, 20, 24 and 23.
    assert [cost(each.line, 8) for each in memory_of(*SHOWN).playbook.ranked()] == [21, 20, 24, 23]
    contexts = {
        tokens: [
            each.id for each in SHOWN if each.line in memory_of(*SHOWN).recall_tokens(ANY, tokens).context
        ]
        for tokens in (19, 20, 21, 40, 41, 64, 65, 88)
    }
    assert contexts == {
        19: [],
        20: ["misc-4"],  # the best is too large
        21: ["misc-2"],
        40: ["misc-2"],  # one token is lacking
        41: ["misc-2", "misc-4"],
        64: ["misc-1", "misc-2", "misc-4"],  # the third is passed over, and the fourth still fits
        65: ["misc-2", "misc-3", "misc-4"],
        88: ["misc-1", "misc-2", "misc-3", "misc-4"],
    }
    assert memory_of(*SHOWN, budget_tokens=41).recall(ANY) == memory_of(*SHOWN).recall_tokens(ANY, 41)
    assert memory_of(*SHOWN, budget_tokens=41).recall(ANY).flags == ("trimmed",)
    assert memory_of(*SHOWN, budget_tokens=25, entry_tokens=0).recall(ANY).items == 2


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=40), st.integers(0, 3), st.integers(0, 3)), max_size=8),
    st.integers(0, 200),
)
def test_a_context_never_has_more_tokens_than_its_budget(said, limit):
    bullets = [bullet(i, " ".join(text.split()) or "x", *counts) for i, (text, *counts) in enumerate(said, 1)]
    assert tokens.count(memory_of(*bullets).recall_tokens(ANY, limit).context) <= limit


def test_what_replies_asked_for_in_vain_is_flagged():
    given = chat(reflection(misc_9="helpful"), additions({**add("x"), "type": "DELETE"}, add("It rains.")))
    memory = ace(given, playbook_tokens=3)
    memory.remember(SAID, {})
    assert memory.recall(ANY).flags == ("tags_ignored", "operations_ignored", "bullets_dropped")
    failing = ace(chat("no JSON"))
    failing.remember(SAID, {})
    assert failing.recall(ANY).flags == ("replies_failed",)


def test_it_holds_of_a_turn_the_bullets_that_stand_on_it_as_the_context_shows_them():
    memory = memory_of(*SHOWN)
    first, second = SAID.turns[:2]
    assert memory.standing_on(first) == [SHOWN[0].line, SHOWN[1].line]
    assert memory.standing_on(second) == [SHOWN[1].line]
    assert memory.standing_on(session("never said", position=9).turns[0]) == []
    assert set(memory.standing_on(first)) <= set(memory.recall(ANY).context.splitlines())


# Tables

texts = st.text(min_size=1, max_size=10).map(lambda text: " ".join(text.split()) or "x")
bullets = st.builds(
    bullet,
    st.integers(1, 5),
    texts.map(lambda text: text.encode("utf-8", "replace").decode()),
    st.integers(0, 2**62),
    st.integers(0, 2**62),
    st.text("h#.01", max_size=4),
)


@pytest.mark.parametrize("profile", ["published", "improved"])
@budget(max_examples=25, deadline=None)
@given(kept=st.lists(bullets, max_size=5))
def test_a_playbook_comes_back_from_its_tables_and_goes_on_as_the_first_would(profile, kept):
    memory = ace(chat(first_lines, echo), profile=profile)
    memory.builder.playbook = memory.playbook = Playbook(kept, 5)
    if memory.duplicates is not None:
        for each in memory.playbook.bullets:
            memory.duplicates.put(each, FakeHashEmbedder().vector(each))
    memory.builder.tally.bullets_dropped = 3
    back = Ace.from_tables(memory.tables(), memory.settings, memory.models)
    for _ in range(2):
        assert back.recall(ANY) == memory.recall(ANY)
        assert back.size() == memory.size()
        assert {
            name: table.equals(back.tables()[name]) for name, table in memory.tables().items()
        } == dict.fromkeys(back.tables(), True)
        memory.remember(SAID, {})
        back.remember(SAID, {})


def test_a_merging_playbook_that_came_back_merges_as_before():
    memory = ace(chat(first_lines, echo), profile="improved")
    memory.remember(SAID, {})
    back = Ace.from_tables(memory.tables(), memory.settings, memory.models)
    back.remember(SAID, {})
    assert said(back) == ["[2023-05-20] Ann: Mara works for Acme."]
    assert back.builder.tally.bullets_merged == 1


@pytest.mark.parametrize("table", ["bullets", "state", "vectors"])
def test_tables_that_are_no_playbooks_are_refused_in_one_line(table):
    memory = ace(chat(first_lines, echo), profile="improved")
    memory.remember(SAID, {})
    tables = memory.tables()
    without = {name: kept for name, kept in tables.items() if name != table}
    damaged = {
        "bullets": tables["bullets"].slice(1),
        "vectors": tables["vectors"],
        "state": pa.table({"x": [1]}),
    }
    foreign = (
        {**tables, table: damaged[table]} if table != "vectors" else {**tables, "bullets": damaged["bullets"]}
    )
    for broken in (without, foreign):
        with pytest.raises(BadInput, match=r"^the memory[^\n]+build it again$"):
            Ace.from_tables(broken, memory.settings, memory.models)
