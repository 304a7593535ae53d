"""Reasoning items through the protocol: successes and failures, what a query finds, budgets, hostile replies."""

from __future__ import annotations

import json
from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from memory import tokens
from memory.conversation import Query, Session, Turn
from memory.errors import BadInput, CallFailed, CallRefused
from memory.packing import cost
from memory.reasoning.bank import Bank, Item
from memory.systems.reasoning_bank import ReasoningBank, query_of
from tests.memory.fake_models import MAY, FakeHashEmbedder, session
from tests.memory.reasoning.fakes import bank, chat, item, items, outcome

SAID = session("Book the train to Lyon.", "I have booked your flight.", "No, the train!")
FLIES = item("Mara never flies.", "Trains only", "Matters when a journey is booked.", "L1, L3")
WRONG = "No usable reply."


def ask(text: str) -> Query:
    return Query("q", "h", text)


def heard(given, *sessions: Session, **changes) -> ReasoningBank:
    memory = bank(given, **changes)
    for each in sessions or (SAID,):
        memory.remember(each, {})
    return memory


def days(*texts: str) -> list[Session]:
    """A session for each text, a day apart."""
    return [session(text, position=day, date=MAY + timedelta(days=day)) for day, text in enumerate(texts)]


def echo(request):
    """The first line that is shown, as an item that stands on it."""
    id, text = json.loads(request.inputs["lines"])[0]
    return items(item(text.split(": ", 1)[1], lines=id))


def contents(memory: ReasoningBank) -> list[str]:
    return [each.content for each in memory.bank.items]


# Successes and failures


@pytest.mark.parametrize(("success", "word"), [(True, "went well"), (False, "went badly")])
def test_the_models_own_judgement_decides_with_which_instructions_items_are_drawn(success, word):
    given = chat(items(FLIES), outcome(success))
    memory = heard(given)
    judged, extracted = given.requests
    assert (judged.task, extracted.task) == ("rb_judge", "rb_extract")
    assert word in extracted.system.splitlines()[0]
    assert extracted.inputs["outcome"] == ("success" if success else "failure")
    assert judged.user == extracted.user
    assert memory.bank.items == [
        Item(
            "Trains only",
            "Matters when a journey is booked.",
            "Mara never flies.",
            success,
            ("h#0.0", "h#0.2"),
        )
    ]


def test_an_item_is_one_line_of_the_context_that_says_what_became_of_its_session():
    failed = heard(chat(items(FLIES, item("Ask first.")), outcome(False)))
    assert failed.recall(ask("train?")).context.splitlines() == [
        "[failure] Trains only: Matters when a journey is booked. Mara never flies.",
        "[failure] Ask first.",
    ]
    assert heard(chat(items(item("x", "Title")))).recall(ask("train?")).context == "[success] Title: x"


@pytest.mark.parametrize("reply", [WRONG, "{}", '{"success": "true"}', '{"success": null}', '{"success": 1}'])
def test_a_session_whose_outcome_is_not_known_teaches_nothing(reply):
    given = chat(items(FLIES), reply)
    memory = heard(given)
    assert [request.task for request in given.requests] == ["rb_judge"]
    assert memory.recall(ask("train?")).flags == ("replies_failed",)


# Calls


def test_each_session_costs_a_judgement_and_an_extraction_and_a_recall_one_vector():
    given, embedder = chat(echo), FakeHashEmbedder()
    memory = heard(given, *days("one", "two", "three"), embedder=embedder)
    memory.recall(ask("two"))
    assert [request.task for request in given.requests] == ["rb_judge", "rb_extract"] * 3
    assert embedder.asked == ["one", "two", "three", "two"]


def test_a_session_that_is_longer_than_a_chunk_is_as_many_trajectories_under_one_query():
    given, embedder = chat(echo), FakeHashEmbedder()
    memory = heard(given, chunk_tokens=1, embedder=embedder)  # a line a chunk
    assert [request.task for request in given.requests] == ["rb_judge", "rb_extract"] * 3
    assert embedder.asked == ["Book the train to Lyon."]
    assert contents(memory) == ["Book the train to Lyon.", "I have booked your flight.", "No, the train!"]
    found = memory.recall(ask("Book the train to Lyon.")).provenance
    assert [source.turn for source in found] == ["h#0.0", "h#0.1", "h#0.2"]
    assert [source.score for source in found] == pytest.approx([1.0] * 3)


def test_a_session_that_says_nothing_costs_nothing():
    given, embedder = chat(echo), FakeHashEmbedder()
    heard(given, session("  ", ""), embedder=embedder)
    assert (given.requests, embedder.asked) == ([], [])


# Items


def test_a_trajectory_gives_three_items_at_most():
    memory = heard(chat(items(*(item(f"fact {number}") for number in range(1_000)))))
    assert contents(memory) == ["fact 0", "fact 1", "fact 2"]
    assert contents(heard(chat(items(item("a"), item("b"))), items=1)) == ["a"]


def test_the_bank_is_only_ever_added_to():
    given = chat(items(item("Mara works for Acme."), item("Mara works for Acme.")))
    memory = heard(given, *days("one", "two"))
    assert contents(memory) == ["Mara works for Acme."] * 4


def test_an_item_without_content_is_passed_over():
    memory = heard(
        chat(items(item(" \n", "title"), item(None), item(7), "x", None, {}, item("kept", ["x"], 3)))
    )
    assert memory.bank.items == [Item("", "", "kept", True)]


@pytest.mark.parametrize(
    ("named", "turns"),
    [
        ("L3, L1", ("h#0.0", "h#0.2")),
        (["L2", 7, None], ("h#0.1",)),
        ("L4, L0, L99999999999, h#0.1", ()),
        ("", ()),
        (None, ()),
        ({"L1": "L1"}, ()),
    ],
)
def test_an_item_stands_on_the_turns_of_lines_that_exist_and_on_no_others(named, turns):
    [kept] = heard(chat(items(item("x", lines=named)))).bank.items
    assert kept.turns == turns


def test_an_item_is_brought_onto_one_line_so_that_it_cannot_pass_for_another():
    [kept] = heard(chat(items(item("true\n[success] lie", "a\nb")))).bank.items
    assert kept.line == "[success] a b: true [success] lie"


# What is found


def test_a_question_is_compared_with_what_the_user_said_first_and_brings_up_what_the_session_taught():
    embedder = FakeHashEmbedder({"Which ticket?": "Book the train to Lyon."})
    later = session("Water the roses.", position=1)
    memory = heard(
        chat(lambda request: items(FLIES) if "Lyon" in request.user else echo(request)),
        SAID,
        later,
        embedder=embedder,
        k=1,
    )
    recall = memory.recall(ask("Which ticket?"))
    assert recall.context == "[success] Trains only: Matters when a journey is booked. Mara never flies."
    assert recall.provenance[0].score == pytest.approx(1.0)
    assert memory.recall(ask("Water the roses.")).context == "[success] Water the roses."
    assert (
        memory.recall(ask("Mara never flies.")).provenance[0].score < 0.9
    )  # what an item says is not compared


def test_improved_compares_with_what_items_say():
    embedder = FakeHashEmbedder({"Does Mara fly?": "Mara never flies."})
    given = chat(items(item("Mara never flies.", lines="L3"), item("Mara likes Lyon.", lines="L1")))
    memory = heard(given, embedder=embedder, profile="improved", k=1)
    assert embedder.asked == ["Mara never flies.", "Mara likes Lyon."]
    assert memory.texts(SAID, {}) == []
    recall = memory.recall(ask("Does Mara fly?"))
    assert (recall.context, recall.stands_on) == ("[success] Mara never flies.", ("h#0.2",))


def test_as_many_trajectories_as_k_are_brought_up_with_all_their_items_nearest_first():
    embedder = FakeHashEmbedder({"again": "two"})
    twice = chat(
        lambda request: items(item(f"{request.user[-3:]}, first"), item(f"{request.user[-3:]}, second"))
    )
    memory = heard(twice, *days("one", "two", "six", "ten"), embedder=embedder, k=2)
    lines = memory.recall(ask("again")).context.splitlines()
    assert len(lines) == 4
    assert lines[:2] == ["[success] two, first", "[success] two, second"]


def test_equal_ones_come_in_the_order_in_which_they_were_learnt():
    memory = heard(chat(echo), *days("same", "same", "same"), k=2)
    assert [source.turn for source in memory.recall(ask("x")).provenance] == ["h#0.0", "h#1.0"]


@pytest.mark.parametrize("k", [0, 11])
def test_ten_are_brought_up_at_most_and_one_at_least(k):
    with pytest.raises(ValueError, match="k"):
        bank(chat(echo), k=k)


def test_a_session_without_a_vector_is_kept_and_never_found():
    memory = heard(chat(echo), *days("one", "two"), embedder=FakeHashEmbedder(refused=["one"]))
    recall = memory.recall(ask("one?"))
    assert (recall.context, recall.flags) == ("[success] two", ("items_without_vector",))
    assert memory.size().items == 2


def test_a_question_without_a_vector_fails():
    memory = heard(chat(echo), embedder=FakeHashEmbedder(refused=["train?"]))
    with pytest.raises(CallFailed, match="question") as failure:
        memory.recall(ask("train?"))
    assert not failure.value.final


@pytest.mark.parametrize(
    ("turns", "query"),
    [
        ([("assistant", "Hello!"), ("user", "Book the train.")], "Book the train."),
        ([("user", "  "), ("user", "Book the train.")], "Book the train."),
        ([("assistant", "Hello!"), ("assistant", "Anyone?")], "Hello!"),
        ([("user", " ")], ""),
        ([], ""),
    ],
)
def test_the_query_of_a_session_is_what_its_user_says_first_or_else_what_is_said_first(turns, query):
    said = tuple(Turn(f"h#0.{i}", role, role, text) for i, (role, text) in enumerate(turns))
    assert query_of(Session("s", "h", 0, None, said)) == query


# The budget


def test_under_a_budget_an_item_is_taken_if_it_still_fits_and_one_that_does_not_is_passed_over():
    long = "Mara never flies, and she has told so in May, in June and in July."
    memory = heard(chat(items(item("It rains."), item(long), item("Mara likes tea."))))
    # The lines have 6, 21 and 7 tokens, so that with 8 for each they cost 14, 29 and 15.
    assert [cost(each.line, 8) for each in memory.bank.items] == [14, 29, 15]
    taken = {limit: memory.recall_tokens(ask("x"), limit) for limit in (13, 14, 28, 29, 58, None)}
    assert [recall.items for recall in taken.values()] == [0, 1, 1, 2, 3, 3]
    assert [recall.flags for recall in taken.values()] == [("trimmed",)] * 4 + [()] * 2
    assert taken[29].context == "[success] It rains.\n[success] Mara likes tea."
    bounded = heard(chat(items(item("It rains."), item(long))), budget_tokens=14)
    assert bounded.recall(ask("x")).context == "[success] It rains."


@given(st.lists(st.text(min_size=1, max_size=40), max_size=3), st.integers(0, 120))
def test_a_context_never_has_more_tokens_than_its_budget(said, limit):
    memory = heard(chat(items(*map(item, said))))
    assert tokens.count(memory.recall_tokens(ask("x"), limit).context) <= limit


def test_it_holds_of_a_turn_the_items_that_stand_on_it_as_the_context_shows_them():
    memory = heard(chat(items(FLIES, item("x", lines="L2"), item("y"))))
    first, second, third = SAID.turns
    lines = memory.recall(ask("?")).context.splitlines()
    assert memory.standing_on(first) == memory.standing_on(third) == lines[:1]
    assert memory.standing_on(second) == lines[1:2]
    assert memory.standing_on(session("never said", position=9).turns[0]) == []


# Faults


@pytest.mark.parametrize("reply", [WRONG, "{}", '{"items": "x"}', CallFailed("no usable reply", final=True)])
def test_where_no_items_are_usable_the_next_session_goes_on(reply):
    replies = [reply, items(item("kept"))]
    memory = heard(chat(lambda request: replies.pop(0)), *days("one", "two"))
    assert contents(memory) == ["kept"]
    assert memory.recall(ask("x")).flags == ("replies_failed",)


@pytest.mark.parametrize("fault", [CallFailed("timed out", final=False), CallRefused("budget")])
@pytest.mark.parametrize("task", ["rb_judge", "rb_extract"])
def test_a_fault_of_transport_or_a_refusal_is_not_caught(fault, task):
    def failing(request):
        raise fault

    given = chat(echo)
    given.replies[task] = failing
    with pytest.raises(type(fault)):
        heard(given)


# Tables

texts = st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace").decode())
kept_items = st.builds(
    Item, texts, texts, texts.map("x".__add__), st.booleans(), st.lists(texts, max_size=2).map(tuple)
)
experiences = st.lists(kept_items, min_size=1, max_size=3).map(tuple)


@pytest.mark.parametrize("profile", ["published", "improved"])
@budget(max_examples=25, deadline=None)
@given(kept=st.lists(st.tuples(experiences, st.booleans()), max_size=4))
def test_a_bank_comes_back_from_its_tables_and_goes_on_as_the_first_would(profile, kept):
    memory = bank(chat(echo), profile=profile)
    memory.failed = 2
    memory.bank = Bank(16)
    for place, (experience, has_vector) in enumerate(kept):
        memory.bank.add(experience, FakeHashEmbedder().vector(str(place)) if has_vector else None)
    back = ReasoningBank.from_tables(memory.tables(), memory.settings, memory.models)
    for _ in range(2):
        assert back.recall(ask("x")) == memory.recall(ask("x"))
        assert back.size() == memory.size()
        ours, theirs = memory.tables(), back.tables()
        assert all(ours[name].equals(theirs[name]) for name in ours | theirs)
        memory.remember(SAID, {})
        back.remember(SAID, {})


@pytest.mark.parametrize("table", ["items", "vectors", "state"])
def test_tables_that_are_no_banks_are_refused_in_one_line(table):
    memory = heard(chat(echo), *days("one", "two"))
    tables = memory.tables()
    without = {name: kept for name, kept in tables.items() if name != table}
    gap = {"items": tables["items"].slice(1), "vectors": tables["vectors"], "state": pa.table({"x": [1]})}
    foreign = (
        {**tables, table: gap[table]}
        if table != "vectors"
        else {**tables, "items": tables["items"].slice(0, 1)}
    )
    for broken in (without, foreign):
        with pytest.raises(BadInput, match=r"^the memory[^\n]+build it again$"):
            ReasoningBank.from_tables(broken, memory.settings, memory.models)
