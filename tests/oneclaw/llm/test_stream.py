"""An answer as it grows: through the real SDK, from a real server."""

import asyncio
import json
import threading
from contextlib import aclosing

import pytest

from oneclaw import llm
from oneclaw.llm.events import AnswerReader
from tests.scripted import ReplyBlock, answer, recorded, text, thinking, tool_use, whole_block
from tests.spending import NOBODY, Spending

REQUEST = llm.Request("claude-test", [{"type": "text", "text": "Be kind."}], [{"role": "user", "content": "Hello?"}])


async def collect(request=REQUEST):
    return [event async for event in llm.stream(request, Spending(NOBODY))]


def said(events):
    return "".join(event.text for event in events if isinstance(event, llm.TextDelta))


async def test_text_arrives_in_order_and_ends_with_the_stop_reason(scripted):
    scripted.script(answer("Grüezi – 東京 🦀."))
    events = await collect()
    assert events[0] == llm.BlockStarted(0, {"type": "text", "text": ""})
    assert said(events) == "Grüezi – 東京 🦀."
    assert events[-2] == llm.BlockFinished(0, {"type": "text", "text": "Grüezi – 東京 🦀."})
    assert isinstance(events[-1], llm.Finished)
    assert (events[-1].stop_reason, events[-1].model) == ("end_turn", "claude-test")
    assert events[-1].usage["output_tokens"] > 0
    assert events[-1].usage["input_tokens"] > 0


def test_the_block_of_a_summary_is_kept_as_it_came():
    change = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "look"}}
    whole = {
        "type": "compaction",
        "content": "They spoke of “tea” – 東京.",
        "encrypted_content": None,
        "signature": "c2lnbmVk",
        "tool_changes": [change],
        "later": {"z": 1, "a": [2.5]},
    }
    reader = AnswerReader("claude-test")
    events = reader.feed(recorded(answer(whole_block(whole), stop_reason="compaction")))
    kept = events[-2].block
    assert json.dumps(kept) == json.dumps(whole)
    assert (events[-1].stop_reason, reader.finished) == ("compaction", True)


def test_the_block_of_a_summary_may_come_in_a_delta():
    start = {"type": "compaction", "content": None, "encrypted_content": None}
    delta = ReplyBlock(start, "compaction_delta", "content", ["They spoke of tea."])
    reader = AnswerReader("claude-test")
    events = reader.feed(recorded(answer(delta, stop_reason="compaction")))
    assert events[-2].block == {**start, "content": "They spoke of tea."}


async def test_the_request_arrives_as_it_was_given(scripted):
    cached = {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}
    tool = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
    await collect(llm.Request("claude-test", [cached], [{"role": "user", "content": "Hello?"}], [tool], 77))
    sent = scripted.requests[0]
    assert sent.body == {
        "model": "claude-test",
        "system": [cached],
        "messages": [{"role": "user", "content": "Hello?"}],
        "tools": [tool],
        "max_tokens": 77,
        "stream": True,
    }
    assert sent.headers["authorization"] == "Bearer test"
    assert sent.headers["x-api-key"] == "test"


async def test_thinking_and_several_tool_calls_come_as_whole_blocks(scripted):
    scripted.script(
        answer(
            thinking("Hmm, tea."),
            "One moment.",
            tool_use("save_memory", {"content": "likes tea ☕", "n": [1, {"a": None}]}, id="toolu_1"),
            tool_use("look", {}, id="toolu_2"),
        )
    )
    events = await collect()
    blocks = [event.block for event in events if isinstance(event, llm.BlockFinished)]
    assert blocks == [
        {"type": "thinking", "thinking": "Hmm, tea.", "signature": "c2lnbmVk"},
        {"type": "text", "text": "One moment."},
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "save_memory",
            "input": {"content": "likes tea ☕", "n": [1, {"a": None}]},
        },
        {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}},
    ]
    assert "".join(event.text for event in events if isinstance(event, llm.ThinkingDelta)) == "Hmm, tea."
    assert events[-1].stop_reason == "tool_use"


@pytest.mark.parametrize(
    "arguments", ['{"content": "te', '["a list"]', "7", '{"a": NaN}', '{"a": 1e999}', "[" * 100_000]
)
async def test_a_tool_call_with_broken_arguments_is_empty_and_says_so(scripted, arguments):
    scripted.script(answer(tool_use("save_memory", arguments, size=50_000), stop_reason="max_tokens"))
    events = await collect()
    (finished,) = [event for event in events if isinstance(event, llm.BlockFinished)]
    assert finished.block["input"] == {}
    assert finished.error.startswith("The arguments")
    assert events[-1].stop_reason == "max_tokens"


def started(block):
    """What the reader makes of a block that starts and stops."""
    reader = AnswerReader("m")
    messages = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
    ]
    sent = "".join(f"event: {message['type']}\ndata: {json.dumps(message)}\n\n" for message in messages)
    return reader.feed(sent.encode()), reader.failure


@pytest.mark.parametrize(
    "block",
    [
        {"text": ""},
        {"type": 7},
        {"type": "tool_use", "id": "toolu_1", "input": {}},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": [1]},
        {"type": "text", "text": "", "weight": float("inf")},
    ],
)
def test_a_block_of_a_wrong_shape_is_a_typed_failure(block):
    events, failure = started(block)
    assert events == []
    assert isinstance(failure, llm.UnreadableAnswerError)


def test_a_tool_call_without_any_input_has_none():
    events, failure = started({"type": "tool_use", "id": "toolu_1", "name": "look"})
    assert failure is None
    assert events[-1].block == {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}


async def test_what_cannot_be_stored_is_replaced(scripted):
    scripted.script(answer(text(["a\0b", "c\ud800d"]), tool_use("save_memory", '{"x\\u0000": "\\ud800"}')))
    events = await collect()
    assert said(events) == "a\ufffdbc\ufffdd"
    blocks = [event.block for event in events if isinstance(event, llm.BlockFinished)]
    assert blocks[0]["text"] == "a\ufffdbc\ufffdd"
    assert blocks[1]["input"] == {"x\ufffd": "\ufffd"}


async def test_complete_gives_the_text_of_the_whole_answer(scripted):
    scripted.script(answer(thinking("…"), "A title", " in two blocks"))
    assert await llm.complete(REQUEST, Spending(NOBODY)) == "A title in two blocks"


async def test_a_refusal_is_no_text_of_an_answer(scripted):
    scripted.script(answer("I ", stop_reason="refusal"))
    with pytest.raises(llm.AnswerRefusedError):
        await llm.complete(REQUEST, Spending(NOBODY))


def test_sync_code_may_ask_too(scripted):
    scripted.script(answer("From a task."))
    assert llm.complete_sync(REQUEST, NOBODY) == "From a task."


async def test_tokens_are_counted_by_the_server(scripted):
    assert await llm.count_tokens(REQUEST) > 5
    assert scripted.requests[0].path == "/v1/messages/count_tokens"


async def test_the_models_are_the_servers(scripted):
    assert await llm.models() == ["scripted-large", "scripted-small"]


async def test_one_client_and_connection_serve_many_answers(scripted):
    for _ in range(3):
        await collect()
    (client,) = [held for key, held in llm.connection._clients.items() if key[2] == scripted.url]
    assert client[0] is llm.connection.client_of_loop()
    assert {request.outcome for request in scripted.requests} == {"sent"}


async def test_leaving_early_closes_the_connection(scripted):
    scripted.script(answer(text("word " * 1000, pace=0.01)))
    async with aclosing(llm.stream(REQUEST, Spending(NOBODY))) as events:
        async for event in events:
            if isinstance(event, llm.TextDelta):
                break
    for _ in range(100):
        if scripted.requests[0].outcome == "left":
            break
        await asyncio.sleep(0.02)
    assert scripted.requests[0].outcome == "left"


async def test_warming_asks_nobody(scripted):
    await llm.warm_up()
    assert scripted.requests == []
    assert said(await collect()) == "Hello from the scripted model."


# What the calls of another thread have cost is committed.
@pytest.mark.django_db(transaction=True)
async def test_clients_are_closed_when_their_loop_ends(scripted):
    keys = []

    def elsewhere():
        assert llm.complete_sync(REQUEST, NOBODY)
        keys.extend(llm.connection._clients)

    before = set(llm.connection._clients)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert set(keys) <= before
