"""How much of a conversation the provider reads from its cache, on the strict server, which simulates it."""

import datetime as dt
import re

import pytest
from django.db.models import F

from chat import extensions
from chat.conversations.model_choice import Choice
from chat.extensions import Extension, Tool, ToolResult
from chat.models import Message
from memory.documents.write import Append, Author, Source, apply
from memory.policy import switches
from memory.policy.switches import Switch
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.scripted import answer, tool_use
from tests.talk import MODEL

pytestmark = pytest.mark.django_db(transaction=True)

TURNS = 20
WORDS = "Tell me more about the ferries between the islands, and which of them leave in the evening. "
# The memory of somebody who has used the product for a while: some 4,000 tokens.
MEMORY = "\n".join(f"- Line {number} about the person, their family and their work." for number in range(220))


async def pause(talk, seconds):
    """Let time pass, for the server's cache and for the rows."""
    talk.scripted.api.clock.move(seconds)
    passed = dt.timedelta(seconds=seconds)
    await in_database(
        lambda: talk.messages().update(created_at=F("created_at") - passed, finished_at=F("finished_at") - passed)
    )


async def share_read(talk):
    """Return the share of all input tokens that was read from the cache, from the second request on."""
    used = await in_database(lambda: [each for each in talk.messages().values_list("usage", flat=True) if each][1:])
    read = sum(each["cache_read_input_tokens"] for each in used)
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return read / sum(each[name] for each in used for name in names)


@pytest.mark.parametrize(("seconds", "least"), [(40, 0.95), (360, 0.85)])
async def test_a_conversation_of_twenty_turns_is_read_from_the_cache(talk, seconds, least):
    space = await in_database(Space.objects.own_of, talk.user)
    await in_database(apply, space, "MEMORY.md", Append(MEMORY), Author(Source.PAGE, talk.user))
    for _ in range(TURNS):
        await talk.say(WORDS)
        await pause(talk, seconds)
    assert await share_read(talk) >= least


async def test_after_many_calls_at_once_the_cache_is_still_found(talk):
    echo = Tool("echo", "Returns its words.", {"type": "object"}, lambda call: ToolResult("Echoed.", "Echoed."))
    extension = extensions.register(Extension("echo", tools=[echo]))
    try:
        await talk.say(WORDS)
        calls = [tool_use("echo", {}, id=f"toolu_{number}") for number in range(12)]
        talk.scripted.script(answer(*calls), answer("Done."))
        last = await talk.say(WORDS)
    finally:
        extensions.unregister(extension)
    calling = await in_database(lambda: Message.objects.filter(turn=last.turn_id, role="assistant").first())
    assert last.usage["cache_read_input_tokens"] > calling.usage["cache_read_input_tokens"] > 0


async def test_the_details_say_why_an_answer_was_read_anew(talk, client, settings):
    async def misses(answer):
        page = await in_database(lambda: client.get(f"/messages/{answer.pk}/details").content.decode())
        return re.findall(r'<br><span class="quiet">(.*?)</span>', page)

    settings.MODELS = {MODEL: "Sonnet", "claude-opus-5-5": "Opus"}
    await in_database(client.force_login, talk.user)
    assert await misses(await talk.say(WORDS)) == ["This was the first request of the conversation."]
    assert await misses(await talk.say(WORDS)) == []
    await pause(talk, 360)
    assert await misses(await talk.say(WORDS)) == ["The pause of 6 minutes was longer than the cache lasts."]
    await in_database(switches.choose, talk.user, Switch.SAVED, False)
    assert await misses(await talk.say(WORDS)) == ["Memory, tools or switches had changed."]
    other = await talk.say(WORDS, choice=Choice(model="claude-opus-5-5"))
    assert await misses(other) == ["Another model answered before."]
    # So that most of the request is messages: a change of effort leaves system text and tools in the cache.
    assert await misses(await talk.say(WORDS * 200)) == []
    assert await misses(await talk.say(WORDS, choice=Choice(effort="low"))) == ["The effort had changed."]
    assert await misses(await talk.say(WORDS)) == []
    talk.scripted.api.clock.move(100_000)
    assert await misses(await talk.say(WORDS)) == ["The provider no longer had it, or it was too short to be cached."]
