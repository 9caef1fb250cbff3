"""What is stored equals what the model's server has counted, to the token, whatever happens to a call."""

import asyncio
import random
import uuid

import pytest
from django.conf import settings
from django.db.models import Count, Sum

from chat import extensions
from chat.conversations import titles, transcript
from chat.extensions import Extension, Tool, ToolResult
from chat.live.frames import RetryFrame, SendFrame, StopFrame, frame_of
from chat.live.handle import handle
from chat.models import ChatSession, Message
from chat.turns.checkpoints import checkpoints
from chat.turns.running import running_turns
from memory.notes import flush
from oneclaw.demo import messages_server
from oneclaw.llm import client
from oneclaw.models import Spend
from oneclaw.threads import in_database
from tests import scripted as model
from tests.conversations import abandon

pytestmark = pytest.mark.django_db(transaction=True)

COLUMNS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_tokens": "cache_read_input_tokens",
    "written_tokens": "cache_creation_input_tokens",
}
WORDS = "The quick brown fox jumps over the lazy dog. "


def whole(length):
    return model.answer((WORDS * 4)[:length])


def replies_of(chance):
    """What the server does next: answers, calls a tool, and faults at any byte."""
    faults = (model.cut, model.reset, model.overloaded, model.garbled, model.ended)
    kinds = (
        lambda: whole(chance.randint(1, 150)),
        lambda: model.answer(model.thinking("Hm."), "Well.", model.tool_use("note", {"text": "tea"})),
        lambda: chance.choice(faults)(whole(90), after=chance.randint(0, 3000)),
        lambda: chance.choice((model.rate_limited(0.01), model.server_fault(), model.context_too_long())),
        # Last, for answers: their person stops it.
        lambda: model.stalled(model.answer(model.text(["Stop me.", " More."])), after="Stop me."),
    )
    return lambda body: chance.choice(kinds if body["model"] == settings.MODEL else kinds[:-1])()


@pytest.fixture
def noting():
    tool = Tool("note", "Notes.", {"type": "object"}, lambda call: ToolResult("Noted.", "Noted."))
    extension = extensions.register(Extension("notes", tools=[tool]))
    yield
    extensions.unregister(extension)


async def settled(ada, session, chance):
    """Wait until no turn runs; the person stops those whose answer does not go on, or another process ends them."""
    while running_turns:
        for running in list(running_turns):
            if running.answer.text.endswith("Stop me."):
                await (handle(ada, frame_of(StopFrame), session) if chance.random() < 0.5 else taken_over(running.turn))
        await asyncio.sleep(0.02)


async def taken_over(turn):
    """The process seems to have died after a checkpoint, and finds out at the next one that it has lost the turn."""
    await checkpoints.save()
    await in_database(abandon, turn)
    await in_database(transcript.sweep)
    await checkpoints.save()


async def perform(ada, session, act, chance):
    last = await in_database(lambda: Message.objects.filter(session=session, active=True).order_by("seq").last())
    if act == "send" or last is None:
        await handle(ada, frame_of(SendFrame, client_id=uuid.uuid4(), session=session, text="And?"))
    elif act in ("retry", "continue"):
        await handle(ada, frame_of(RetryFrame, type=act, message=str(last.pk)), session)
    elif act == "title":
        await in_database(titles.name_session, session)
    else:
        noted = await in_database(lambda: flush.request(ChatSession.objects.get(pk=session), "idle"))
        if noted:
            await in_database(flush.run, noted.pk)
    await settled(ada, session, chance)


def stored():
    rows = Spend.objects.aggregate(**{column: Sum(column) for column in COLUMNS}, rows=Count("pk"))
    return {**rows, "people": set(Spend.objects.values_list("user_id", flat=True))}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 6))])
async def test_spend_is_what_the_server_has_counted(ada, scripted, noting, monkeypatch, seed):
    monkeypatch.setattr(client, "RETRY_FIRST_SECONDS", 0.02)
    # On a busy machine, too.
    monkeypatch.setattr(messages_server, "DROP_SECONDS", 0.25)
    chance = random.Random(seed)
    scripted.default = replies_of(chance)
    session = uuid.uuid4()
    for act in ["send", *chance.choices(["send", "send", "retry", "continue", "title", "notes"], k=10)]:
        await perform(ada, session, act, chance)
    told = [request.usage for request in scripted.messages if request.usage]
    counted = {column: sum(each.get(name) or 0 for each in told) for column, name in COLUMNS.items()}
    assert await in_database(stored) == {**counted, "rows": len(told), "people": {ada.pk}}
    assert len(told) > 3
