"""The days to come that lines of memory name."""

import datetime as dt

import pytest

from memory.text.plans import ComingDay, coming_day

TODAY = dt.date(2026, 11, 28)


def day(text):
    return ComingDay(dt.date.fromisoformat(text))


def month(text):
    return ComingDay(dt.date.fromisoformat(f"{text}-01"), is_month=True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- The lighthouse project is due on 18 December.", day("2026-12-18")),
        ("- Trip to Oslo from December 30, 2026 to January 4, 2027", day("2026-12-30")),
        ("- Zahnarzt am 3.2.", day("2027-02-03")),
        ("- Die Abgabe ist am 2027-01-05.", day("2027-01-05")),
        ("- Rendez-vous le 4 janvier", day("2027-01-04")),
        ("- 1月20日に歯医者", day("2027-01-20")),
        ("- 会议在2027年3月2号", day("2027-03-02")),
        # Today counts.
        ("- Dinner on 28 November", day("2026-11-28")),
        # What comes again each year, with or without its first year.
        ("- My mother's birthday is on 3 May.", day("2027-05-03")),
        ("- Born on 29 February 1984", day("2027-02-28")),
        ("- Hochzeitstag: 12. August 2009", day("2027-08-12")),
        # A month alone.
        ("- The rent rises to 1,240 in March.", month("2027-03")),
        ("- Umzug im Dezember", month("2026-12")),
        ("- The lease ends in June 2028", month("2028-06")),
        ("- 2027年4月に引っ越し", month("2027-04")),
        # Over, about the past, or no day at all.
        ("- The office moved on 3 March 2020.", None),
        ("- Works there since 5 January", None),
        ("- Every 2 weeks from 3 January", None),
        ("- I may march with them", None),
        ("- Lives in Marchtown", None),
        ("- 31 February", None),
        ("- Likes tea", None),
        ("", None),
    ],
)
def test_the_next_day(line, expected):
    assert coming_day(line, TODAY, TODAY) == expected


def test_a_day_without_a_year_is_the_next_one_after_the_line_was_written():
    line = "- The dentist on 3 March"
    assert coming_day(line, dt.date(2026, 1, 1), TODAY) is None
    assert coming_day(line, dt.date(2026, 4, 1), TODAY) == day("2027-03-03")
    assert coming_day("- The rent rises in March", dt.date(2025, 4, 1), TODAY) is None
    assert coming_day("- The rent rises in November", dt.date(2026, 4, 1), TODAY) == month("2026-11")


def test_a_day_goes_before_a_month():
    assert coming_day("- In December, on the 5 January, or so", TODAY, TODAY) == day("2027-01-05")


def test_a_long_line_is_read_at_its_beginning_only():
    assert coming_day("x" * 5_000 + " 18 December", TODAY, TODAY) is None
