"""/compact, /undo-compact and /context: by a frame, a form and a program; never a message."""

import json
import uuid

import pytest

from chat.models import ChatSession, ContextRound, Message
from chat.turns import commands
from chat.turns.commands import ContextCommand
from tests.conversations import send, settle
from tests.programs import Program
from tests.summaries import conversation, summarised

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/compact", ContextCommand("/compact")),
        (" /Compact\nthe Harbour  plans ", ContextCommand("/compact", "the Harbour  plans")),
        ("/context", ContextCommand("/context")),
        ("/undo-compact", ContextCommand("/undo-compact")),
        ("/undo-compact please", None),
        ("/context of this", None),
        ("/compacted", None),
        ("please /compact", None),
        ("", None),
    ],
)
def test_what_is_a_command(text, command):
    assert commands.context_command_in(text) == command


@pytest.fixture
def session(ada, client):
    client.force_login(ada)
    return conversation(ada)


def by_frame(client, session_id, text, client_id=None):
    frame = {"type": "send", "client_id": str(client_id or uuid.uuid4()), "text": text}
    return client.post(f"/c/{session_id}/frame", json.dumps(frame), content_type="application/json").json()


def test_a_frame_is_answered_and_nothing_is_stored(client, session):
    before = Message.objects.count()
    said = by_frame(client, session.pk, "/compact the ferries")
    assert (said["type"], said["command"]) == ("command", "/compact")
    assert said["text"].startswith("A summary of earlier messages is being written.")
    assert session.context_rounds.get().focus == "the ferries"
    assert "of 200,000 tokens" in by_frame(client, session.pk, "/context")["text"]
    assert by_frame(client, session.pk, "/undo-compact")["text"] == "The summary is no longer being written."
    assert by_frame(client, session.pk, "/undo-compact")["text"] == "There is no summary that could be undone."
    assert Message.objects.count() == before


def test_an_undo_that_is_sent_again_undoes_no_other_summary(client, ada, session):
    summarised(session)
    send_more(ada, session)
    second = summarised(session)
    once = uuid.uuid4()
    for _ in range(2):
        assert "the messages again" in by_frame(client, session.pk, "/undo-compact", once)["text"]
    assert list(session.context_rounds.exclude(undone_at=None)) == [second]


def send_more(user, session):
    for _ in range(3):
        settle(send(user, "More of it. " * 100, session.pk))
    session.refresh_from_db()


def test_a_form_leads_back_with_a_toast(client, session):
    def sent(text):
        fields = {"client_id": uuid.uuid4(), "text": text}
        return client.post(f"/c/{session.pk}/send", fields).headers["location"]

    assert sent("/compact") == f"/c/{session.pk}"
    assert "A summary of earlier messages is being written." in client.get(f"/c/{session.pk}").content.decode()
    assert sent("/context") == f"/c/{session.pk}/context"
    assert sent("/undo-compact") == f"/c/{session.pk}"
    assert "The summary is no longer being written." in client.get(f"/c/{session.pk}").content.decode()


def test_a_program_reads_what_was_done(session, ada):
    program = Program(ada)
    said = program.post("/messages", text="/compact", session=str(session.pk))
    assert said.status_code == 200
    assert said.json()["notice"].startswith("A summary of earlier messages is being written.")
    assert said.json()["message"] is None


def test_a_conversation_that_does_not_exist_yet_has_nothing_to_summarise(client, session):
    fresh = uuid.uuid4()
    assert by_frame(client, fresh, "/compact")["text"].startswith("There is too little to summarise")
    assert by_frame(client, fresh, "/context")["text"] == "Nothing was sent to the model yet."
    assert by_frame(client, fresh, "/undo-compact")["text"] == "There is no summary that could be undone."
    assert not ChatSession.objects.filter(pk=fresh).exists()


def test_a_stranger_reaches_nothing(client, stranger, session):
    summarised(session)
    client.force_login(stranger)
    for text in ("/compact", "/undo-compact", "/context"):
        assert by_frame(client, session.pk, text)["code"] == "not_found"
    assert not ContextRound.objects.exclude(undone_at=None).exists()


def test_the_list_of_commands_has_them(client, session):
    listed = {each["name"]: each["kind"] for each in client.get("/commands").json()["commands"]}
    assert listed["/compact"] == "write"
    assert (listed["/undo-compact"], listed["/context"]) == ("send", "send")
