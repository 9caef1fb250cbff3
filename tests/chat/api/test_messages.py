"""A message over the API: stored once, answered by the same loop as on the page, and awaited if one likes."""

import asyncio
import datetime as dt
import json
import uuid

import pytest
from asgiref.sync import sync_to_async
from django.utils import dateformat

from chat.conversations.shared import stopping
from chat.live import wait as waiting
from chat.models import Agent, ChatSession, Head, Message, Presence
from memory.models import MemoryDocument
from oneclaw.models import User
from oneclaw.people import keys
from oneclaw.threads import in_database
from tests import scripted as model
from tests.programs import refusal

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def say(async_client, ada):
    """say("Hello", wait=…, …): the answer to a message of Ada's program."""
    _, token = keys.make(ada, "Program", "never")

    async def say(text, wait=10, token=token, **fields):
        return await async_client.post(
            f"/api/v1/messages?wait={wait}",
            json.dumps({"text": text} | {name: str(value) for name, value in fields.items()}),
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )

    return say


async def test_a_message_begins_a_conversation_and_its_answer_is_awaited(say, scripted, settings, ada):
    scripted.script(model.answer("Hello, Ada."))
    response = await say("Hello")
    assert response.status_code == 200
    told = response.json()
    assert (told["answer"]["status"], told["answer"]["text"]) == ("complete", "Hello, Ada.")
    assert told["answer"]["messages"][0]["tokens"]["output"] > 0
    assert (told["seq"], told["duplicate"], told["ended"]) == (1, False, None)
    session = await in_database(ChatSession.objects.get)
    assert (str(session.pk), session.owner_id, session.mode) == (told["session"], ada.pk, "agent")
    # As on the page: a new day is noticed, and the one who writes is there.
    presence = await in_database(Presence.objects.get)
    assert (presence.day, presence.here, presence.session_id) == (ada.day(), True, session.pk)


async def test_a_message_on_another_day_tells_the_model_which_day_it_is(say, scripted, ada):
    session = (await say("First")).json()["session"]
    assert "[Today is" not in str(scripted.messages[-1].body["messages"])
    await in_database(as_of_yesterday, ada)
    await say("Second", session=session)
    today = dateformat.format(ada.day(), "l, j F Y")
    assert scripted.messages[-1].body["messages"][-1]["content"][0]["text"] == f"[Today is {today}.]"


def as_of_yesterday(person):
    """Let the head of the conversation be of the day before."""
    head, day = Head.objects.get(), person.day()
    began, before = (dateformat.format(each, "l, j F Y") for each in (day, day - dt.timedelta(days=1)))
    assert began in head.system
    Head.objects.update(system=head.system.replace(began, before))


async def test_without_waiting_it_is_stored_and_answered_meanwhile(say, scripted):
    scripted.script(model.answer("One."), model.answer("Two."))
    first = await say("First", wait=0)
    assert (first.status_code, first.json()["answer"]) == (202, None)
    session = first.json()["session"]
    async with asyncio.timeout(10):
        while (second := await say("Second", session=session)).status_code == 409:
            assert refusal(second) == (409, "busy")
            await asyncio.sleep(0.05)
    assert second.json()["answer"]["text"] == "Two."
    assert scripted.messages[-1].body["messages"][0]["content"][-1]["text"] == "First"


async def test_a_message_that_is_sent_again_is_stored_once_and_gets_the_same_answer(say, scripted):
    scripted.script(model.answer("Once."))
    client_id = uuid.uuid4()
    told = [(await say("Hello", client_id=client_id)).json() for _ in range(2)]
    assert [each.pop("duplicate") for each in told] == [False, True]
    assert told[0] == told[1]
    assert await in_database(Message.objects.count) == 2
    assert refusal(await say("Other words", client_id=client_id)) == (409, "conflict")
    assert refusal(await say("Hello", client_id=client_id, mode="chat")) == (409, "other_mode")
    assert len(scripted.messages) == 1


async def test_the_same_client_id_of_somebody_else_is_another_message(say, scripted, ada, stranger):
    _, other = await in_database(keys.make, stranger, "Program", "never")
    client_id = uuid.uuid4()
    mine, theirs = await say("Hello", client_id=client_id), await say("Hello", client_id=client_id, token=other)
    assert mine.json()["session"] != theirs.json()["session"]
    assert not theirs.json()["duplicate"]
    intruding = await say("Hello", session=mine.json()["session"], token=other)
    assert refusal(intruding) == (404, "not_found")


async def test_tools_run_and_an_answer_is_all_of_its_messages(say, scripted):
    scripted.script(
        model.answer(model.text("I keep that."), model.tool_use("save_memory", {"content": "Likes tea."})),
        model.answer("Kept."),
    )
    answer = (await say("Remember that I like tea")).json()["answer"]
    assert (answer["text"], [each["tools"] for each in answer["messages"]]) == (
        "I keep that.\n\nKept.",
        [["save_memory"], []],
    )
    assert "Likes tea." in (await in_database(MemoryDocument.objects.get, path="MEMORY.md")).content


async def test_a_failed_answer_says_why(say, scripted):
    scripted.script(model.key_refused())
    response = await say("Hello")
    answer = response.json()["answer"]
    assert (response.status_code, answer["status"]) == (200, "failed")
    assert answer["error"]["text"].endswith(".")


async def test_who_waits_in_vain_is_told_how_far_it_is_and_may_wait_again(say, scripted, monkeypatch):
    monkeypatch.setattr(waiting, "POLL_SECONDS", 60)
    scripted.script(model.answer(model.text(["One", *[" more"] * 300], pace=0.1)))
    response = await say("Count", wait=0.3)
    told = response.json()
    assert (response.status_code, told["answer"]["status"]) == (202, "running")
    again = asyncio.create_task(say("Count", session=told["session"], client_id=told["client_id"]))
    await asyncio.sleep(0.1)
    await stop(told["session"])
    # By the hint, not by looking now and then.
    assert (await asyncio.wait_for(again, 10)).json()["answer"]["status"] == "stopped"


async def stop(session):

    owner = (await in_database(ChatSession.objects.select_related("owner").get, pk=session)).owner
    await in_database(stopping.request_stop, owner, uuid.UUID(session), None)


async def test_agent_model_and_mode_are_chosen_as_on_the_page(say, scripted, settings, ada):
    settings.MODELS = {"other": "Another one"}
    await in_database(Agent.objects.create, owner=ada, slug="mine", name="Mine", instructions="Be brief.")
    told = (await say("Hello", agent="mine", model="other", effort="low", mode="chat")).json()
    session = await in_database(ChatSession.objects.select_related("agent").get)
    assert (session.agent.slug, session.model, session.effort, session.mode) == ("mine", "other", "low", "chat")
    assert scripted.messages[-1].body["model"] == "other"
    for fields, expected in (
        ({"model": "none"}, (422, "not_offered")),
        ({"effort": "none"}, (422, "not_offered")),
        ({"agent": "nobody"}, (422, "not_offered")),
        ({"agent": "oneclaw", "session": told["session"]}, (409, "other_agent")),
        ({"mode": "secret"}, (422, "invalid")),
        ({"session": "1"}, (422, "invalid")),
        ({"session": uuid.uuid4()}, (404, "not_found")),
    ):
        assert refusal(await say("More", **fields)) == expected
    assert refusal(await say(" ")) == (422, "empty")
    assert refusal(await say("x" * (settings.MESSAGE_LENGTH + 1))) == (422, "too_long")
    assert refusal(await say("Hello", wait=61)) == (422, "invalid")


async def test_what_is_said_is_in_the_persons_own_language(say, settings, ada):
    await in_database(User.objects.filter(pk=ada.pk).update, language="de")
    assert (await say("x" * (settings.MESSAGE_LENGTH + 1))).json()["text"].startswith("Die Nachricht hat")


async def test_who_waits_for_too_much_is_told_at_once(say, scripted, monkeypatch):
    monkeypatch.setattr(waiting, "USER_MAX_WAITS", 0)
    scripted.script(model.answer(model.text(["One"] + [" more"] * 20, pace=0.05)))
    told = await say("Count")
    assert (told.status_code, told.json()["answer"]["status"]) == (202, "running")
    await stop(told.json()["session"])


async def test_a_command_ends_the_conversation_as_on_the_page(say, scripted):
    session = (await say("Hello")).json()["session"]
    told = (await say("/end", session=session)).json()
    assert (told["ended"], told["message"], told["session"]) == ("end", None, session)
    assert (await in_database(ChatSession.objects.get)).ended_at is not None


async def test_a_deleted_conversation_takes_no_message(say, scripted):
    from chat.conversations import lifecycle

    told = (await say("Hello")).json()
    session = await in_database(ChatSession.objects.get)
    await in_database(lifecycle.delete, session)
    assert refusal(await say("More", session=told["session"])) == (404, "not_found")
    assert refusal(await say("Hello", client_id=told["client_id"])) == (404, "not_found")


async def test_a_closed_account_says_nothing(say, scripted):
    await sync_to_async(User.objects.update)(is_active=False)
    assert refusal(await say("Hello")) == (401, "no_key")
    assert not await in_database(Message.objects.exists)
