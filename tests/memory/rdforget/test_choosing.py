"""Ranking, candidates, the lexical fallback, and packing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import tokens
from memory.lines import Line
from memory.packing import cost
from memory.rdforget.materialise import Entry
from memory.rdforget.packing import packed, rendered
from memory.rdforget.ranking import candidate, candidates, fallback, overlaps, ranked
from tests.memory.rdforget.fakes import asked, rd_settings


def entry(place, statement, status="active"):
    return Entry(f"e{place}", statement, "", status, ())


def test_overlap_is_the_share_of_the_questions_distinct_words_by_stem_and_without_stop_words():
    texts = ["The painted boats", "a boat", "of the", "boats boats red", ""]
    # Of the question's words `the` is a stop word; three are left: paint, boat, red.
    assert overlaps("painting the boat red, red", texts) == pytest.approx([2 / 3, 1 / 3, 0, 2 / 3, 0])


def test_a_question_without_words_overlaps_with_nothing():
    assert overlaps("?", ["a boat", ""]) == [0, 0]


def test_an_active_entry_is_worth_four_tenths_more_than_its_overlap():
    question = "lake mill pond reed moss"  # each word is worth .2
    entries = [
        entry(1, "lake", "superseded"),  # .2
        entry(2, "lake mill pond reed", "superseded"),  # .8
        entry(3, "lake"),  # .2 + .4
        entry(4, "lake mill"),  # .4 + .4: equal to the second, and after it
        entry(5, "lake mill pond"),  # .6 + .4
    ]
    order = ranked(entries, asked(question), rd_settings())
    assert [found.id for found, _ in order] == ["e5", "e2", "e4", "e3", "e1"]
    assert [score for _, score in order] == pytest.approx([1.0, 0.8, 0.8, 0.6, 0.2])


def size(found):
    return tokens.count(candidate(found).line() + "\n")


def test_candidates_end_before_the_first_that_does_not_fit():
    entries = [entry(1, "one"), entry(2, "two " * 50), entry(3, "three")]
    limit = size(entries[0]) + size(entries[2])
    assert candidates(entries, limit) == entries[:1]
    assert candidates(entries, limit + size(entries[1])) == entries
    assert candidates(entries, limit + size(entries[1]) - 1) == entries[:2]


def test_the_first_candidate_is_taken_whatever_its_size():
    entries = [entry(1, "one " * 50), entry(2, "two")]
    assert candidates(entries, 0) == entries[:1]
    assert candidates([], 0) == []


def test_candidates_take_ten_thousand_tokens_unless_the_settings_say_otherwise():
    entries = [entry(place, "word " * 93) for place in range(1, 130)]
    taken = candidates(entries, rd_settings().candidate_tokens)
    used = sum(map(size, taken))
    assert used <= 10_000 < used + size(entries[len(taken)])


def lines(*texts):
    return [Line(f"L{place}", text, f"h#0.{place}") for place, text in enumerate(texts, 1)]


def test_the_fallback_is_the_twenty_lines_with_the_most_overlap_as_active_entries_equal_ones_in_their_order():
    texts = ["filler"] * 30
    texts[25], texts[28] = "a red boat", "a boat"
    found = fallback(lines(*texts), asked("red boat"), rd_settings().fallback_lines)
    assert [each.turns[0] for each in found] == ["h#0.26", "h#0.29", *(f"h#0.{i}" for i in range(1, 19))]
    assert {(each.status, each.slot, each.superseded_by) for each in found} == {("active", "", "")}
    assert [each.id for each in found[:3]] == ["e1", "e2", "e3"]


def test_an_entry_costs_its_tokens_and_a_constant():
    assert cost("one two three", 8) == 3 + 8


def test_what_does_not_fit_is_passed_over_and_what_follows_may_still_fit():
    entries = [entry(1, "one two"), entry(2, "word " * 40), entry(3, "three four"), entry(4, "five")]
    assert [found.id for found in packed(entries, 2 * (2 + 8), 8)] == ["e1", "e3"]
    assert [found.id for found in packed(entries, 2 * (2 + 8) + 9, 8)] == ["e1", "e3", "e4"]
    assert packed(entries, 8, 8) == []


def test_the_context_shows_ids_and_statuses():
    assert (
        rendered([entry(7, "Old.", "superseded"), entry(2, "New.")])
        == "[e7 superseded] Old.\n[e2 active] New."
    )


statuses = st.sampled_from(["active", "superseded", "deprecated"])
shown = st.lists(
    st.tuples(st.integers(1, 9999), st.text("ab 1.é漢", min_size=1, max_size=20), statuses), max_size=8
)


@given(shown, st.integers(0, 200))
def test_the_context_never_takes_more_tokens_than_the_budget(parts, budget):
    entries = packed([entry(*part) for part in parts], budget, rd_settings().entry_tokens)
    assert tokens.count(rendered(entries)) <= budget
    assert sum(cost(found.statement, rd_settings().entry_tokens) for found in entries) <= budget
