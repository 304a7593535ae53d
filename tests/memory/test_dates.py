from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.dates import normalise_dates, resolve

SATURDAY = date(2023, 5, 20)


@pytest.mark.parametrize(
    ("raw", "day", "approximate"),
    [
        ("yesterday", "2023-05-19", False),
        ("Tomorrow", "2023-05-21", False),
        ("last Saturday", "2023-05-13", False),
        ("last friday evening", "2023-05-19", False),
        ("3 days ago", "2023-05-17", False),
        ("2 weeks ago", "2023-05-06", False),
        ("1 month ago", "2023-04-20", False),
        ("a few days ago", "2023-05-13", True),
        ("a while back", "2023-05-13", True),
        ("March 15th", "2023-03-15", False),
        ("the 3rd of June", "2022-06-03", False),
        ("March 15, 2019", "2023-03-15", False),  # the year is ignored
        ("April 2023", "2023-04-20", False),  # misread as day 20
    ],
)
def test_published_resolves_the_forms_of_the_reference_code(raw, day, approximate):
    found = resolve(raw, SATURDAY, "published")
    assert found and (found.date, found.approximate) == (day, approximate)


@pytest.mark.parametrize(
    "raw", ["last month", "in 2019", "next week", "2023-05-01", "two weeks ago", "recently", "soon"]
)
def test_published_leaves_everything_else_alone(raw):
    assert resolve(raw, SATURDAY, "published") is None


def test_published_leaves_a_month_without_such_a_day_unresolved():
    assert resolve("1 month ago", date(2023, 3, 31), "published") is None
    assert resolve("1 year ago", date(2024, 2, 29), "published") is None


@pytest.mark.parametrize(
    ("raw", "day", "approximate"),
    [
        ("yesterday", "2023-05-19", False),
        ("last night", "2023-05-19", False),
        ("the day before yesterday", "2023-05-18", False),
        ("last Saturday", "2023-05-13", False),
        ("on Friday", "2023-05-19", False),
        ("next Saturday", "2023-05-27", False),
        ("three days ago", "2023-05-17", False),
        ("in 3 days", "2023-05-23", False),
        ("two weeks ago", "2023-05-06", True),
        ("about a month ago", "2023-04-20", True),
        ("a couple of days ago", "2023-05-18", True),
        ("last week", "2023-05-13", True),
        ("last month", "2023-04", True),
        ("next month", "2023-06", True),
        ("last year", "2022", True),
        ("recently", "2023-05-13", True),
        ("March 15, 2019", "2019-03-15", False),
        ("15 Mar 2019", "2019-03-15", False),
        ("the 3rd of June", "2022-06-03", False),
        ("April 2022", "2022-04", True),
        ("in August", "2022-08", True),
        ("in 2019", "2019", True),
        ("2023-05-01", "2023-05-01", False),
        ("2023/05/01", "2023-05-01", False),
        ("2023-04", "2023-04", True),
        ("yesterday morning", "2023-05-19", False),
        ("tonight at 8", "2023-05-20", False),
        ("May 2022", "2022-05", True),
        ("next June", "2023-06", True),
        ("next March", "2024-03", True),
        ("the last week of March", "2023-03", True),
        ("two days before", "2023-05-18", False),
    ],
)
def test_improved_reads_more_forms_and_says_how_sure_it_is(raw, day, approximate):
    found = resolve(raw, SATURDAY, "improved")
    assert found and (found.date, found.approximate) == (day, approximate)


def test_improved_takes_the_last_day_of_a_month_that_is_too_short():
    assert resolve("1 month ago", date(2023, 3, 31), "improved").date == "2023-02-28"
    assert resolve("one year ago", date(2024, 2, 29), "improved").date == "2023-02-28"
    assert resolve("last month", date(2023, 1, 31), "improved").date == "2022-12"


@pytest.mark.parametrize("raw", ["soon", "may be never", "February 30", "2023-13-01", "someday"])
def test_improved_leaves_what_is_no_date_alone(raw):
    assert resolve(raw, SATURDAY, "improved") is None


pieces = st.sampled_from(
    [
        "last",
        "next",
        "month",
        "week",
        "31",
        "29",
        "february",
        "feb",
        "2023",
        "ago",
        "a",
        "few",
        "9999",
        "years",
        "in",
        "/",
    ]
)


@given(
    st.lists(pieces | st.text(max_size=4), max_size=6).map(" ".join),
    st.dates(),
    st.sampled_from(["published", "improved"]),
)
def test_no_phrase_on_no_day_raises(raw, anchor, rule):
    resolve(raw, anchor, rule)


def test_attributes_get_the_date_and_keep_the_phrase_only_where_it_says_more():
    anchor = datetime(2023, 5, 20, 9, tzinfo=UTC)
    assert normalise_dates({"raw_date": "yesterday", "km": 5}, anchor, "published") == {
        "km": 5,
        "date": "2023-05-19",
        "date_approximate": False,
    }
    assert normalise_dates({"raw_date": "a while ago"}, anchor, "published") == {
        "date": "2023-05-13",
        "date_approximate": True,
        "date_raw": "a while ago",
    }
    assert normalise_dates({"raw_date": "next week"}, anchor, "published") == {
        "date_approximate": False,
        "date_raw": "next week",
    }
    assert normalise_dates({"raw_date": 5}, anchor, "published") == {}


def test_without_a_session_date_nothing_is_resolved():
    assert "date" not in normalise_dates({"raw_date": "yesterday"}, None, "improved")
