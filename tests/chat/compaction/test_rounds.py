"""A conversation that fills its window goes on: a summary replaces its older messages in what the model is sent."""

import pytest
from django.utils import timezone

from chat.compaction import planning
from chat.models import ChatSession, ContextRound
from oneclaw.llm.server import server_hash
from oneclaw.models import Budget, ModelFacts
from oneclaw.threads import in_database
from tests.scripted import context_too_long
from tests.spending import paid_for
from tests.summaries import is_summary, make_rounds, replying
from tests.talk import MODEL, Talk

pytestmark = pytest.mark.django_db(transaction=True)

# About 700 tokens.
WORDS = "Tell me more about the ferries between the islands, and which of them leave in the evening. " * 24


@pytest.fixture(params=["auto", "model"])
def talk(request, ada, scripted, settings):
    settings.MODEL, settings.CONTEXT, settings.TITLES = MODEL, 21_000, False
    settings.COMPACTION_BY = request.param
    ModelFacts.objects.create(server=server_hash(), model=MODEL, compacts=True, seen_at=timezone.now())
    scripted.default = replying(WORDS)
    return Talk(ada, scripted)


def texts(body):
    """Return the texts of the messages of a request, that of a summary first."""
    blocks = [block for each in body["messages"] for block in each["content"]]
    return [block.get("text") or block["content"] for block in blocks if block["type"] in ("text", "compaction")]


async def rounds(talk):
    return await in_database(lambda: list(ContextRound.objects.filter(session=talk.session_id).order_by("number")))


async def test_a_long_conversation_goes_on_with_a_summary(talk):
    for number in range(40):
        await talk.say(f"{number}. {WORDS}")
        await in_database(make_rounds, talk.session_id)
    used = [each for each in await rounds(talk) if each.used_at]
    assert 2 <= len(used) <= 8
    assert "They talked." in texts(talk.sent)[0]
    assert "39. " in texts(talk.sent)[-1]


async def test_without_a_worker_the_turn_makes_room_itself(talk):
    for number in range(30):
        await talk.say(f"{number}. {WORDS}")
    used = [each for each in await rounds(talk) if each.used_at]
    assert used
    assert "They talked." in texts(talk.sent)[0]


async def test_a_refusal_as_too_long_is_healed_by_a_summary(talk):
    for number in range(3):
        await talk.say(f"{number}. {WORDS}")
    talk.scripted.script(context_too_long())
    await talk.say("And now?")
    [used] = await rounds(talk)
    assert used.reason == ContextRound.Reason.OVERFLOW
    assert texts(talk.sent)[-1] == "And now?"
    assert sum(is_summary(each.body) for each in talk.scripted.messages) == 1


async def test_a_person_asks_for_a_summary(talk):
    for number in range(4):
        await talk.say(f"{number}. {WORDS}")
    session = await in_database(lambda: ChatSession.objects.get(pk=talk.session_id))
    asked = await in_database(planning.ask, session, "the ferries")
    # It waits while a budget is used up.
    budget = await in_database(Budget.objects.create, user=session.owner, period="day", max_tokens=0)
    await in_database(make_rounds, talk.session_id)
    assert not any(is_summary(each.body) for each in talk.scripted.messages)
    await in_database(budget.delete)
    await in_database(ContextRound.objects.update, due_at=timezone.now())
    await in_database(make_rounds, talk.session_id)
    await talk.say("And now?")
    assert "the ferries" in str(next(each.body for each in talk.scripted.messages if is_summary(each.body)))
    assert (await rounds(talk))[0].pk == asked.pk
    assert await in_database(paid_for, "summary") == [(session.owner_id, None, session.pk, True)]
    assert len(texts(talk.sent)) < 8


async def test_many_short_messages_are_summarised_without_a_wait(talk, settings):
    settings.COMPACTION_MESSAGES = 10
    for number in range(7):
        await talk.say(f"{number}.")
    assert (await rounds(talk))[0].reason == ContextRound.Reason.MESSAGES
    assert not any(is_summary(each.body) for each in talk.scripted.messages)
    await in_database(make_rounds, talk.session_id)
    await talk.say("And now?")
    assert (await rounds(talk))[0].used_at is not None
