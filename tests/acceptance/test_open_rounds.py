"""Answers that are changed, refused or ended between two thoughts, or between a call of a tool and what follows it.

A model that thinks has thought before it calls: the strict server refuses results without that thinking, and thinking
at the end of an answer.
"""

import asyncio
import uuid

import pytest

from chat import extensions
from chat.extensions import Extension, Tool, ToolResult
from chat.live.publisher import TurnPublisher
from chat.models import Turn
from chat.transfer.importing import claude, create
from chat.turns import start
from chat.turns.running import running_turns
from memory.documents.write import Append, Author, Source, apply
from memory.forgetting import forget
from memory.policy import switches
from memory.policy.switches import Switch
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.scripted import answer, bad_request, text, thinking, tool_use
from tests.talk import MODEL

pytestmark = pytest.mark.django_db(transaction=True)

LINE = "- The word is swordfish."
SLOW = [" word"] * 200


@pytest.fixture
def during_call():
    """A list whose functions the tool `act` calls."""
    acts = []

    def call(call):
        for act in acts:
            act()
        return ToolResult("Done.", "Done.")

    extension = extensions.register(Extension("act", tools=[Tool("act", "Acts.", {"type": "object"}, call)]))
    yield acts
    extensions.unregister(extension)


async def stopped(talk, reply, *, after):
    """Send a message whose answer is stopped once it has `after` blocks."""
    talk.scripted.script(reply)
    await start.send(talk.user, talk.session_id, uuid.uuid4(), "Stop", listen=TurnPublisher)
    (running,) = running_turns
    async with asyncio.timeout(5):
        while len(running.answer.content) < after:
            await asyncio.sleep(0.01)
    running.end("stopped")
    await talk.ended("stopped")


def stop():
    for running in running_turns:
        running.end("stopped")


async def remember(talk):
    space = await in_database(Space.objects.own_of, talk.user)
    await in_database(apply, space, "MEMORY.md", Append(LINE), Author(Source.PAGE, talk.user))
    return space


async def signatures(talk):
    messages = await in_database(lambda: list(talk.messages()))
    return [block for message in messages for block in message.content if "signature" in block]


@pytest.mark.parametrize("model", [MODEL, "claude-opus-5-5"])
async def test_what_is_turned_off_during_an_answer_leaves_after_it(talk, settings, during_call, model):
    settings.MODEL = model
    during_call.append(lambda: switches.choose(talk.user, Switch.SAVED, False))
    talk.scripted.script(answer(tool_use("act", {})))
    await talk.say("One")
    assert talk.thoughts() == 1
    await talk.say("Two")
    assert "save_memory" not in {tool["name"] for tool in talk.sent["tools"]}
    assert talk.thoughts() == 0


async def test_a_line_that_is_forgotten_during_an_answer_leaves_at_once(talk, during_call):
    space = await remember(talk)
    during_call.append(lambda: forget.forget(space, [LINE], talk.user) if during_call.pop() else None)
    talk.scripted.script(answer(tool_use("act", {})), answer(tool_use("act", {})))
    await talk.say("One")
    assert (talk.thoughts(), talk.sent["thinking"]["type"]) == (0, "between_tools")
    assert "swordfish" not in str(talk.sent)
    await talk.say("Two")
    assert (talk.thoughts(), talk.sent["thinking"]["type"]) == (0, "adaptive")


async def test_the_thinking_of_an_answer_that_ran_while_its_memory_was_forgotten_is_removed(talk):
    space = await remember(talk)
    await talk.say("One")
    talk.scripted.script(answer(text(SLOW[:20], pace=0.05)))
    await start.send(talk.user, talk.session_id, uuid.uuid4(), "Two", listen=TurnPublisher)
    (running,) = running_turns
    async with asyncio.timeout(5):
        while not any("signature" in block for block in running.answer.content):
            await asyncio.sleep(0.01)
    await in_database(forget.forget, space, [LINE], talk.user)
    await talk.ended()
    await in_database(forget.finish_all)
    assert await signatures(talk) == []
    # By a digest of what was sent, a short line could be guessed.
    assert not await in_database(talk.messages().filter(meta__sent__has_key="prefix").exists)
    await talk.say("Three")
    await talk.say("Four")
    await in_database(forget.finish_all)
    assert (talk.thoughts(), len(await signatures(talk))) == (1, 2)


@pytest.mark.parametrize("model", [MODEL, "claude-opus-5-5"])
async def test_an_answer_that_is_tried_again_may_call_tools(talk, settings, during_call, model):
    settings.MODEL = model
    await talk.say("One")
    talk.scripted.script(bad_request(), bad_request(), bad_request())
    with pytest.raises(AssertionError, match="bad_request"):
        await talk.say("Two")
    talk.scripted.script(answer(tool_use("act", {})), answer(tool_use("act", {})))
    await talk.repeat(Turn.Kind.RETRY)
    assert talk.thoughts() == 2
    await talk.say("Three")


async def test_an_answer_without_thinking_that_was_stopped_during_a_call_goes_on(talk, during_call):
    during_call.append(stop)
    talk.scripted.script(bad_request(), answer(tool_use("act", {})))
    with pytest.raises(AssertionError, match="stopped"):
        await talk.say("One")
    await talk.say("Two")
    await talk.say("Three")
    assert talk.sent["thinking"]["type"] == "adaptive"


@pytest.mark.parametrize("model", [MODEL, "claude-opus-5-5"])
async def test_a_switch_is_turned_off_after_an_answer_was_stopped_during_a_call(talk, settings, during_call, model):
    settings.MODEL = model
    during_call.append(stop)
    talk.scripted.script(answer(tool_use("act", {})))
    with pytest.raises(AssertionError, match="stopped"):
        await talk.say("One")
    await in_database(switches.choose, talk.user, Switch.SAVED, False)
    await talk.say("Two")
    await talk.say("Three")
    assert talk.thoughts() == 1
    words = [block["text"] for said in talk.sent["messages"] for block in said["content"] if block["type"] == "text"]
    assert words.count("(This answer was ended here.)") == 1


async def test_an_answer_that_was_stopped_after_its_second_thought_is_continued(talk, during_call):
    await stopped(talk, answer(thinking("A."), "Words.", thinking("B."), text(SLOW, pace=0.05)), after=4)
    await talk.repeat(Turn.Kind.CONTINUE)
    await stopped(talk, answer(thinking("A."), tool_use("act", {}), thinking("B."), text(SLOW, pace=0.05)), after=4)
    await talk.repeat(Turn.Kind.CONTINUE)
    await talk.say("Three")
    assert talk.thoughts() == 4


async def test_thinking_after_text_that_cannot_be_sent_is_left_out(talk):
    talk.scripted.script(answer(thinking("A."), text("\n\n"), thinking("B."), "Words."))
    await talk.say("One")
    await talk.say("Two")
    await talk.say("Three")
    assert talk.thoughts() == 2


async def test_an_imported_conversation_that_begins_with_an_answer_goes_on(talk):
    value = {"uuid": "1", "chat_messages": [{"sender": "assistant", "text": "Hi"}, {"sender": "human", "text": "Yes?"}]}
    made = await in_database(lambda: create.create_session(talk.user, claude.conversation(value)))
    talk.session_id = made.pk
    await talk.say("One")
    await talk.say("Two")
    assert [said["role"] for said in talk.sent["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    assert talk.thoughts() == 1
