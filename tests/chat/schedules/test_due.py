"""When schedules are due: local times, their hours, and the days on which clocks change."""

import datetime as dt
import zoneinfo

import pytest

from chat.schedules.due import HeartbeatTimes, TaskTimes, day_began, is_within, next_heartbeat, next_task

ZURICH = zoneinfo.ZoneInfo("Europe/Zurich")
HOURS = HeartbeatTimes(30, dt.time(8), dt.time(22))


def local(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=ZURICH)


def beats(times, begin, end):
    """The local times of all heartbeats after `begin` until `end`."""
    found, at = [], local(begin)
    while (at := next_heartbeat(times, at, ZURICH)) <= local(end):
        found.append(at.astimezone(ZURICH).strftime("%d %H:%M"))
    return found


def test_a_day_has_a_heartbeat_each_half_hour_from_eight_until_before_ten_at_night():
    found = beats(HOURS, "2026-11-23T00:00", "2026-11-23T23:59")
    assert (found[0], found[1], found[-1], len(found)) == ("23 08:00", "23 08:30", "23 21:30", 28)


@pytest.mark.parametrize(("minutes", "count"), [(5, 288), (6, 240), (1_439, 2), (1_440, 1)])
def test_the_whole_day_has_as_many_as_fit(minutes, count):
    times = HeartbeatTimes(minutes, dt.time(8), dt.time(8))
    assert len(beats(times, "2026-11-23T07:59:59", "2026-11-24T07:59:59")) == count


def test_hours_may_reach_into_the_next_day():
    times = HeartbeatTimes(60, dt.time(22), dt.time(1))
    assert beats(times, "2026-11-23T00:30", "2026-11-24T12:00") == ["23 22:00", "23 23:00", "24 00:00"]
    assert [is_within(times, local(f"2026-11-23T{at}"), ZURICH) for at in ("00:59", "01:00", "21:59", "22:00")] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(("at", "inside"), [("07:59:59", False), ("08:00", True), ("21:59:59", True), ("22:00", False)])
def test_a_time_lies_in_the_hours(at, inside):
    assert is_within(HOURS, local(f"2026-11-23T{at}"), ZURICH) is inside


def test_heartbeats_keep_to_the_clock_on_the_wall_when_clocks_change():
    night = HeartbeatTimes(30, dt.time(1), dt.time(4))
    spring = beats(night, "2027-03-28T00:00", "2027-03-28T05:00")
    # 02:00 and 02:30 do not exist; they are 03:00 and 03:30, once.
    assert spring == ["28 01:00", "28 01:30", "28 03:00", "28 03:30"]
    autumn = beats(night, "2026-10-25T00:00", "2026-10-25T05:00")
    # 02:00 and 02:30 come twice, and count once.
    assert autumn == ["25 01:00", "25 01:30", "25 02:00", "25 02:30", "25 03:00", "25 03:30"]
    assert beats(HOURS, "2027-03-27T21:45", "2027-03-28T08:00") == ["28 08:00"]


@pytest.mark.parametrize(
    ("times", "after", "due"),
    [
        (TaskTimes("daily", dt.time(8)), "2026-11-23T07:59:59", "2026-11-23T08:00"),
        (TaskTimes("daily", dt.time(8)), "2026-11-23T08:00", "2026-11-24T08:00"),
        (TaskTimes("weekly", dt.time(8), days=[0]), "2026-11-23T08:00", "2026-11-30T08:00"),
        (TaskTimes("weekly", dt.time(8), days=[0, 3]), "2026-11-23T08:00", "2026-11-26T08:00"),
        (TaskTimes("monthly", dt.time(8), month_day=31), "2027-01-31T08:00", "2027-02-28T08:00"),
        (TaskTimes("monthly", dt.time(8), month_day=15), "2026-11-23T08:00", "2026-12-15T08:00"),
        (TaskTimes("", dt.time(8), on=dt.date(2026, 11, 24)), "2026-11-23T08:00", "2026-11-24T08:00"),
        # The clock on the wall stays at eight, and a time that does not exist is an hour later.
        (TaskTimes("daily", dt.time(8)), "2027-03-27T08:00", "2027-03-28T08:00"),
        (TaskTimes("daily", dt.time(2, 30)), "2027-03-27T12:00", "2027-03-28T03:30"),
        (TaskTimes("daily", dt.time(2, 30)), "2026-10-24T12:00", "2026-10-25T02:30"),
    ],
)
def test_a_task_is_due_next(times, after, due):
    assert next_task(times, local(after), ZURICH) == local(due).astimezone(dt.UTC)


def test_a_time_that_comes_twice_counts_once():
    first = local("2026-10-25T02:30")
    assert next_task(TaskTimes("daily", dt.time(2, 30)), first, ZURICH) == local("2026-10-26T02:30")


def test_a_task_at_one_time_is_over_after_it():
    once = TaskTimes("", dt.time(8), on=dt.date(2026, 11, 23))
    assert next_task(once, local("2026-11-23T08:00"), ZURICH) is None


def test_a_day_begins_at_midnight_of_the_person():
    assert day_began(local("2027-03-28T12:00"), ZURICH) == local("2027-03-28T00:00")
