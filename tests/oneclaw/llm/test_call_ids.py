"""The ids of tool calls: one of its own for each call of a conversation, and the server's own for that server."""

import re

import pytest

from oneclaw.llm.call_ids import OwnIds, with_ids_for
from oneclaw.llm.events import BlockFinished, BlockStarted, TextDelta

HERE, THERE = "one large", "two large"
ACCEPTED = re.compile("[a-zA-Z0-9_-]{1,64}")


def call(id, **more):
    return {"type": "tool_use", "id": id, "name": "look", "input": {}, **more}


def result(id):
    return {"type": "tool_result", "tool_use_id": id, "content": "Seen."}


def talk(*calls):
    """The messages of a conversation in which each call was answered."""
    messages = [{"role": "user", "content": "Look."}]
    for each in calls:
        messages += [{"role": "assistant", "content": [each]}, {"role": "user", "content": [result(each["id"])]}]
    return messages


def ids_in(messages):
    return [
        (block.get("id") or block["tool_use_id"])
        for each in messages
        if not isinstance(each["content"], str)
        for block in each["content"]
    ]


def answered(given, messages=()):
    """The block of a call to which a server gave this id."""
    own = OwnIds(messages, HERE)
    block = call(given) if given is not ... else {"type": "tool_use", "name": "look", "input": {}}
    own.event(BlockStarted(0, block))
    return own.event(BlockFinished(0, block)).block


@pytest.mark.parametrize("given", ["call+/=.", "x" * 65, "", 7, None, ..., "a b", "é"])
def test_an_id_that_is_not_accepted_everywhere_is_replaced(given):
    block = answered(given)
    assert ACCEPTED.fullmatch(block["id"])
    if given in ("", None, ...):
        assert "server_id" not in block
    else:
        assert block["server_id"] == {"id": given, "server": HERE}


def test_an_id_that_is_accepted_everywhere_stays():
    assert answered("toolu_1") == call("toolu_1")


def test_the_same_id_again_is_replaced():
    assert answered("call_0", talk(call("call_0")))["id"] != "call_0"
    own = OwnIds([], HERE)
    twice = [own.event(BlockFinished(index, call("call_0"))).block["id"] for index in range(2)]
    assert twice[0] == "call_0" != twice[1]


def test_other_events_pass_unchanged():
    event = TextDelta(0, "Hello")
    assert OwnIds([], HERE).event(event) is event


def test_a_server_is_sent_its_own_ids_and_another_one_is_not():
    messages = talk(answered("call+/=."))
    assert ids_in(with_ids_for(messages, HERE)) == ["call+/=.", "call+/=."]
    sent = ids_in(with_ids_for(messages, THERE))
    assert sent[0] == sent[1] == messages[1]["content"][0]["id"]
    assert all("server_id" not in str(with_ids_for(messages, where)) for where in (HERE, THERE, ""))


def test_no_id_is_sent_twice_also_not_to_the_server_that_gave_it_twice():
    first = answered("call+")
    messages = talk(first, answered("call+", talk(first)))
    sent = ids_in(with_ids_for(messages, HERE))
    assert sent[0] == sent[1] == "call+"
    assert sent[2] == sent[3] != "call+"


def test_a_conversation_that_was_stored_with_such_ids_is_sent_with_others():
    messages = talk(call("call_0"), call("a+b"), call("call_0"), call("x" * 99))
    sent = ids_in(with_ids_for(messages, THERE))
    assert all(ACCEPTED.fullmatch(id) for id in sent)
    assert sent[::2] == sent[1::2]
    assert len(set(sent)) == 4


def test_a_longer_conversation_begins_with_the_same_ids():
    calls = [call("call_0"), call("a+b"), answered("z+"), call("call_0"), answered("z+"), call("toolu_9")]
    whole = with_ids_for(talk(*calls), HERE)
    for count in range(len(calls)):
        shorter = with_ids_for(talk(*calls[:count]), HERE)
        assert whole[: len(shorter)] == shorter


def test_messages_of_text_are_the_same():
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "Yes"}]}]
    assert with_ids_for(messages, HERE) == messages
