"""Server-sent events, whatever the wire did to them."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw.llm.transport import sse

LINES = st.lists(
    st.sampled_from(
        ["data: a", "data:b", "data", "event: x", "event:y", ": comment", "id: 1", "", "", "x: y", "data: é🦀"]
    ),
    max_size=20,
)


def events(*pieces):
    parser = sse.EventParser()
    return [event for piece in pieces for event in parser.feed(piece)]


@settings(max_examples=300, deadline=None)
@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 400), max_size=20))
def test_any_split_and_any_line_end_give_the_same_events(lines, end, cuts):
    plain = "".join(f"{line}\n" for line in lines).encode()
    sent = "".join(f"{line}{end}" for line in lines).encode()
    places = sorted({0, len(sent), *(place % (len(sent) + 1) for place in cuts)})
    pieces = [sent[start:stop] for start, stop in itertools.pairwise(places)]
    assert events(*pieces) == events(plain)
    assert events(*(bytes([byte]) for byte in sent)) == events(plain)


def test_lines_of_data_are_joined_and_other_fields_passed_over():
    assert events(b"event: news\ndata: one\ndata:two\nid: 7\n: note\n\n") == [("news", b"one\ntwo")]


def test_an_event_without_its_empty_line_does_not_exist():
    assert events(b"data: one\n\ndata: two\n") == [("message", b"one")]


@pytest.mark.parametrize("end", [b"", b"\n\n"], ids=["without its end", "whole"])
def test_an_event_that_is_too_large_is_refused_after_those_before_it(monkeypatch, end):
    monkeypatch.setattr(sse, "EVENT_MAX_BYTES", 1000)
    parsed = sse.EventParser().feed(b"data: one\n\ndata: " + b"x" * 1200 + end)
    assert next(parsed) == ("message", b"one")
    with pytest.raises(sse.EventTooLargeError, match="larger"):
        next(parsed)
    with pytest.raises(sse.EventTooLargeError):
        events(*[b"data: " + b"x" * 400] * 3)


class Counted(bytes):
    """A chunk that counts the bytes that are read or copied with it."""

    work_bytes = 0

    def __radd__(self, before):
        Counted.work_bytes += len(before) + len(self)
        return before + bytes(self)

    def split(self, *arguments):
        Counted.work_bytes += len(self)
        return bytes(self).split(*arguments)

    def endswith(self, *arguments):
        return bytes(self).endswith(*arguments)


def test_a_large_event_in_many_chunks_takes_work_in_proportion_to_its_size(monkeypatch):
    monkeypatch.setattr(Counted, "work_bytes", 0)
    chunks = [b"data: ", *[Counted(b"x" * 4000)] * 500, b"\n\n"]
    ((_, data),) = events(*chunks)
    assert len(data) == 2_000_000
    assert Counted.work_bytes <= 3 * len(data)
