"""Times of a task as a model writes them: one text, read strictly."""

import pytest

from chat.extensions import ToolError
from chat.schedules.propose import SCHEDULE, when_of
from chat.schedules.when import WORKING_DAYS, When, WhenError, parsed_when
from chat.turns.tools import validate


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("daily 08:00", When("daily", "08:00")),
        (" Weekdays  08:05 ", When("weekly", "08:05", WORKING_DAYS)),
        ("monday 23:59", When("weekly", "23:59", ("monday",))),
        ("Monday, thursday and sunday 00:00", When("weekly", "00:00", ("monday", "thursday", "sunday"))),
        ("monthly 31 07:30", When("monthly", "07:30", day=31)),
        ("2026-11-30 08:00", When("once", "08:00", date="2026-11-30")),
    ],
)
def test_each_form_is_read(text, when):
    assert parsed_when(text) == when


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a time. Write"),
        ("08:00", "is not a time. Write"),
        ("daily", "is not a time. Write"),
        ("daily 8:00", "“8:00” is not a time of the day"),
        ("daily 24:00", "“24:00” is not a time of the day"),
        ("daily at 08:00", "“daily at” is no day"),
        ("every monday 08:00", "“every monday” is no day"),
        ("monday, noday 08:00", "“noday” is no day"),
        ("monthly 32 08:00", "“monthly 32” names no day of the month"),
        ("monthly 08:00", "“monthly” names no day of the month"),
        ("0 8 * * 1-5", "“1-5” is not a time of the day"),
    ],
)
def test_everything_else_is_refused_with_what_is_wrong_and_the_forms(text, said):
    with pytest.raises(WhenError) as refused:
        parsed_when(text)
    assert said in str(refused.value)
    assert '"weekdays 08:00"' in str(refused.value)


def test_calls_in_the_form_of_an_earlier_head_are_taken():
    earlier = {"text": "Weigh the cat.", "repeat": "weekdays", "time": "08:00"}
    validate(SCHEDULE, earlier)
    assert when_of(earlier) == parsed_when("weekdays 08:00")
    once = {"text": "Weigh the cat.", "repeat": "once", "time": "08:00", "date": "2026-11-30"}
    validate(SCHEDULE, once)
    assert when_of(once) == parsed_when("2026-11-30 08:00")


def test_a_call_in_neither_form_is_refused():
    with pytest.raises(ToolError, match="Parameter 'when' is required"):
        validate(SCHEDULE, {"text": "Weigh the cat."})
