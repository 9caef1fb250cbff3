"""One answer at a time: what is sent meanwhile waits in a queue that everybody sees."""

import asyncio
import uuid

import pytest
from django.utils import timezone

from chat.conversations.shared import queue
from chat.live import publisher
from chat.models import ChatSession, Message, QueuedMessage
from chat.tasks import sweep
from oneclaw import pubsub
from oneclaw.threads import in_database
from tests import scripted as model
from tests.chat.live.test_socket import Client, idle
from tests.chat.shared.cast import shared_conversation, take_role
from tests.conversations import abandon, send, settle

pytestmark = pytest.mark.django_db(transaction=True)

LONG = model.text(["One", " after", " the", " other."], pace=0.3)


async def queued(client, session, text):
    client_id = str(uuid.uuid4())
    await client.say("send", client_id=client_id, session=str(session), text=text)
    assert (await client.hear("queued"))["client_id"] == client_id
    return client_id


async def waiting(client, *texts):
    """Wait for the queue with these texts."""
    shown = next((frame["waiting"] for frame in reversed(client.seen) if frame["type"] == "queue"), [])
    while [each["text"] for each in shown] != [*texts]:
        shown = (await client.hear("queue"))["waiting"]
    return shown


async def answered():
    """Wait until no answer is being written: the queue is empty a moment before the turn of its last message begins."""
    async with asyncio.timeout(20):
        while await in_database(Message.objects.filter(status=Message.Status.RUNNING).exists):
            await asyncio.sleep(0.02)
    await idle()


async def test_messages_wait_their_turn_and_are_answered_in_order(ada, scripted):
    cast = await in_database(shared_conversation, ada)
    scripted.script(model.answer(LONG), model.answer(model.text("To Olga.")), model.answer(model.text("To Ada.")))
    async with Client(cast.ed) as ed, Client(cast.olga) as olga, Client(ada) as owner, Client(cast.rita) as rita:
        for client in (ed, olga, owner, rita):
            await client.open(cast.session.pk)
        await ed.send(cast.session.pk, "The first")
        await queued(olga, cast.session.pk, "The second")
        await queued(owner, cast.session.pk, "The third")
        shown = await waiting(rita, "The second", "The third")
        assert [each["name"] for each in shown] == ["Olga", "ada@example.org"]
        await waiting(rita)
        await answered()
    said = await in_database(
        lambda: list(
            Message.objects.filter(seq__gt=2).order_by("seq").values_list("role", "text", "author__first_name")
        )
    )
    assert said == [
        ("user", "The first", "Ed"),
        ("assistant", "One after the other.", None),
        ("user", "The second", "Olga"),
        ("assistant", "To Olga.", None),
        ("user", "The third", ""),
        ("assistant", "To Ada.", None),
    ]


async def test_only_the_author_takes_a_message_back_and_who_leaves_takes_theirs_along(ada, scripted):
    cast = await in_database(shared_conversation, ada)
    scripted.script(
        model.answer(model.text(["Long"] + [" and longer"] * 100, pace=0.2)), model.answer(model.text("Yes."))
    )
    async with Client(cast.ed) as ed, Client(cast.olga) as olga:
        await ed.open(cast.session.pk)
        await olga.open(cast.session.pk)
        await olga.send(cast.session.pk, "The first")
        mine = await queued(olga, cast.session.pk, "Olga's")
        await queued(ed, cast.session.pk, "Ed's")
        await ed.say("take_back", client_id=mine)
        await waiting(ed, "Olga's", "Ed's")
        await olga.say("take_back", client_id=mine)
        await waiting(ed, "Ed's")
        await in_database(take_role, cast.space, cast.ed)
        await waiting(olga)
        await olga.say("stop", message=None)
        await olga.hear("done", final=True)
        await idle()
    assert not await in_database(QueuedMessage.objects.exists)
    assert await in_database(Message.objects.filter(role="user").count) == 2


async def test_what_waits_is_answered_when_its_process_has_died(ada, scripted):
    cast = await in_database(shared_conversation, ada)
    scripted.script(model.answer(model.text("At last.")))
    row = {"session": cast.session, "author": cast.ed, "client_id": uuid.uuid4(), "text": "Still here"}
    await in_database(lambda: QueuedMessage.objects.create(**row))
    async with Client(cast.rita) as rita:
        await rita.open(cast.session.pk)
        assert (await rita.hear("message", seq=3))["html"].count("Still here")
        await rita.hear("done", final=True)
    await asyncio.sleep(0)


async def test_what_waits_is_answered_once_though_nobody_opens_the_conversation(ada, scripted):
    cast = await in_database(shared_conversation, ada)
    scripted.script(model.answer(model.text("At last.")), model.answer(model.text("And you, too.")))

    def left_by_a_process():
        running = send(cast.olga, "The first", cast.session.pk)
        abandon(running.turn)
        for author, text in ((cast.ed, "The second"), (cast.ada, "The third")):
            QueuedMessage.objects.create(session=cast.session, author=author, client_id=uuid.uuid4(), text=text)

    await in_database(left_by_a_process)
    # Two web processes, and two workers that sweep.
    ends_listening = [publisher.answer_left(), publisher.answer_left()]
    await asyncio.wait_for(pubsub.Listener.of_this_loop().connected.wait(), 20)
    await asyncio.gather(in_database(sweep), in_database(sweep))
    async with asyncio.timeout(20):
        while await in_database(QueuedMessage.objects.exists):
            await asyncio.sleep(0.02)
    await answered()
    for end in ends_listening:
        end()
    said = await in_database(
        lambda: list(Message.objects.filter(seq__gt=3).order_by("seq").values_list("role", "status", "text"))
    )
    assert said == [
        ("assistant", "interrupted", ""),
        ("user", "complete", "The second"),
        ("assistant", "complete", "At last."),
        ("user", "complete", "The third"),
        ("assistant", "complete", "And you, too."),
    ]


async def test_what_waits_is_left_alone_while_an_answer_runs_or_the_conversation_is_deleted(ada):
    cast = await in_database(shared_conversation, ada)
    heard = []
    end = pubsub.subscribe(queue.LEFT_TOPIC, heard.append)

    def offered():
        running = send(cast.olga, "The first", cast.session.pk)
        QueuedMessage.objects.create(session=cast.session, author=cast.ed, client_id=uuid.uuid4(), text="Wait")
        queue.offer_left()
        settle(running)
        ChatSession.objects.update(deleted_at=timezone.now())
        queue.offer_left()
        ChatSession.objects.update(deleted_at=None)
        queue.offer_left()

    await asyncio.wait_for(pubsub.Listener.of_this_loop().connected.wait(), 20)
    await in_database(offered)
    async with asyncio.timeout(20):
        while {"session": str(cast.session.pk)} not in heard:
            await asyncio.sleep(0.02)
    end()
    assert heard.count({"session": str(cast.session.pk)}) == 1


async def test_members_see_who_is_here_and_who_writes(ada, scripted):
    cast = await in_database(shared_conversation, ada)
    async with Client(cast.ed) as ed, Client(cast.olga) as olga:
        await ed.open(cast.session.pk)
        await olga.open(cast.session.pk)
        while {each["name"] for each in (await ed.hear("presence"))["people"]} != {"Ed", "Olga"}:
            pass
        await olga.say("writing")
        while not [each for each in (await ed.hear("presence"))["people"] if each["writing"]]:
            pass
        await olga.say("open", session=None)
        while {each["name"] for each in (await ed.hear("presence"))["people"]} != {"Ed"}:
            pass


def test_a_message_that_cannot_be_sent_takes_no_other_one_along(ada, monkeypatch):
    cast = shared_conversation(ada)
    of_fay, of_ed = [
        QueuedMessage.objects.create(session=cast.session, author=author, client_id=uuid.uuid4(), text=text)
        for author, text in ((cast.fay, "No role any more"), (cast.ed, "The next"))
    ]
    accept_first = queue._accept_first

    def taken_back_meanwhile(*arguments):
        try:
            return accept_first(*arguments)
        except LookupError:
            queue.take_back(cast.fay, cast.session.pk, of_fay.client_id)
            raise

    monkeypatch.setattr(queue, "_accept_first", taken_back_meanwhile)
    assert queue.accept_next(cast.session.pk, uuid.uuid4()).message.text == of_ed.text
