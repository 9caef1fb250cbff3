"""Old and new names of timezones are known everywhere, and those of one timezone are one."""

import subprocess
import sys
import zoneinfo

import pytest

from oneclaw import zones

# What browsers still say.
OLD = {
    "Asia/Calcutta": "Asia/Kolkata",
    "Asia/Saigon": "Asia/Ho_Chi_Minh",
    "Asia/Katmandu": "Asia/Kathmandu",
    "Asia/Rangoon": "Asia/Yangon",
    "Europe/Kiev": "Europe/Kyiv",
    "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
    "America/Godthab": "America/Nuuk",
}


@pytest.mark.parametrize(("old", "new"), OLD.items())
def test_an_old_name_is_known_and_one_with_the_new_one(old, new):
    assert zones.is_known(old)
    assert zones.are_one(old, new)
    assert zones.are_one(new, old)
    assert not zones.are_one(old, "Europe/Zurich")


def test_they_are_known_where_the_system_has_no_timezones_at_all():
    asked = f"import zoneinfo; print(all(zoneinfo.ZoneInfo(name).key for name in {list(OLD)!r}))"
    environment = {"PYTHONTZPATH": "/nowhere"}
    done = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr


def test_names_of_one_timezone_have_one_clock_now():
    import datetime as dt

    moments = [dt.datetime(2026, month, 15, 12, tzinfo=dt.UTC) for month in range(1, 13)]
    for name in sorted(zoneinfo.available_timezones()):
        target = zones._target_of(name)
        for moment in moments:
            here, there = (moment.astimezone(zoneinfo.ZoneInfo(each)).utcoffset() for each in (name, target))
            assert here == there, (name, target)


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../../etc/passwd", "Europe/Zürich", "\x00"])
def test_anything_else_is_no_timezone(name):
    assert not zones.is_known(name)
