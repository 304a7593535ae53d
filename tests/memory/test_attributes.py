from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.attributes import current, merge_attributes, versions

MARCH, MAY = datetime(2023, 3, 1, tzinfo=UTC), datetime(2023, 5, 1, tzinfo=UTC)


def merged(rule, *sayings, keep_history=True):
    held = {}
    for turn, (said, time) in enumerate(sayings):
        merge_attributes(held, versions(said, time, f"t{turn}"), rule, keep_history=keep_history)
    return held


@pytest.mark.parametrize(
    ("rule", "standing"),
    [
        ("old_wins", "Rome"),
        ("new_wins", "Oslo"),
        ("last_by_time", "Rome"),
        ("higher_confidence_else_old", "Rome"),
    ],
)
def test_each_rule_picks_its_value_when_the_later_turn_tells_of_an_earlier_day(rule, standing):
    held = merged(rule, ({"city": "Rome"}, MAY), ({"city": "Oslo"}, MARCH))
    assert current(held) == {"city": standing}
    assert {version.value for version in held["city"]} == {"Rome", "Oslo"}


@pytest.mark.parametrize(
    ("first", "second", "standing"),
    [(0.5, 0.9, "Oslo"), (0.9, 0.5, "Rome"), (None, 0.9, "Rome"), (0.5, None, "Rome"), (0.5, 0.5, "Rome")],
)
def test_confidence_decides_only_where_both_are_known_and_the_new_one_is_higher(first, second, standing):
    sayings = [
        {"city": city} | ({} if confidence is None else {"confidence": confidence})
        for city, confidence in (("Rome", first), ("Oslo", second))
    ]
    held = merged("higher_confidence_else_old", *[(said, MAY) for said in sayings])
    assert current(held)["city"] == standing


def test_history_keeps_value_time_and_turn_with_the_standing_value_last():
    held = merged("last_by_time", ({"city": "Rome"}, MARCH), ({"city": "Oslo"}, MAY))
    assert [(v.value, v.time, v.turn) for v in held["city"]] == [("Rome", MARCH, "t0"), ("Oslo", MAY, "t1")]


def test_without_history_one_value_is_kept():
    held = merged("new_wins", ({"city": "Rome"}, MARCH), ({"city": "Oslo"}, MAY), keep_history=False)
    assert [v.value for v in held["city"]] == ["Oslo"]


def test_saying_a_value_again_makes_no_version_but_moves_its_time():
    held = merged("last_by_time", ({"city": "Rome"}, MARCH), ({"city": "Rome"}, MAY))
    assert [(v.value, v.time) for v in held["city"]] == [("Rome", MAY)]


def test_a_value_without_a_time_yields_to_one_that_has_one():
    assert current(merged("last_by_time", ({"city": "Rome"}, MAY), ({"city": "Oslo"}, None))) == {
        "city": "Rome"
    }
    assert current(merged("last_by_time", ({"city": "Rome"}, None), ({"city": "Oslo"}, MARCH))) == {
        "city": "Oslo"
    }


def test_true_is_not_one():
    assert len(merged("new_wins", ({"n": 1}, MAY), ({"n": True}, MAY))["n"]) == 2


@given(st.permutations([(f"v{day}", datetime(2023, 1, day, tzinfo=UTC)) for day in range(1, 7)]))
def test_the_latest_value_stands_in_whatever_order_it_is_told(sayings):
    held = merged("last_by_time", *[({"x": value}, time) for value, time in sayings])
    assert current(held) == {"x": "v6"}
    assert len(held["x"]) == 6
