"""What was read is believed for a while."""

import time

from oneclaw.timed_read import TimedRead


def test_it_is_read_when_it_is_due_and_after_forget(monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    values = iter("abc")
    known = TimedRead(lambda: next(values), 3, first="-")
    assert (known.last, known.is_due) == ("-", True)
    assert (known.value(), known.value(), known.last) == ("a", "a", "a")
    now += 2.9
    assert known.value() == "a"
    now += 0.1
    assert known.value() == "b"
    known.forget()
    assert known.last == "b"
    assert known.value() == "c"


def test_the_read_that_began_last_counts_also_when_an_earlier_one_ends_after_it():
    begun: list[TimedRead[str]] = []

    def read() -> str:
        if begun:
            return "newer"
        begun.append(known)
        known.read()
        return "older"

    known = TimedRead(read, 3, first="-")
    assert known.read() == "newer"
    assert known.last == "newer"
