"""A conversation ends by a command or by its page."""

import uuid

import pytest
from django.urls import reverse

from chat.conversations import lifecycle
from chat.models import ChatSession, Message
from chat.signals import sessions_ended
from chat.turns import commands
from oneclaw.models import User
from oneclaw.threads import in_database
from tests.conversations import send


@pytest.fixture
def heard():
    """(session, reason) of every sessions_ended."""
    heard = []

    def receive(sessions, reason, **_):
        heard.extend((session.pk, reason) for session in sessions)

    sessions_ended.connect(receive)
    yield heard
    sessions_ended.disconnect(receive)


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("/new", ("new", "", 4)),
        (" /Reset\n", ("reset", "", 7)),
        ("/end", ("end", "", 4)),
        ("/NEW Where is Miso?", ("new", "Where is Miso?", 5)),
        ("/reset\n\nDear Miso,\n  HELLO", ("reset", "Dear Miso,\n  HELLO", 8)),
        ("/new /new", ("new", "/new", 5)),
        ("/end of story", None),
        ("/news", None),
        ("see /new", None),
        ("new", None),
    ],
)
def test_a_command_ends_the_conversation_and_may_begin_the_next_one(text, ending):
    assert commands.ending_in(text) == (commands.EndCommand(*ending) if ending else None)


async def test_a_text_after_the_command_is_the_first_message_of_a_conversation_like_the_one_before(
    transactional_db, async_client, heard, scripted
):
    ada = await in_database(User.objects.create_user, "ada@example.org")
    session = (await in_database(send, ada)).message.session
    await in_database(ChatSession.objects.filter(pk=session.pk).update, effort="low")
    await async_client.aforce_login(ada)
    form = {"client_id": str(uuid.uuid4()), "text": "/new Dear MISO"}
    answers = [await async_client.post(f"/c/{session.pk}/send", form) for _ in range(2)]
    follower = await in_database(ChatSession.objects.exclude(pk=session.pk).get)
    assert [answer.url for answer in answers] == [follower.get_absolute_url()] * 2
    assert follower.effort == "low"
    assert await in_database(lambda: follower.messages.order_by("seq").first().text) == "Dear MISO"
    assert heard == [(session.pk, "new")]


async def test_a_command_without_a_socket_ends_the_conversation_and_begins_another(
    transactional_db, async_client, heard
):
    ada = await in_database(User.objects.create_user, "ada@example.org")
    session = (await in_database(send, ada)).message.session
    await async_client.aforce_login(ada)
    answer = await async_client.post(f"/c/{session.pk}/send", {"client_id": str(uuid.uuid4()), "text": "/reset"})
    assert (answer.status_code, answer.url) == (302, "/")
    assert heard == [(session.pk, "reset")]
    assert (await in_database(ChatSession.objects.get, pk=session.pk)).last_seq == 2


def test_ending_by_the_page_keeps_the_conversation_and_archiving_takes_it_out_of_the_list(ada, client):
    client.force_login(ada)
    ended, archived = send(ada).message.session, send(ada).message.session
    assert client.post(reverse("end", args=[ended.pk])).url == "/"
    client.post(reverse("end", args=[archived.pk]), {"reason": "archive"})
    assert list(ChatSession.objects.visible_to(ada).listed()) == [ended]
    assert client.get(archived.get_absolute_url()).status_code == 200
    assert client.post(reverse("end", args=[ended.pk]), {"reason": "whim"}).status_code == 400


def test_nobody_ends_somebody_elses_conversation(ada, stranger, client):
    session = send(ada).message.session
    client.force_login(stranger)
    assert client.post(reverse("end", args=[session.pk])).status_code == 404
    with pytest.raises(lifecycle.SessionNotFoundError):
        commands.end_conversation(stranger, session.pk, "new")
    session.refresh_from_db()
    assert session.ended_at is None


def test_a_conversation_that_does_not_exist_yet_has_nothing_to_end(ada, heard):
    commands.end_conversation(ada, uuid.uuid4(), "new")
    assert heard == []
    assert not Message.objects.exists()
