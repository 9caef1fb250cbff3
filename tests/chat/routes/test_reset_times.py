"""When daily and idle resets are due: by the person's own clock, also in the nights in which it is changed."""

import datetime as dt
import zoneinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.routes.reset_times import ResetDue, ResetRule, first_due, next_hour

ZURICH = zoneinfo.ZoneInfo("Europe/Zurich")
SECOND = dt.timedelta(seconds=1)


def utc(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("zone", "after", "hour", "due"),
    [
        # One second before four, at four, and one second after it: summer time.
        ("Europe/Zurich", "2026-07-01T01:59:59", 4, "2026-07-01T02:00:00"),
        ("Europe/Zurich", "2026-07-01T02:00:00", 4, "2026-07-02T02:00:00"),
        ("Europe/Zurich", "2026-07-01T02:00:01", 4, "2026-07-02T02:00:00"),
        # The clock is put forward from two to three: the hour of two begins when it would have.
        ("Europe/Zurich", "2027-03-27T20:00:00", 2, "2027-03-28T01:00:00"),
        ("Europe/Zurich", "2027-03-28T01:00:00", 2, "2027-03-29T00:00:00"),
        ("Europe/Zurich", "2027-03-27T20:00:00", 4, "2027-03-28T02:00:00"),
        # It is put back from three to two: the hour of two counts once, the first time.
        ("Europe/Zurich", "2026-10-24T20:00:00", 2, "2026-10-25T00:00:00"),
        ("Europe/Zurich", "2026-10-25T00:00:00", 2, "2026-10-26T01:00:00"),
        ("Europe/Zurich", "2026-10-25T01:30:00", 2, "2026-10-26T01:00:00"),
        # Half an hour is left out at Lord Howe Island, and a whole day was in Samoa.
        ("Australia/Lord_Howe", "2026-10-03T10:00:00", 2, "2026-10-03T15:30:00"),
        ("Pacific/Apia", "2011-12-29T20:00:00", 4, "2011-12-30T14:00:00"),
        ("Pacific/Kiritimati", "2026-11-22T13:59:59", 4, "2026-11-22T14:00:00"),
        ("America/Los_Angeles", "2026-11-23T07:59:59", 0, "2026-11-23T08:00:00"),
    ],
)
def test_a_day_begins_at_its_hour_of_the_persons_clock(zone, after, hour, due):
    assert next_hour(utc(after), hour, zoneinfo.ZoneInfo(zone)) == utc(due)


zones = st.sampled_from(
    ["Europe/Zurich", "America/Los_Angeles", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]
).map(zoneinfo.ZoneInfo)
moments = st.datetimes(dt.datetime(2011, 1, 1), dt.datetime(2028, 1, 1)).map(lambda each: each.replace(tzinfo=dt.UTC))


@given(after=moments, hour=st.integers(0, 23), zone=zones)
def test_the_next_hour_is_later_and_at_most_a_day_and_an_hour_away(after, hour, zone):
    due = next_hour(after, hour, zone)
    assert after < due <= after + dt.timedelta(hours=25)
    # Nothing lies between: from any moment before it, it is the next one.
    assert next_hour(due - SECOND, hour, zone) <= due


@pytest.mark.parametrize("minutes", [1, 240, 43_200])
def test_a_pause_is_over_after_its_minutes(minutes):
    rule, wrote = ResetRule(daily=False, idle=True, hour=4, minutes=minutes), utc("2026-07-01T12:00:00")
    due = first_due(rule, ZURICH, utc("2026-07-01T08:00:00"), wrote)
    assert due == ResetDue(wrote + dt.timedelta(minutes=minutes), "idle")


def test_the_first_of_both_counts_and_of_two_at_once_the_daily_one():
    began = utc("2026-07-01T20:00:00")
    both = ResetRule(daily=True, idle=True, hour=4, minutes=240)
    assert first_due(both, ZURICH, began, began) == ResetDue(utc("2026-07-02T00:00:00"), "idle")
    assert first_due(both, ZURICH, began, utc("2026-07-01T21:59:59")).cause == "idle"
    assert first_due(both, ZURICH, began, utc("2026-07-01T22:00:00")) == ResetDue(utc("2026-07-02T02:00:00"), "daily")
    assert first_due(both, ZURICH, began, utc("2026-07-01T22:00:01")).cause == "daily"


def test_without_a_rule_nothing_is_due():
    assert (
        first_due(ResetRule(daily=False, idle=False, hour=4, minutes=1), ZURICH, utc("2020-01-01"), utc("2020-01-01"))
        is None
    )
