from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.benchmarks.dates import locomo_date, longmemeval_date

minutes = (
    st.datetimes(timezones=st.just(UTC))
    .filter(lambda date: date.year >= 1000)
    .map(lambda date: date.replace(second=0, microsecond=0))
)


def test_a_longmemeval_date_is_read_as_utc():
    assert longmemeval_date("2023/05/30 (Tue) 23:40") == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("12:09 am on 13 September, 2023", 0),
        ("9:55 am on 13 September, 2023", 9),
        ("12:30 pm on 13 September, 2023", 12),
        ("1:56 pm on 13 September, 2023", 13),
    ],
)
def test_a_locomo_date_counts_hours_from_twelve(text, hour):
    date = locomo_date(text)
    assert (date.year, date.month, date.day, date.hour) == (2023, 9, 13, hour)


@given(minutes)
def test_every_minute_survives_both_forms(date):
    assert longmemeval_date(date.strftime("%Y/%m/%d (%a) %H:%M")) == date
    hour = f"{(date.hour + 11) % 12 + 1}:{date.minute:02d} {'pm' if date.hour >= 12 else 'am'}"
    assert locomo_date(f"{hour} on {date.day} {date.strftime('%B')}, {date.year:04d}") == date


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2023/05/30",
        "2023-05-30 (Tue) 23:40",
        "2023/05/30 (Tuesday) 23:40",
        "2023/5/30 (Tue) 23:40",
        "2023/05/30 (Tue) 23:40 ",
        "2023/05/30 (Wed) 23:40",
        "2023/02/30 (Thu) 23:40",
        "2023/05/30 (Tue) 24:00",
        "0000/05/30 (Tue) 23:40",
        "٢٠٢٣/05/30 (Tue) 23:40",
    ],
)
def test_what_is_no_longmemeval_date_is_refused(text):
    with pytest.raises(ValueError):
        longmemeval_date(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8 May, 2023",
        "13:56 pm on 8 May, 2023",
        "0:56 am on 8 May, 2023",
        "1:60 pm on 8 May, 2023",
        "1:56 pm on 31 June, 2023",
        "1:56 pm on 8 Mai, 2023",
        "1:56 PM on 8 May, 2023",
        "1:56 pm on 8 May 2023",
    ],
)
def test_what_is_no_locomo_date_is_refused(text):
    with pytest.raises(ValueError):
        locomo_date(text)
