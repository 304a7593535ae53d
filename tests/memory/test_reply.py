from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.reply import RepeatedKeys, read_json

GRAPH = {"nodes": {"n1": {"title": "a, b"}}, "edges": {}}


@pytest.mark.parametrize(
    "text",
    [
        '{"nodes": {"n1": {"title": "a, b"}}, "edges": {}}',
        '```json\n{"nodes": {"n1": {"title": "a, b"}}, "edges": {}}\n```',
        'Here are the facts: ```{"nodes": {"n1": {"title": "a, b"}}, "edges": {}}``` I hope they help.',
        'Sure [as asked, see 1]: {"nodes": {"n1": {"title": "a, b"}}, "edges": {}} and {"nodes": {}}',
        '<think>maybe {"nodes": {}}?</think>{"nodes": {"n1": {"title": "a, b"}}, "edges": {}}',
        '{"nodes": {"n1": {"title": "a, b",},}, "edges": {},}',
        'They cite [1]. {"nodes": {"n1": {"title": "a, b"}}, "edges": {}}',
    ],
)
def test_the_value_is_found_whatever_a_model_puts_around_it(text):
    assert read_json(text) == GRAPH


def test_a_comma_before_a_bracket_inside_a_string_is_kept():
    assert read_json('{"a": "x,]",}') == {"a": "x,]"}


def test_a_top_level_array_is_read():
    assert read_json('[{"title": "a"}]') == [{"title": "a"}]
    assert read_json("[]") == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "I found nothing.",
        '{"nodes": {"n1"',
        "}{",
        '{"nodes": {"n1": {"title": "a"}}, "ed',
        """{"nodes": {"n1": {"title": 'a'}}, "edges": {}}""",
        "[" * 100_000,
        '{"a":' * 50_000,
    ],
)
def test_a_reply_without_a_complete_value_is_refused_in_one_line(text):
    with pytest.raises(ValueError, match=r"^[^\n]{1,80}$"):
        read_json(text)


def test_the_refusal_quotes_nothing_of_the_reply():
    with pytest.raises(ValueError) as refusal:
        read_json("the user's password is swordfish")
    assert "swordfish" not in str(refusal.value)


@pytest.mark.parametrize(
    "text", ['{"properties": {"nodes": {}}, "type": "object"}', '{"$defs": {}, "nodes": []}']
)
def test_a_schema_that_is_handed_back_is_no_reply(text):
    with pytest.raises(ValueError, match="schema"):
        read_json(text)


def test_numbers_that_json_does_not_know_become_null():
    assert read_json('{"a": NaN, "b": -Infinity}') == {"a": None, "b": None}


def test_repeated_keys_are_marked_and_the_last_value_stands():
    value = read_json('{"n": 1, "m": 2, "n": 3}')
    assert isinstance(value, RepeatedKeys)
    assert (value, value.repeated) == ({"n": 3, "m": 2}, ("n",))


@given(st.text())
def test_any_text_is_read_or_refused(text):
    with suppress(ValueError):
        assert isinstance(read_json(text), dict | list)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1,} "' + '\\"' * 500_000,
        '{"a": [1,], "b": "' + "\\" * 1_000_001,
        "[ " * 64 + " " * 4_000_000,
        "{ x " * 64 + '"' * 4_000_000,
        '{"a": [' + ", " * 1_000_000,
    ],
    ids=["escaped quotes", "backslashes", "blanks", "quotes", "commas"],
)
def test_a_reply_that_a_backtracking_pattern_would_not_come_out_of_is_read_in_linear_time(text: str) -> None:
    with suppress(ValueError):
        read_json(text)


def test_thinking_that_never_closes_is_read_in_linear_time() -> None:
    # A pattern that backtracks took minutes for this; any deadline of the suite would show it.
    with pytest.raises(ValueError, match="no complete JSON"):
        read_json("<think>" * 200_000)
    assert read_json("<think>{not this}</think><think>[nor</THINK> this]" + '{"a": 1}') == {"a": 1}
