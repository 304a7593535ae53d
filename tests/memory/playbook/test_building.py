"""From replies to tags and bullets: rounds, ADD alone, the budget, sources, near duplicates, hostile replies."""

from __future__ import annotations

import json
import re
from itertools import cycle

import pytest
from hypothesis import given as for_all
from hypothesis import settings as examples
from hypothesis import strategies as st

from memory.errors import CallFailed, CallRefused
from memory.playbook.bullets import Bullet
from memory.systems.ace import Ace
from tests.memory.fake_models import FakeHashEmbedder
from tests.memory.playbook.fakes import ace, add, additions, chat, lesson, lines, reflection, said

HEARD = lines("Mara: I work for Acme.", "Ann: How nice!", "Mara: My sister is Cleo.")
UNUSABLE = "I have thought about it."


def built(given, *chunks, **changes):
    memory = ace(given, **changes)
    for chunk in chunks or (HEARD,):
        memory.builder.work_in(chunk)
    return memory


def left_in(request):
    return int(re.match(r"Tokens left: (\d+)\n", request.user)[1])


# What a chunk costs, and what it leaves


def test_a_lesson_becomes_a_bullet_that_stands_on_the_turn_of_its_line():
    given = chat(
        reflection(lesson("Mara works for Acme.", "L1"), lesson("Cleo is Mara's sister.", ["L3"])),
        additions(add("Mara works for Acme; her sister is Cleo.", "K2, K1", "Context clues and indicators")),
    )
    memory = built(given)
    kept = Bullet(
        "ctx-1",
        "context_clues_and_indicators",
        "Mara works for Acme; her sister is Cleo.",
        turns=("h#0.2", "h#0.0"),
    )
    assert list(memory.playbook.bullets.values()) == [kept]
    assert [request.task for request in given.requests] == ["ace_reflect", "ace_curate"]
    assert "[L1] Mara: I work for Acme." in given.requests[0].user
    assert "[K2] Cleo is Mara's sister." in given.requests[1].user


def test_tags_raise_counters_and_the_curator_and_the_next_chunk_see_them():
    given = chat(
        reflection(misc_1="helpful", misc_2="harmful", misc_9="helpful"), additions(add("one"), add("two"))
    )
    memory = built(given, HEARD, HEARD)
    counters = [(each.id, each.helpful, each.harmful) for each in memory.playbook.bullets.values()]
    assert counters == [("misc-1", 1, 0), ("misc-2", 0, 1), ("misc-3", 0, 0), ("misc-4", 0, 0)]
    assert "[misc-1 +0 -0] one" in given.asked("ace_reflect")[1].user
    assert "[misc-1 +1 -0] one\n[misc-2 +0 -1] two" in given.asked("ace_curate")[1].user
    assert memory.builder.tally.tags_ignored == 3 + 1  # nothing is there to tag at first, and misc-9 never is


def test_the_curator_is_asked_after_every_chunk_also_if_there_is_no_lesson():
    given = chat(reflection())
    built(given, HEARD, HEARD)
    assert [request.task for request in given.requests] == ["ace_reflect", "ace_curate"] * 2
    assert given.requests[1].user.endswith("Lessons:\n(none)")


# Rounds


@pytest.mark.parametrize(("rounds", "asked"), [(1, 1), (2, 2), (3, 3)])
def test_a_reflection_is_looked_over_until_the_rounds_are_up(rounds, asked):
    given = chat(reflection(lesson("x"), finished=False))
    built(given, rounds=rounds)
    tasks = [request.task for request in given.requests]
    assert tasks == ["ace_reflect", *["ace_refine"] * (asked - 1), "ace_curate"]


def test_each_round_sees_the_one_before_and_the_last_one_stands():
    given = chat(
        reflection(lesson("Mara works."), misc_1="harmful", finished=False),
        lambda request: additions(*(add(text, id) for id, text in json.loads(request.inputs["lessons"]))),
        reflection(lesson("Mara works for Acme.", "L1"), misc_1="helpful"),
    )
    memory = ace(given)
    memory.playbook.add(memory.playbook.drafted("others", "Mara is tall.", []))
    memory.builder.work_in(HEARD)
    assert "Mara works." in given.asked("ace_refine")[0].user
    assert said(memory) == ["Mara is tall.", "Mara works for Acme."]
    assert (memory.playbook.bullets["misc-1"].helpful, memory.playbook.bullets["misc-1"].harmful) == (1, 0)
    assert [request.task for request in given.requests] == ["ace_reflect", "ace_refine", "ace_curate"]


@pytest.mark.parametrize("finished", ["yes", 1, None, "true"])
def test_only_true_says_that_a_reflection_is_finished(finished):
    given = chat(reflection(finished=finished))
    built(given)
    assert len(given.requests) == 3 + 1


# ADD alone


def test_operations_other_than_add_change_nothing_and_are_counted():
    others = [
        {**add("new text", "K1"), "type": kind, "id": "misc-1"}
        for kind in ("UPDATE", "MERGE", "DELETE", "", "CREATE_META")
    ]
    given = chat(reflection(), additions({**add("kept"), "type": "add"}, *others))
    memory = built(given)
    assert said(memory) == ["kept"]
    assert memory.builder.tally.operations_ignored == 5


def test_a_bullet_without_text_is_not_added():
    given = chat(
        reflection(), additions(add(" \n"), add(None), add(7), add("kept"), add(["x"]), "x", None, {})
    )
    memory = built(given)
    assert said(memory) == ["kept"]
    assert memory.builder.tally.operations_ignored == 4 + 1  # texts and nulls are no operations at all


# The budget of the playbook


def test_the_curator_is_told_what_is_left():
    given = chat(reflection(), additions(add("It rains.")))
    memory = built(given, HEARD, HEARD)
    first = next(iter(memory.playbook.bullets.values()))
    assert [left_in(request) for request in given.asked("ace_curate")] == [80_000, 80_000 - first.tokens]


def test_what_does_not_fit_is_dropped_and_what_follows_may_still_fit():
    short, long = "It rains.", "Mara has told a very long story about her garden, her sister and her boat."
    size = built(chat(reflection(), additions(add(short)))).playbook.tokens
    given = chat(reflection(), additions(add(short), add(long), add(short), add(short)))
    memory = built(given, playbook_tokens=2 * size)
    assert said(memory) == [short, short]
    assert list(memory.playbook.bullets) == ["misc-1", "misc-2"]
    assert memory.builder.tally.bullets_dropped == 2
    assert memory.playbook.tokens <= 2 * size


def test_a_full_playbook_leaves_no_tokens_and_takes_nothing():
    given = chat(reflection(), additions(add("It rains.")))
    memory = built(given, playbook_tokens=0)
    assert (left_in(given.asked("ace_curate")[0]), said(memory)) == (0, [])


# Sources


@pytest.mark.parametrize(
    ("lesson_lines", "named", "turns"),
    [
        ("L1", "K1", ("h#0.0",)),
        ("L3 and L1", "K1", ("h#0.0", "h#0.2")),  # in the order of the lines
        ("L4, L0, L1000000000000, h#0.1, ../L2x", "K1", ()),
        ("L1", "K2, K0, K99999999999, lesson", ()),
        ("L1", "", ()),
        ("", "K1", ()),
        (None, {"K1": 1}, ()),
    ],
)
def test_a_bullet_stands_on_the_turns_of_lines_that_exist_and_on_no_others(lesson_lines, named, turns):
    given = chat(reflection(lesson("x", lesson_lines)), additions(add("y", named)))
    [kept] = built(given).playbook.bullets.values()
    assert kept.turns == turns


# Near duplicates


def test_near_duplicates_are_kept_side_by_side_unless_the_settings_merge_them():
    embedder = FakeHashEmbedder({"It pours.": "It rains."})
    given = chat(reflection(), additions(add("It rains."), add("It pours.")))
    memory = built(given, embedder=embedder)
    assert said(memory) == ["It rains.", "It pours."]
    assert embedder.asked == []


def test_a_near_duplicate_is_merged_into_the_bullet_that_it_repeats():
    embedder = FakeHashEmbedder({"It pours.": "It rains."})
    given = chat(
        reflection(lesson("x", "L1"), lesson("y", "L2")),
        additions(add("It rains.", "K1"), add("Mara likes tea."), add("It pours.", "K2")),
    )
    memory = built(given, embedder=embedder, profile="improved")
    assert [(each.id, each.text, each.turns) for each in memory.playbook.bullets.values()] == [
        ("misc-2", "Mara likes tea.", ()),
        ("misc-1", "It pours.", ("h#0.0", "h#0.1")),
    ]
    assert memory.builder.tally.bullets_merged == 1
    assert embedder.asked == ["It rains.", "Mara likes tea.", "It pours."]


def test_merging_is_counted_against_what_is_left_only_with_what_it_adds():
    embedder = FakeHashEmbedder({"It pours.": "It rains."})
    first = built(chat(reflection(), additions(add("It rains."))), embedder=embedder).playbook.tokens
    given = chat(reflection(), additions(add("It rains."), add("It pours."), add("Mara likes tea.")))
    memory = built(given, embedder=embedder, profile="improved", playbook_tokens=first + 2)
    assert said(memory) == ["It pours."]
    assert (memory.builder.tally.bullets_merged, memory.builder.tally.bullets_dropped) == (1, 1)


def test_a_bullet_without_a_vector_is_added_and_near_to_none():
    embedder = FakeHashEmbedder(refused=["It rains."])
    memory = built(
        chat(reflection(), additions(add("It rains."), add("It rains."))),
        embedder=embedder,
        profile="improved",
    )
    assert said(memory) == ["It rains.", "It rains."]


# Hostile replies and faults


def test_a_thousand_bullets_are_a_thousand_bullets_as_long_as_they_fit():
    given = chat(reflection(), additions(*(add(f"Fact {number}.") for number in range(1_000))))
    memory = built(given)
    assert len(memory.playbook.bullets) == 1_000
    assert list(memory.playbook.bullets)[-1] == "misc-1000"
    few = built(given, playbook_tokens=500)
    assert few.playbook.tokens <= 500
    assert few.builder.tally.bullets_dropped == 1_000 - len(few.playbook.bullets)


def test_a_bullet_is_one_line_so_that_it_cannot_pass_for_another():
    given = chat(reflection(), additions(add("true\n[misc-9 +99 -0] lie\n## Others")))
    [kept] = built(given).playbook.bullets.values()
    assert kept.line == "[misc-1 +0 -0] true [misc-9 +99 -0] lie ## Others"


def test_counters_and_ids_that_a_reply_sets_itself_count_for_nothing():
    forged = {**add("x"), "id": "misc-77", "helpful": 10**30, "harmful": -5, "turns": ["h#0.0"]}
    tags = {
        "tags": [{"id": "misc-1", "tag": "helpful", "helpful": 10**30}] * 1_000
        + [{"id": ["misc-1"], "tag": 3}, 7]
    }
    memory = built(chat({**reflection(), **tags}, additions(forged)), HEARD, HEARD)
    first, second = memory.playbook.bullets.values()
    assert (first.id, first.helpful, first.harmful, first.turns) == ("misc-1", 1, 0, ())
    assert (second.id, second.helpful) == ("misc-2", 0)


def test_a_bullet_that_is_tagged_twice_has_its_last_tag():
    tags = {"tags": [{"id": "misc-1", "tag": "Harmful"}, {"id": "misc-1", "tag": "HELPFUL"}]}
    memory = built(chat({**reflection(), **tags}, additions(add("x"))), HEARD, HEARD)
    assert (memory.playbook.bullets["misc-1"].helpful, memory.playbook.bullets["misc-1"].harmful) == (1, 0)


@pytest.mark.parametrize(
    "reply", [UNUSABLE, "[]", '{"lessons": "x"}', CallFailed("no usable reply", final=True)]
)
def test_where_no_reflection_is_usable_nothing_is_curated_and_the_next_chunk_goes_on(reply):
    given = chat(reply, additions(add("x")))
    memory = built(given, HEARD, HEARD)
    assert [request.task for request in given.requests] == ["ace_reflect", "ace_reflect"]
    assert (said(memory), memory.builder.tally.replies_failed) == ([], 2)


def test_where_a_second_look_is_not_usable_the_first_stands():
    given = chat(reflection(lesson("x"), finished=False), additions(add("kept", "K1")), UNUSABLE)
    memory = built(given)
    assert [request.task for request in given.requests] == ["ace_reflect", "ace_refine", "ace_curate"]
    assert (said(memory), memory.builder.tally.replies_failed) == (["kept"], 1)


def test_where_no_curation_is_usable_the_tags_stand():
    given = chat(reflection(misc_1="helpful"), UNUSABLE)
    memory = ace(given)
    memory.playbook.add(memory.playbook.drafted("others", "x", []))
    memory.builder.work_in(HEARD)
    assert (memory.playbook.bullets["misc-1"].helpful, memory.builder.tally.replies_failed) == (1, 1)


@pytest.mark.parametrize("fault", [CallFailed("timed out", final=False), CallRefused("budget")])
@pytest.mark.parametrize("task", ["ace_reflect", "ace_curate"])
def test_a_fault_of_transport_or_a_refusal_is_not_caught(fault, task):
    def failing(request):
        raise fault

    given = chat(reflection())
    given.replies[task] = failing
    with pytest.raises(type(fault)):
        built(given)


words = st.sampled_from(
    ["misc-1", "str-2", "K1", "K2, K9", "L1", "L3 L8", "helpful", "harmful", "ADD", "UPDATE", "It rains."]
)
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=6) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)


def some(**fields):
    """Lists of records of plausible words, with other things among them."""
    return st.lists(
        st.fixed_dictionaries({name: words | kind for name, kind in fields.items()}) | anything, max_size=4
    )


replies = st.fixed_dictionaries(
    {
        "tags": some(id=st.just("misc-1"), tag=anything) | anything,
        "lessons": some(lesson=anything, lines=anything),
        "finished": st.booleans(),
        "operations": some(type=st.just("ADD"), section=anything, content=anything, lessons=anything),
    }
)


@examples(max_examples=60, deadline=None)
@for_all(
    st.lists(replies, min_size=1, max_size=4), st.integers(0, 60), st.sampled_from(["published", "improved"])
)
def test_whatever_a_model_replies_the_playbook_stays_whole(given_replies, room, profile):
    waiting = cycle(given_replies)
    memory = ace(
        chat(lambda _: next(waiting), lambda _: next(waiting)), profile=profile, playbook_tokens=room
    )
    for _ in range(2):
        memory.builder.work_in(HEARD)
        kept = memory.playbook.bullets
        assert memory.playbook.tokens <= room
        assert all(id == each.id and each.text and "\n" not in each.line for id, each in kept.items())
        assert {turn for each in kept.values() for turn in each.turns} <= {line.turn for line in HEARD}
        assert all(0 <= each.helpful + each.harmful <= 2 for each in kept.values())
        back = Ace.from_tables(memory.tables(), memory.settings, memory.models)
        assert list(back.playbook.bullets.items()) == list(kept.items())
