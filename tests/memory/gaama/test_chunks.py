"""Turns as events and events as chunks (facts, section 4.0), by hand, for any conversation, and on LoCoMo itself."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.conversation import Session, Turn
from memory.gaama.chunks import Event, events, full_chunks, stamp
from tasks.benchmarks import locomo
from tests.memory.gaama.fakes import gaama_settings

LOCOMO = Path(__file__).parents[4] / "shared" / "data" / "locomo10.json.gz"
MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
CHUNK_WORDS = gaama_settings().chunk_words


def session(*turns, date=MAY):
    """A session of `(speaker, text, caption)`."""
    said = tuple(
        Turn(f"h#0.{place}", "user", speaker, text, caption)
        for place, (speaker, text, caption) in enumerate(turns)
    )
    return Session("s0", "h", 0, date, said)


def event(words, place=0):
    """An event of so many words, its speaker among them."""
    return Event(f"t{place}", "s", None, "Ann", " ".join(["word"] * (words - 1)), False)


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        (MAY, "[1:56 pm on 8 May, 2023] "),
        (datetime(2022, 12, 31, 0, 5, tzinfo=UTC), "[12:05 am on 31 December, 2022] "),
        (datetime(2022, 1, 1, 12, 0, tzinfo=UTC), "[12:00 pm on 1 January, 2022] "),
        (None, ""),
    ],
)
def test_an_episode_begins_with_its_sessions_date_as_locomo_writes_it(date, expected):
    assert stamp(date) == expected


def test_an_event_is_date_speaker_and_words_and_its_speaker_counts_twice():
    [said] = events(session(("Ann", "Hello there", None)), captions=False)
    assert said.text == "[1:56 pm on 8 May, 2023] Ann: Hello there"
    assert said.words == 10  # six of the date, `Ann:`, two, and the speaker


def test_a_caption_is_dropped_as_published_and_kept_if_improved():
    shown = session(("Ann", "Look!", "a red bicycle"), ("Bob", "Nice.", None), ("Ann", " ", "a blue car"))
    texts = {}
    for profile in ("published", "improved"):
        said = events(shown, captions=gaama_settings(profile).captions)
        texts[profile] = [one.text.split("] ", 1)[1] for one in said]
    assert texts == {
        "published": ["Ann: Look!", "Bob: Nice."],
        "improved": ["Ann: Look! [a red bicycle]", "Bob: Nice.", "Ann:   [a blue car]"],
    }


def test_a_turn_that_says_nothing_is_no_event_and_the_next_is_the_first():
    found = events(session(("Ann", " \n", None), ("Bob", "Hi", None), ("Ann", "Hi", None)), captions=False)
    assert [(said.turn, said.first) for said in found] == [("h#0.1", True), ("h#0.2", False)]


def test_a_chunk_is_filled_up_to_five_hundred_words():
    chunks, waiting = full_chunks([event(100), event(400), event(1), event(499), event(2)], CHUNK_WORDS)
    assert [[said.words for said in chunk] for chunk in chunks] == [[100, 400], [1, 499]]
    assert [said.words for said in waiting] == [2]
    # One word less would close both chunks earlier, one more would take the next event in.
    assert full_chunks([event(100), event(401)], CHUNK_WORDS)[0] == [[event(100)]]


def test_an_event_is_never_split():
    chunks, waiting = full_chunks([event(3), event(2000), event(4)], CHUNK_WORDS)
    assert [[said.words for said in chunk] for chunk in chunks] == [[3], [2000]]
    assert [said.words for said in waiting] == [4]


@given(st.lists(st.integers(1, 12), max_size=40), st.integers(1, 30), st.data())
def test_chunks_hold_all_events_in_order_and_do_not_depend_on_how_they_arrive(sizes, words, data):
    said = [event(size, place) for place, size in enumerate(sizes)]
    chunks, waiting = full_chunks(said, words)
    assert [one for chunk in [*chunks, waiting] for one in chunk] == said
    for chunk, following in itertools.pairwise([*chunks, waiting]):
        filled = sum(one.words for one in chunk)
        assert filled <= words or len(chunk) == 1
        assert filled + following[0].words > words
    cut = data.draw(st.integers(0, len(said)))
    early, waits = full_chunks(said[:cut], words)
    late, left = full_chunks([*waits, *said[cut:]], words)
    assert ([*early, *late], left) == (chunks, waiting)


@pytest.mark.skipif(not LOCOMO.exists(), reason=f"{LOCOMO.name} is not at hand")
def test_locomo_has_380_chunks_most_of_which_cross_a_session_border():
    histories = locomo.load(LOCOMO, "locomo").histories.values()
    settings = gaama_settings("published")
    chunks = []
    for history in histories:
        said = [one for session in history.sessions for one in events(session, captions=settings.captions)]
        full, last = full_chunks(said, settings.chunk_words)
        chunks.append([*full, last])
    assert [len(found) for found in chunks] == [29, 23, 45, 38, 45, 43, 43, 40, 33, 41]
    assert sum(len(found) for found in chunks) == 380  # so that building takes at most 760 calls
    every = [chunk for found in chunks for chunk in found]
    assert round(sum(len(chunk) for chunk in every) / 380) == 15
    assert sum(len({one.session for one in chunk}) > 1 for chunk in every) == 240
