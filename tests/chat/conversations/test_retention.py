"""What was deleted is gone for good after a while, with everything that hung on it."""

import datetime as dt
import uuid

import pytest
from django.db import OperationalError
from django.utils import timezone

from chat import tasks
from chat.attachments import disk, store
from chat.conversations import agents, forking, lifecycle, transcript
from chat.library import organise
from chat.models import (
    Agent,
    Attachment,
    ChatSession,
    ContextRound,
    Message,
    MessageFile,
    MessageWords,
    SharedLink,
    Turn,
)
from chat.transfer import share
from tests.conversations import settle, summarise


def talk(user, *kept, text="Look"):
    accepted = transcript.accept(user, uuid.uuid4(), uuid.uuid4(), text, files=[file.pk for file in kept])
    settle(accepted)
    return ChatSession.objects.get(pk=accepted.message.session_id)


def deleted(session, days):
    lifecycle.delete(session)
    ChatSession.objects.filter(pk=session.pk).update(deleted_at=timezone.now() - dt.timedelta(days=days))


@pytest.fixture
def files(ada):
    return [store.store_file(ada, name, b"Tea") for name in ("gone.txt", "shared.txt")]


def test_everything_of_it_goes_and_nothing_of_others(ada, files, settings, django_capture_on_commit_callbacks):
    settings.DELETED_DAYS = 3
    session = talk(ada, *files)
    share.share(session.owner, session, "never")
    other = talk(ada, files[1], text="Again")
    for each in (session, other):
        summarise(each, 2)
    deleted(session, 3.01)
    with django_capture_on_commit_callbacks(execute=True):
        tasks.purge()
    assert list(ChatSession.objects.all()) == [other]
    for model in (Message, Turn, MessageFile, ContextRound):
        assert {
            row.session_id if model is not MessageFile else row.message.session_id for row in model.objects.all()
        } == {other.pk}
    assert MessageWords.objects.count() == 2
    assert not SharedLink.objects.exists()
    (kept,) = Attachment.objects.all()
    assert (kept.name, kept.session_id) == ("shared.txt", other.pk)
    assert disk.read(ada.pk, str(files[0].pk)) is None
    assert disk.read(ada.pk, str(kept.pk)) == b"Tea"
    tasks.purge()
    assert ChatSession.objects.count() == 1


def test_what_can_still_be_restored_stays_and_so_does_a_fork(client, ada, files, settings):
    settings.DELETED_DAYS = 3
    young, old = talk(ada, files[0]), talk(ada, files[1])
    fork = forking.fork(ada, old.messages.get(seq=2).pk)
    deleted(young, 2.99)
    deleted(old, 4)
    client.force_login(ada)
    assert "can be restored for 3 days" in client.get("/conversations?show=deleted").content.decode()
    tasks.purge()
    organise.organise(ada, [young.pk], "restore")
    assert set(ChatSession.objects.visible_to(ada).listed()) == {young, fork}
    assert Attachment.objects.get(name="shared.txt").session_id == fork.pk
    for session in (young, fork):
        assert session.messages.count() == 2


def test_one_that_cannot_go_keeps_no_other_here(ada, monkeypatch, caplog):
    stuck, old = talk(ada), talk(ada)
    deleted(stuck, 32)
    deleted(old, 31)
    forget = store.delete_files_of

    def failing(session):
        if session == stuck:
            raise OperationalError("deadlock detected")
        forget(session)

    monkeypatch.setattr(store, "delete_files_of", failing)
    tasks.purge()
    assert ChatSession.objects.get() == stuck
    assert "could not be purged" in caplog.text
    assert stuck.messages.count() == 2


def test_a_deleted_agent_goes_with_its_last_conversation(ada):
    agent = agents.create(ada, agents.AgentDraft("Poet", "", "", []))
    session = talk(ada)
    ChatSession.objects.filter(pk=session.pk).update(agent=agent)
    agents.delete(agent)
    deleted(session, 29)
    tasks.purge()
    assert Agent.objects.filter(pk=agent.pk).exists()
    deleted(session, 31)
    tasks.purge()
    assert not Agent.objects.filter(pk=agent.pk).exists()
