"""The year of a memory: its cells, the days on which something was remembered, and the growing curve."""

import datetime as dt

from memory.overview.days import CURVE_HEIGHT, CURVE_TOP, SHOWN_WEEKS, calendar_of, totals_by_week

TODAY = dt.date(2026, 11, 25)


def ago(days):
    return TODAY - dt.timedelta(days=days)


def test_the_curve_grows_by_week_and_keeps_what_is_older():
    first = dt.date(2026, 11, 2)
    remembered = {dt.date(2020, 1, 1): 3, dt.date(2026, 11, 2): 1, dt.date(2026, 11, 8): 1, dt.date(2026, 11, 17): 5}
    assert totals_by_week(remembered, first, 4) == [5, 5, 10, 10]
    # By the clock of another time zone it is tomorrow there.
    assert totals_by_week({dt.date(2026, 12, 1): 2}, first, 4) == [0, 0, 0, 2]
    assert totals_by_week({}, first, 2) == [0, 0]


def test_the_curve_ends_at_its_top_above_the_last_week():
    calendar = calendar_of({}, {ago(300): 4, ago(1): 6}, TODAY)
    points = [tuple(map(float, point.split(","))) for point in calendar.points.split()]
    assert len(points) == SHOWN_WEEKS
    assert points[0][1] == CURVE_TOP + CURVE_HEIGHT
    assert points[-1] == calendar.end
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    assert calendar.total == 10


def test_without_anything_remembered_there_is_no_room_for_a_curve():
    empty, full = calendar_of({ago(1): 2}, {}, TODAY), calendar_of({}, {ago(1): 2}, TODAY)
    assert float(empty.box.split()[3]) < float(full.box.split()[3]) - CURVE_HEIGHT


def test_a_day_has_its_cell_its_shade_and_its_dot():
    calendar = calendar_of({TODAY: 1, ago(7): 30, ago(400): 2, ago(-1): 1}, {ago(7): 2, ago(8): 1}, TODAY)
    assert [(day.day, day.shade, day.remembered) for day in calendar.days] == [
        (ago(8), 0, 1),
        (ago(7), 4, 2),
        (TODAY, 1, 0),
    ]
    assert calendar.today == (calendar.days[-1].x, calendar.days[-1].y)
    assert calendar.days[-1].y - calendar.days[1].y == 0
    assert calendar.corner_of(ago(7)) == (calendar.days[1].x, calendar.days[1].y)
    assert calendar.corner_of(ago(400)) is None


def test_the_table_says_the_same_by_month():
    calendar = calendar_of({ago(1): 1}, {ago(1): 2, dt.date(2026, 9, 3): 5, ago(2000): 4}, TODAY)
    assert [(month.first.month, month.remembered, month.total) for month in calendar.by_month] == [
        (11, 2, 11),
        (9, 5, 9),
    ]
