"""A stream that is cut anywhere is never taken for a whole answer, and nothing that came before the cut is lost."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw import llm
from oneclaw.llm.events import AnswerReader
from tests.scripted import answer, cut, ended, recorded, text, thinking, tool_use
from tests.spending import NOBODY, Spending

REQUEST = llm.Request("claude-test", [], [{"role": "user", "content": "Hello?"}])
STREAMS = {
    "text": answer(text("Grüezi, 東京 🦀. " * 5)),
    "tool call": answer("One moment.", tool_use("save_memory", {"content": "tea – ☕"}, id="toolu_1")),
    "thinking": answer(thinking("Hmm. Tea?"), "Tea."),
}


def read(*pieces):
    """(events, how it ended)"""
    reader, events = AnswerReader("claude-test"), []
    for piece in pieces:
        events += reader.feed(piece)
    reader.close()
    return events, reader


async def collect(events):
    async for event in llm.stream(REQUEST, Spending(NOBODY)):
        events.append(event)


def said(events):
    return "".join(event.text for event in events if isinstance(event, llm.TextDelta))


def finished(events):
    return [event for event in events if isinstance(event, llm.Finished)]


def settled(events):
    return [event for event in events if not isinstance(event, llm.TextDelta | llm.ThinkingDelta)]


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_at_any_byte_is_never_whole(name):
    whole = recorded(STREAMS[name])
    text_of_all = said(read(whole)[0])
    before = 0
    # After the stop reason only the event that says the end is missing.
    known = whole.index(b"\n\n", whole.index(b"event: message_delta")) + 2
    for offset in range(known):
        events, reader = read(whole[:offset])
        assert not finished(events), offset
        assert not reader.finished, offset
        assert type(reader.failure) is llm.CutOffError, offset
        assert text_of_all.startswith(said(events))
        assert len(said(events)) >= before
        before = len(said(events))
    events, reader = read(whole)
    assert len(finished(events)) == 1
    assert reader.failure is None


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.lists(st.integers(0, 5000), max_size=30))
def test_any_split_of_the_bytes_gives_the_same_answer(name, cuts):
    whole = recorded(STREAMS[name])
    places = sorted({0, len(whole), *(place % len(whole) for place in cuts)})
    events, _ = read(*(whole[start:end] for start, end in itertools.pairwise(places)))
    at_once, _ = read(whole)
    assert said(events) == said(at_once)
    assert settled(events) == settled(at_once)


@pytest.mark.parametrize("break_it", [cut, ended])
@pytest.mark.parametrize("name", STREAMS)
async def test_the_same_over_the_wire(scripted, monkeypatch, name, break_it):
    monkeypatch.setattr(llm.client, "MAX_ATTEMPTS", 1)
    length = len(recorded(STREAMS[name]))
    for offset in range(1, length, length // 12):
        scripted.script(break_it(STREAMS[name], after=offset))
        events = []
        with pytest.raises((llm.CutOffError, llm.UnreachableError)):
            await collect(events)
        assert not finished(events), offset


@pytest.mark.parametrize(
    "stream",
    [
        b'data: {"type": "message_stop"}\n\n',
        b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}\n\n'
        b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\n',
        b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}\n\n'
        b'data: {"type": "content_block_stop", "index": 0}\n\n',
    ],
)
def test_an_answer_without_any_block_the_end_of_one_or_a_stop_reason_is_cut(stream):
    events, reader = read(stream)
    assert not finished(events)
    assert type(reader.failure) is llm.CutOffError


@pytest.mark.parametrize(
    "event",
    [
        b"data: [1]\n\n",
        b"data: 7\n\n",
        b"data: {\n\n",
        b"data: \xff\n\n",
        b'data: {"type": "content_block_delta", "index": 3, "delta": {"type": "signature_delta"}}\n\n',
        b'data: {"type": "content_block_stop", "index": 3}\n\n',
        b'data: {"type": "content_block_start", "index": "a", "content_block": {"type": "text"}}\n\n',
        b'data: {"type": "content_block_start", "index": 0}\n\n',
        b'data: {"type": "message_start"}\n\n',
        b"data: " + b"[" * 100_000 + b"\n\n",
    ],
)
def test_what_is_no_event_of_an_answer_is_a_model_error(event):
    events, reader = read(event)
    assert events == []
    assert type(reader.failure) is llm.UnreadableAnswerError


def test_what_the_api_may_bring_one_day_is_passed_over():
    news = (
        b": a comment\n\nid: 7\nretry: 10\n\n"
        b'event: ping\ndata: {"type": "ping"}\n\n'
        b'event: news\ndata: {"type": "news", "index": 9}\n\n'
    )
    block = b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "hologram", "x": 1}}\n\n'
    delta = b'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "hologram_delta", "x": 1}}\n\n'
    stop = b'data: {"type": "content_block_stop", "index": 0}\n\n'
    ending = (
        b'data: {"type": "message_delta", "delta": {"stop_reason": "news"}, "usage": null}\n\n'
        b'data: {"type": "message_stop"}\n\n'
    )
    events, reader = read(news + block + delta + stop + ending)
    assert events == [
        llm.BlockStarted(0, {"type": "hologram", "x": 1}),
        llm.BlockFinished(0, {"type": "hologram", "x": 1}),
        llm.Finished("news", {}, "claude-test"),
    ]
    assert reader.finished
