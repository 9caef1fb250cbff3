"""What has become too old by a rule is removed, and nothing that a legal hold keeps."""

import datetime as dt

import pytest
from django.utils import timezone

from chat import tasks
from chat.attachments import disk, store
from chat.conversations import lifecycle
from chat.models import Attachment, ChatSession, Message
from memory import tasks as memory_tasks
from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.files.mirror import try_to_mirror
from memory.forgetting import forget
from memory.models import MemoryDocument, MemoryRevision
from oneclaw.audit import holds
from oneclaw.models import AuditEvent, RetentionRule, Space
from oneclaw.spaces import deletion
from oneclaw.spaces import lifecycle as space_lifecycle
from tests.oneclaw.leaving.test_offboarding import said

pytestmark = pytest.mark.django_db(transaction=True)
Kind = RetentionRule.Kind


def aged(session: ChatSession, days: int, **changes) -> ChatSession:
    at = timezone.now() - dt.timedelta(days=days)
    ChatSession.objects.filter(pk=session.pk).update(active_at=at, **changes)
    Attachment.objects.filter(session=session).update(created_at=at)
    return session


@pytest.fixture
def team(ada) -> Space:
    return space_lifecycle.create(ada, space_lifecycle.checked_draft("Engine room", kind="team"))


def test_conversations_go_by_age_and_those_of_a_space_by_its_own_rule(ada, team):
    RetentionRule.objects.create(kind=Kind.CONVERSATIONS, days=10)
    RetentionRule.objects.create(kind=Kind.CONVERSATIONS, days=30, space=team)
    aged(said(ada, "Old"), 11)
    young, kept = aged(said(ada, "Young"), 9), aged(said(ada, "Of the space"), 29, space=team)
    aged(said(ada, "Old of the space"), 31, space=team)
    tasks.purge()
    assert set(ChatSession.objects.all()) == {young, kept}
    assert set(Message.objects.values_list("session", flat=True)) == {young.pk, kept.pk}
    assert list(AuditEvent.objects.filter(kind="deleted").values_list("actor", "person")) == [(None, ada.pk)] * 2


def test_files_go_by_age_and_their_messages_stay(ada, client):
    RetentionRule.objects.create(kind=Kind.FILES, days=10)
    old = aged(said(ada, "See", [store.store_file(ada, "old.txt", b"Old")]), 11)
    young = aged(said(ada, "See", [store.store_file(ada, "young.txt", b"Young")]), 9)
    gone = Attachment.objects.get(session=old).pk
    tasks.purge()
    assert list(Attachment.objects.values_list("session", flat=True)) == [young.pk]
    assert disk.read(ada.pk, str(gone)) is None
    client.force_login(ada)
    assert "old.txt" in client.get(f"/c/{old.pk}").content.decode()


def test_documents_go_by_age_with_their_history_and_file(ada, tmp_path):
    RetentionRule.objects.create(kind=Kind.DAILY_LOGS, days=10)
    RetentionRule.objects.create(kind=Kind.DOCUMENTS, days=20)
    space = Space.objects.own_of(ada)
    ages = {"memory/2026-01-01.md": 11, "memory/2026-01-02.md": 9, "notes.md": 21, "plans.md": 19, "MEMORY.md": 90}
    for path, days in ages.items():
        write.apply(space, path, Append("- Ada likes tea.\n"), Author(Source.PAGE, ada))
        try_to_mirror(space.documents.get(path=path).pk)
        MemoryDocument.objects.filter(path=path).update(updated_at=timezone.now() - dt.timedelta(days=days))
    memory_tasks.purge()
    left = {"memory/2026-01-02.md", "plans.md", "MEMORY.md"}
    assert set(MemoryDocument.objects.values_list("path", flat=True)) == left
    assert set(MemoryRevision.objects.values_list("document__path", flat=True)) == left
    folder = tmp_path / "workspaces" / str(space.pk)
    assert {str(file.relative_to(folder)) for file in folder.rglob("*.md")} == left


def test_a_hold_stops_every_removal_until_it_ends(ada, team, admin_person):
    for kind in Kind:
        RetentionRule.objects.create(kind=kind, days=1)
    held = [holds.hold(admin_person, "Case", person=ada), holds.hold(admin_person, "Case", space=team)]
    session = aged(said(ada, "See", [store.store_file(ada, "old.txt", b"Old")]), 40)
    deleted = said(ada, "Deleted")
    lifecycle.delete(deleted)
    ChatSession.objects.filter(pk=deleted.pk).update(deleted_at=timezone.now() - dt.timedelta(days=400))
    spaces = [Space.objects.own_of(ada), team]
    for space in spaces:
        write.apply(space, "memory/2026-01-01.md", Append("- Ada likes tea.\n"), Author(Source.PAGE, ada))
    MemoryDocument.objects.update(updated_at=timezone.now() - dt.timedelta(days=40))

    tasks.purge()
    memory_tasks.purge()
    assert ChatSession.objects.count() == 2
    assert Attachment.objects.get().session == session
    assert MemoryDocument.objects.count() == 2
    for space in spaces:
        with pytest.raises(forget.ForgettingHeldError, match="ordered that it is kept"):
            forget.forget(space, ["- Ada likes tea."], ada)
    with pytest.raises(holds.HeldError):
        deletion.delete(team, ada)

    for each in held:
        holds.end(admin_person, each.pk)
    tasks.purge()
    memory_tasks.purge()
    assert not ChatSession.objects.exists()
    assert not Attachment.objects.exists()
    assert not MemoryDocument.objects.exists()


def test_a_temporary_conversation_that_is_held_is_only_marked(ada, admin_person):
    session = said(ada, "Quick")
    ChatSession.objects.filter(pk=session.pk).update(mode="temporary", active_at=timezone.now() - dt.timedelta(days=9))
    session.refresh_from_db()
    hold = holds.hold(admin_person, "Case", person=ada)
    lifecycle.delete(session)
    tasks.sweep()
    assert session.messages.count() == 2
    holds.end(admin_person, hold.pk)
    tasks.sweep()
    assert not session.messages.exists()
