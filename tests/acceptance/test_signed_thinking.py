"""Conversations with a model that signs its thinking, through everything that once changed what it had signed.

The strict server (tests/strict_api) refuses a request in which anything before signed thinking has changed, as the
provider does.
"""

import asyncio
import logging
import uuid

import pytest

from chat import extensions
from chat.attachments import store
from chat.context import file_shares
from chat.conversations import forking
from chat.conversations.model_choice import Choice
from chat.extensions import Extension, Tool, ToolResult
from chat.live.publisher import TurnPublisher
from chat.models import Message, Turn, default_agent
from chat.turns import start
from chat.turns.running import running_turns
from memory.documents.write import Append, Author, Source, apply
from memory.forgetting import forget
from memory.policy import switches
from memory.policy.switches import Switch
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests import files
from tests.scripted import answer, bad_request, error, text, tool_use
from tests.talk import MODEL

pytestmark = pytest.mark.django_db(transaction=True)

ECHO = Tool("echo", "Returns its words.", {"type": "object"}, lambda call: ToolResult("Echoed.", "Echoed."))


@pytest.fixture
def echo():
    extension = extensions.register(Extension("echo", tools=[ECHO]))
    yield extension
    extensions.unregister(extension)


async def test_every_turn_repeats_what_was_sent_and_keeps_all_thinking(talk):
    before = None
    for number in range(4):
        await talk.say(f"Message {number}")
        assert talk.thoughts() == number
        now = talk.sent
        if before:
            assert (now["system"], now.get("tools")) == (before["system"], before.get("tools"))
            assert [said["content"][0]["text"] for said in now["messages"][::2]][:-1] == [
                said["content"][0]["text"] for said in before["messages"][::2]
            ]
        before = now


async def test_rounds_of_tools(talk, echo):
    talk.scripted.script(
        answer(tool_use("echo", {}, id="toolu_a"), tool_use("echo", {}, id="toolu_b")), answer("Done.")
    )
    await talk.say("Echo twice")
    await talk.say("More")
    assert talk.thoughts() == 2


async def test_another_attempt_an_edit_and_a_version_shown_again(talk):
    await talk.say("One")
    last = await talk.say("Two")
    await talk.repeat(Turn.Kind.RETRY)
    asked = await in_database(lambda: Message.objects.get(pk=last.pk).turn.prompt)
    await talk.edit(asked, "Two, in other words")
    await talk.say("Three")
    assert talk.thoughts() == 2


async def test_an_answer_that_was_stopped_and_continued(talk):
    await talk.say("One")
    talk.scripted.script(answer(text(["Half", " an"] + [" hour"] * 200, pace=0.05)))
    await start.send(talk.user, talk.session_id, uuid.uuid4(), "Two", listen=TurnPublisher)
    (running,) = running_turns
    async with asyncio.timeout(5):
        while "Half" not in str(running.answer.content):
            await asyncio.sleep(0.01)
    running.end("stopped")
    await talk.ended("stopped")
    await talk.repeat(Turn.Kind.CONTINUE)
    await talk.say("Three")
    assert talk.thoughts() == 3


async def test_a_switch_that_is_turned_off_leaves_with_a_new_head(talk):
    await talk.say("One")
    assert "save_memory" in {tool["name"] for tool in talk.sent["tools"]}
    await in_database(switches.choose, talk.user, Switch.SAVED, False)
    await talk.say("Two")
    assert "save_memory" not in {tool["name"] for tool in talk.sent["tools"]}
    assert talk.thoughts() == 0
    await talk.say("Three")
    assert talk.thoughts() == 1
    await in_database(switches.choose, talk.user, Switch.SAVED, True)
    await talk.say("Four")
    assert "save_memory" in {tool["name"] for tool in talk.sent["tools"]}
    heads = await in_database(lambda: list(talk.session.heads.order_by("number").values_list("number", "reason")))
    assert heads == [(1, "first"), (2, "switched"), (3, "switched")]


async def test_a_tool_of_the_agent_that_is_turned_off_leaves(talk, echo):
    await talk.say("One")
    agent = await in_database(default_agent)
    agent.tools_off = ["echo"]
    await in_database(agent.save)
    await talk.say("Two")
    assert "echo" not in {tool["name"] for tool in talk.sent["tools"]}
    assert talk.thoughts() == 0


async def test_a_release_changes_new_conversations_only(talk, echo):
    await talk.say("One")
    before = talk.sent["tools"]
    extensions.unregister(echo)
    reworded = Tool("echo", "Repeats words.", ECHO.input_schema, ECHO.call)
    brought = Tool("shout", "Shouts.", ECHO.input_schema, ECHO.call)
    release = extensions.register(Extension("echo", tools=[reworded, brought]))
    try:
        await talk.say("Two")
        assert (talk.sent["tools"], talk.thoughts()) == (before, 1)
        talk.session_id = uuid.uuid4()
        await talk.say("One")
        assert {"name": "shout", "description": "Shouts.", "input_schema": {"type": "object"}} in talk.sent["tools"]
        extensions.unregister(release)
        talk.scripted.script(answer(tool_use("shout", {})), answer("It is gone."))
        await talk.say("Shout")
        assert "There is no tool named" in str(talk.sent["messages"][-1])
    finally:
        extensions.register(echo)


async def test_a_forgotten_line_leaves_the_prompt_and_the_thinking_that_may_repeat_it(talk):
    space = await in_database(Space.objects.own_of, talk.user)
    line = "- The word is swordfish."
    await in_database(apply, space, "MEMORY.md", Append(line), Author(Source.PAGE, talk.user))
    await talk.say("One")
    assert line in talk.sent["system"][0]["text"]
    await in_database(forget.forget, space, [line], talk.user)
    await talk.say("Two")
    assert "swordfish" not in str(talk.sent)
    assert talk.thoughts() == 0
    await talk.say("Three")
    assert talk.thoughts() == 1

    def kept():
        old, new = talk.session.heads.order_by("number")
        thoughts = [block for message in talk.messages() for block in message.content if block["type"] == "thinking"]
        return old.system, old.context, new.reason, ["signature" in block for block in thoughts]

    assert await in_database(kept) == ("", {}, "forgotten", [False, True, True])


async def test_files_that_need_the_room_of_older_ones(talk, monkeypatch):
    image = files.image((30, 30))
    monkeypatch.setattr(file_shares, "REQUEST_MAX_FILES", 2)
    for number in range(4):
        kept = await in_database(store.store_file, talk.user, f"{number}.png", image)
        await talk.say(f"Look at {number}", files=[kept.pk])
    images = [block["type"] for said in talk.sent["messages"] for block in said["content"]].count("image")
    assert images == 2
    # Once released, and not again with each message.
    await talk.say("And?")
    assert talk.thoughts() == 2


async def test_a_fork_goes_on_with_the_thinking_of_its_source(talk):
    await talk.say("One")
    last = await talk.say("Two")
    made = await in_database(forking.fork, talk.user, last.pk)
    talk.session_id = made.pk
    await talk.say("Three")
    assert talk.thoughts() == 2


async def test_another_model_and_back(talk, settings):
    settings.MODELS = {MODEL: "Sonnet", "claude-opus-5-5": "Opus"}
    await talk.say("One")
    await talk.say("Two", choice=Choice(model="claude-opus-5-5"))
    await talk.say("Three", choice=Choice(model=MODEL))
    await talk.say("Four")


async def test_a_refusal_that_no_digest_foresaw_is_healed_within_the_same_answer(talk, caplog):
    await talk.say("One")
    bound = (
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    )
    talk.scripted.script(error(400, "invalid_request_error", bound))
    await talk.say("Two")
    assert talk.thoughts() == 0
    (defect,) = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert "earlier thinking was refused" in defect
    caplog.clear()
    await talk.say("Three")
    assert talk.thoughts() == 1


async def test_a_refusal_whose_reason_is_not_known_is_answered_without_thinking_and_then_as_plain_text(talk):
    await talk.say("One")
    talk.scripted.script(bad_request())
    await talk.say("Two")
    assert (talk.thoughts(), talk.sent["thinking"]["type"]) == (0, "between_tools")
    talk.scripted.script(bad_request(), bad_request())
    last = await talk.say("Three")
    assert all(isinstance(each["content"], str) for each in talk.sent["messages"])
    assert talk.sent.keys() <= {"model", "messages", "system", "max_tokens", "stream"}
    assert last.meta["plain"] is True
    talk.scripted.script(bad_request(), bad_request(), bad_request())
    with pytest.raises(AssertionError, match="bad_request"):
        await talk.say("Four")
    # Trying again is another try, of which nothing is promised.
    await talk.repeat(Turn.Kind.RETRY)
    await talk.say("Five")
    assert talk.sent["thinking"]["type"] == "adaptive"


async def test_an_answer_that_thought_too_long_is_continued_with_more_room(talk, settings):
    settings.MAX_OUTPUT_TOKENS = 100
    last = await talk.say("One")
    assert (last.stop_reason, last.text) == ("max_tokens", "")
    settings.MAX_OUTPUT_TOKENS = 150
    last = await talk.repeat(Turn.Kind.CONTINUE)
    assert talk.sent["max_tokens"] == 300
    assert (last.stop_reason, last.text) == ("end_turn", "Hello from the scripted model.")


async def test_what_changes_by_a_defect_is_found_logged_and_healed(talk, caplog):
    await talk.say("One")
    changed = [{"type": "text", "text": "Another"}]
    await in_database(lambda: talk.messages().filter(text="One").update(content=changed, text="Another"))
    await talk.say("Two")
    assert talk.thoughts() == 0
    (defect,) = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert "its thinking is withheld" in defect
    caplog.clear()
    await talk.say("Three")
    assert talk.thoughts() == 1
