"""From claims to entries: what stays active, what is superseded and by what, and what is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rdforget.curation import Claim
from memory.rdforget.materialise import materialised
from tests.memory.rdforget.fakes import now, rd_settings, then, told

JOB, PLACE = "mara|works for|job", "beryl|stands in|city"
ACME, BERYL, CITY = "Mara works for Acme.", "Mara works for Beryl.", "Beryl is in Oslo."
EMPLOYER = [now(BERYL, JOB), now(CITY, PLACE), then(ACME, JOB)]
"""A person changes her employer; where the employer is, is another slot."""


def made(*chunks, profile="published", **changes):
    return told(materialised(chunks, rd_settings(profile, **changes)))


def test_a_former_employer_is_superseded_by_the_present_one_and_the_place_of_the_firm_is_another_slot():
    assert made(EMPLOYER) == [("active", BERYL, ""), ("active", CITY, ""), ("superseded", ACME, BERYL)]


def test_active_entries_come_first_wherever_they_were_said():
    assert made([then(ACME, JOB)], [now(BERYL, JOB)]) == [("active", BERYL, ""), ("superseded", ACME, BERYL)]


def test_the_last_active_entry_of_a_slot_is_what_replaces():
    claims = [now("one", "s"), now("two", "s"), now("three", "t"), then("old", "s")]
    assert made(claims)[-1] == ("superseded", "old", "two")


def test_an_older_fact_without_an_active_entry_in_its_slot_is_left_out():
    assert made([now(CITY, PLACE), then(ACME, JOB)]) == [("active", CITY, "")]


def test_without_forgetting_the_older_fact_stays_active_and_is_linked_to_nothing():
    assert made(EMPLOYER, profile="no_forget") == [
        ("active", BERYL, ""),
        ("active", CITY, ""),
        ("active", ACME, ""),
    ]
    assert made([then(ACME, JOB)], profile="no_forget") == []


def test_without_slots_every_older_fact_is_an_active_entry_of_its_own_and_none_has_a_slot():
    entries = materialised([[*EMPLOYER, then("Mara was a baker.", "other")]], rd_settings("no_slot"))
    assert [(entry.status, entry.slot, entry.superseded_by) for entry in entries] == [("active", "", "")] * 4


def test_a_curator_that_has_not_seen_the_question_leaves_deprecated_what_nothing_has_replaced():
    claims = [now(CITY, PLACE), then(ACME, JOB)]
    assert made(claims, profile="no_qc") == [("active", CITY, ""), ("deprecated", ACME, "")]
    later = [now(BERYL, JOB)]  # the next chunk brings what replaced it
    assert made(claims, later, profile="no_qc")[-1] == ("superseded", ACME, BERYL)


def test_what_a_later_chunk_withdraws_is_deprecated_if_the_memory_serves_any_question_and_else_stays():
    chunks = [now(ACME, JOB)], [then(ACME, JOB)]
    assert made(*chunks, profile="no_qc") == [("deprecated", ACME, "")]
    assert made(*chunks) == [("active", ACME, "")]


def test_what_a_later_chunk_replaces_is_superseded():
    chunks = [now(ACME, JOB)], [now(BERYL, JOB), then(ACME, JOB)]
    assert made(*chunks) == [("active", BERYL, ""), ("superseded", ACME, BERYL)]


def test_active_entries_of_one_slot_from_two_chunks_stay_as_published_and_the_later_replaces_as_improved():
    chunks = [now(ACME, JOB), now(CITY, PLACE)], [now(BERYL, JOB)]
    assert [status for status, _, _ in made(*chunks)] == ["active"] * 3
    assert made(*chunks, profile="improved") == [
        ("active", CITY, ""),
        ("active", BERYL, ""),
        ("superseded", ACME, BERYL),
    ]
    assert [status for status, _, _ in made(*chunks, profile="improved", forget=False)] == ["active"] * 3


def test_active_entries_of_one_slot_from_one_chunk_stay_side_by_side_for_their_curator_has_seen_both():
    claims = [now("Mara likes tea.", "s"), now("Mara likes figs.", "s")]
    assert [status for status, _, _ in made(claims, profile="improved")] == ["active", "active"]


def test_what_is_said_again_later_stands_there():
    chunks = [now("red", "s")], [now("blue", "s")], [now("Red", "s"), then("grey", "s")]
    assert made(*chunks) == [("active", "blue", ""), ("active", "Red", ""), ("superseded", "grey", "Red")]


# Hostile slots


def test_without_a_slot_nothing_replaces_and_nothing_is_superseded():
    assert made([now(BERYL), then(ACME)]) == [("active", BERYL, "")]
    assert made([now(BERYL), then(ACME)], profile="no_qc")[1] == ("deprecated", ACME, "")


def test_the_same_statement_active_and_replaced_in_one_reply_is_active():
    assert made([now(ACME, JOB), then("mara  works for ACME.", JOB)]) == [("active", ACME, "")]


def test_two_facts_that_replace_each_other_in_one_reply_are_both_active():
    claims = [now("red", "s"), now("blue", "s"), then("red", "s"), then("blue", "s")]
    assert made(claims) == [("active", "red", ""), ("active", "blue", "")]


def test_facts_that_replace_each_other_from_chunk_to_chunk_leave_the_last_active():
    chunks = [now("red", "s"), then("blue", "s")], [now("blue", "s"), then("red", "s")]
    assert made(*chunks) == [("active", "blue", ""), ("superseded", "red", "blue")]
    assert made(*chunks, *chunks, chunks[0]) == [("active", "red", ""), ("superseded", "blue", "red")]


def test_a_thousand_slots_are_a_thousand_entries_each_superseded_by_that_of_its_own():
    claims = [now(f"new {i}", f"s{i}") for i in range(1000)] + [
        then(f"old {i}", f"s{i}") for i in range(1000)
    ]
    entries = made(claims)
    assert entries[1000:] == [("superseded", f"old {i}", f"new {i}") for i in range(1000)]


claims = st.builds(
    Claim,
    statement=st.sampled_from(["a", "A", "b", "c"]),
    slot=st.sampled_from(["", "s", "t"]),
    replaced=st.booleans(),
)
histories = st.lists(st.lists(claims, max_size=5), max_size=4)


@given(histories, st.sampled_from(["published", "improved", "no_qc"]))
def test_links_go_from_superseded_entries_to_active_ones_of_their_slot_and_nowhere_else(chunks, profile):
    entries = materialised(chunks, rd_settings(profile))
    by_id = {entry.id: entry for entry in entries}
    assert len(by_id) == len(entries)
    assert len({(entry.slot, entry.statement.casefold()) for entry in entries}) == len(entries)
    for entry in entries:
        assert bool(entry.superseded_by) == (entry.status == "superseded")
        if entry.superseded_by:
            target = by_id[entry.superseded_by]
            assert (target.status, target.slot) == ("active", entry.slot)
            assert entry.slot and target.statement.casefold() != entry.statement.casefold()
            same_slot = [e.id for e in entries if e.status == "active" and e.slot == entry.slot]
            assert entry.superseded_by == same_slot[-1]


@given(histories)
def test_without_the_question_no_statement_is_lost(chunks):
    said = {(claim.slot, claim.statement.casefold()) for chunk in chunks for claim in chunk}
    entries = materialised(chunks, rd_settings("no_qc"))
    assert {(entry.slot, entry.statement.casefold()) for entry in entries} == said


@pytest.mark.parametrize("profile", ["no_forget", "no_slot"])
@given(histories)
def test_two_of_the_ablations_leave_active_entries_alone(profile, chunks):
    entries = materialised(chunks, rd_settings(profile))
    assert {entry.status for entry in entries} <= {"active"}
