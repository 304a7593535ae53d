"""Bullets: their tags, their order, their sections, and what becomes of near duplicates."""

from __future__ import annotations

import pytest

from memory import tokens
from memory.playbook.bullets import SECTIONS, Bullet, Playbook, section_of


def playbook(*bullets: Bullet) -> Playbook:
    return Playbook(bullets, number=len(bullets))


def bullet(
    number: int, text: str = "x", helpful: int = 0, harmful: int = 0, turns: tuple[str, ...] = ()
) -> Bullet:
    return Bullet(f"ctx-{number}", "context_clues_and_indicators", text, helpful, harmful, turns)


@pytest.mark.parametrize(
    ("tag", "counters"),
    [("helpful", (3, 1)), ("harmful", (2, 2)), ("neutral", (2, 1)), ("great", (2, 1)), ("", (2, 1))],
)
def test_a_tag_raises_its_counter_by_one_and_neutral_or_unknown_tags_raise_none(tag, counters):
    book = playbook(bullet(1, helpful=2, harmful=1))
    assert book.tag("ctx-1", tag) == (tag in ("helpful", "harmful", "neutral"))
    assert (book.bullets["ctx-1"].helpful, book.bullets["ctx-1"].harmful) == counters


@pytest.mark.parametrize("id", ["ctx-2", "CTX-1", "", "../ctx-1"])
def test_a_tag_of_a_bullet_that_does_not_exist_changes_nothing(id):
    book = playbook(bullet(1))
    assert not book.tag(id, "helpful")
    assert list(book.bullets.values()) == [bullet(1)]


def test_bullets_come_by_helpful_less_harmful_and_the_newest_of_equal_ones_first():
    book = playbook(
        bullet(1, helpful=1, harmful=1), bullet(2, helpful=3), bullet(3), bullet(4, harmful=1), bullet(5)
    )
    assert [each.id for each in book.ranked()] == ["ctx-2", "ctx-5", "ctx-3", "ctx-1", "ctx-4"]


def test_numbers_run_through_all_sections_and_are_given_out_once():
    book = Playbook()
    for section in ("others", "common_mistakes_to_avoid"):
        book.add(book.drafted(section, "x", ["h#0.0"]))
    assert list(book.bullets) == ["misc-1", "err-2"]
    book.merge("misc-1", book.drafted("others", "y", []))
    book.add(book.drafted("others", "z", []))
    assert list(book.bullets) == ["err-2", "misc-1", "misc-3"]


def test_a_merged_bullet_keeps_id_and_counters_and_says_what_is_newer_on_the_turns_of_both():
    book = playbook(bullet(1, "Mara works for Acme.", 2, 1, ("h#0.0", "h#0.1")), bullet(2))
    book.merge("ctx-1", book.drafted("others", "Mara works for Beryl.", ["h#0.1", "h#1.0"]))
    merged = bullet(1, "Mara works for Beryl.", 2, 1, ("h#0.0", "h#0.1", "h#1.0"))
    assert list(book.bullets.values()) == [bullet(2), merged]


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("context_clues_and_indicators", "context_clues_and_indicators"),
        ("## CONTEXT CLUES & INDICATORS", "context_clues_and_indicators"),
        ("Problem-Solving Heuristics", "problem_solving_heuristics"),
        ("people", "others"),
        ("", "others"),
        ("../strategies_and_insights", "strategies_and_insights"),  # a key and nothing else
    ],
)
def test_a_section_is_named_by_key_or_heading_and_one_that_is_unknown_is_others(written, key):
    assert section_of(written) == key


def test_there_are_seven_sections_and_each_is_found_by_its_heading():
    assert len(SECTIONS) == 7
    assert [section_of(heading) for _, heading in SECTIONS.values()] == list(SECTIONS)


def test_models_read_the_bullets_under_their_headings_and_empty_sections_say_so():
    book = Playbook()
    book.add(book.drafted("others", "It rains.", []))
    book.add(book.drafted("strategies_and_insights", "Ask first.", []))
    assert book.rendered().startswith(
        "## Strategies and insights\n[str-2 +0 -0] Ask first.\n\n## Formulas and"
    )
    assert book.rendered().endswith(
        "## Context clues and indicators\n(none)\n\n## Others\n[misc-1 +0 -0] It rains."
    )


def test_a_playbook_takes_the_tokens_of_its_lines():
    book = playbook(bullet(1, "It rains."), bullet(2, "Mara likes tea.", helpful=4))
    lines = "[ctx-1 +0 -0] It rains.\n[ctx-2 +4 -0] Mara likes tea.\n"
    assert book.tokens == tokens.count(lines)
