"""A person is removed: what others share is handed over, and nothing of the rest is left anywhere."""

import json
import uuid
from pathlib import Path

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import connection

from chat.attachments import store
from chat.conversations import lifecycle, transcript
from chat.library import saved_prompts
from chat.models import Attachment, ChatSession, Message
from chat.transfer import leaving, share
from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.files.mirror import try_to_mirror
from memory.models import Flush, MemoryDocument
from oneclaw import invariants
from oneclaw.audit import holds
from oneclaw.leaving import offboard, references
from oneclaw.models import AuditEvent, Offboarding, Space, SpaceMember, Spend, User
from oneclaw.people import keys
from oneclaw.spaces import lifecycle as space_lifecycle
from oneclaw.spaces import members
from tests.conversations import settle

pytestmark = pytest.mark.django_db(transaction=True)
# Only what is Grace's own has these words.
WORD, MAIL = "zyzzyva", "grace.quokka@example.org"


def said(user, text, files=(), session_id=None):
    accepted = transcript.accept(
        user, session_id or uuid.uuid4(), uuid.uuid4(), text, files=[each.pk for each in files]
    )
    settle(accepted, text=f"Yes: {text}")
    return ChatSession.objects.get(pk=accepted.message.session_id)


@pytest.fixture
def grace(db) -> User:
    return User.objects.create_user(MAIL, "correct horse battery", first_name="Quokka")


@pytest.fixture
def team(grace, ada) -> Space:
    """A space of Grace's with Ada in it, a shared conversation with a file, and a line in its memory."""
    space = space_lifecycle.create(grace, space_lifecycle.checked_draft("Engine room", kind="team"))
    members.add_by_email(space, ada.email, SpaceMember.Role.READER)
    session = said(grace, "The pump is old", [store.store_file(grace, "pump.txt", b"A pump")])
    ChatSession.objects.filter(pk=session.pk).update(space=space, shared_at=session.created_at)
    write.apply(space, "MEMORY.md", Append("- The pump is old.\n"), Author(Source.PAGE, grace))
    return space


def fill(grace, client) -> None:
    """Leave Grace's word in everything that is her own."""
    client.force_login(grace)
    client.get("/settings/")
    session = said(grace, f"My {WORD} is private", [store.store_file(grace, f"{WORD}.txt", WORD.encode())])
    lifecycle.rename(session, WORD)
    share.share(session.owner, session, "never")
    lifecycle.delete(said(grace, f"A deleted {WORD}"))
    own = Space.objects.own_of(grace)
    for path in ("MEMORY.md", "memory/2026-11-23.md"):
        write.apply(own, path, Append(f"- {WORD} likes tea.\n"), Author(Source.PAGE, grace))
    for document in own.documents.all():
        try_to_mirror(document.pk)
    keys.make(grace, WORD, "year")
    saved_prompts.save(grace, WORD, f"Say {WORD}")
    Spend.objects.create(user=grace, space=own, session_id=session.pk, purpose="answer", model="m", input_tokens=7)
    store.store_file(grace, "unsent.txt", WORD.encode())


def dump() -> str:
    """Return every row of every table as text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT format('%I', tablename) FROM pg_tables WHERE schemaname = 'public'")
        tables = [row[0] for row in cursor.fetchall()]
        found = []
        for table in tables:
            cursor.execute(f"SELECT format('{table}: %s', each) FROM {table} each")
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


def on_disk(folder: Path) -> str:
    return "\n".join(f"{path} {path.read_bytes()!r}" for path in folder.rglob("*") if path.is_file())


def test_nothing_is_left_in_rows_and_files(grace, ada, team, client, admin_person, tmp_path):
    fill(grace, client)
    number, private = grace.pk, Space.objects.own_of(grace).pk
    assert WORD in dump()
    assert WORD in on_disk(tmp_path)
    foreseen = offboard.plan(grace)
    assert WORD in dump()

    job = offboard.begin(grace, receiver=ada, by=admin_person)
    # At once, before any worker has the job.
    assert client.get("/settings/").status_code == 302
    assert not UserSession.objects.filter(user=grace).exists()
    assert not grace.api_keys.exists()
    assert offboard.run(job.pk)

    left = dump()
    for words in (WORD, MAIL, "Quokka"):
        assert [line for line in left.splitlines() if words.lower() in line.lower()] == []
        assert words not in on_disk(tmp_path)
    assert not (tmp_path / "attachments" / str(number)).exists()
    assert not (tmp_path / "workspaces" / str(private)).exists()
    assert [str(each) for each in invariants.check()] == []
    # What law keeps: that money was spent, and what was done.
    assert Spend.objects.get(user=None).input_tokens == 7
    job.refresh_from_db()
    assert job.counts == foreseen.counts
    assert job.counts["conversations"] == 2
    assert job.hashes == foreseen.hashes
    assert len(job.hashes["documents"]) == 64
    event = AuditEvent.objects.get(kind="person.removed")
    assert (event.actor, event.person, event.details["counts"]) == (admin_person.pk, number, job.counts)


def test_spaces_and_shared_conversations_are_the_receivers(grace, ada, team, tmp_path):
    shared = ChatSession.objects.get(space=team)
    assert offboard.run(offboard.begin(grace, receiver=ada).pk)

    team.refresh_from_db()
    shared.refresh_from_db()
    assert (team.owner, shared.owner) == (ada, ada)
    assert list(team.members.values_list("user", "role")) == [(ada.pk, "owner")]
    assert f":user:{ada.pk}:" in shared.key
    file = Attachment.objects.get(session=shared)
    assert file.owner == ada
    assert (tmp_path / "attachments" / str(ada.pk) / str(file.pk)).read_bytes() == b"A pump"
    # The words of who has left are not Ada's: nothing of them goes into her memory.
    assert not shared.messages.filter(role=Message.Role.USER).without_relayed().exists()
    assert list(Flush.objects.filter(session=shared).values_list("owner", "status", "through_seq")) == [
        (ada.pk, "nothing", shared.last_seq)
    ]
    revision = MemoryDocument.objects.get(space=team, path="MEMORY.md").revisions.get()
    assert revision.author is None
    assert "pump" in json.dumps(revision.hunks)
    settled = said(ada, "And now?", session_id=shared.pk)
    assert settled.pk == shared.pk


def test_who_gets_no_access_by_it_gets_no_conversation(grace, ada, team, stranger):
    members.change_role(team.members.get(user=ada), SpaceMember.Role.OWNER)
    assert offboard.run(offboard.begin(grace, receiver=stranger).pk)
    assert ChatSession.objects.get(space=team).owner == ada
    assert not Space.objects.visible_to(stranger).filter(pk=team.pk).exists()


def test_it_is_refused_for_a_reason_and_changes_nothing(grace, ada, team, admin_person):
    with pytest.raises(offboard.NoReceiverError, match="Engine room"):
        offboard.begin(grace)
    with pytest.raises(offboard.LastOwnerLeavesError):
        offboard.begin(admin_person, receiver=ada)
    with pytest.raises(offboard.WrongReceiverError):
        offboard.begin(grace, receiver=grace)
    held = holds.hold(admin_person, "A case", person=grace)
    with pytest.raises(holds.HeldError):
        offboard.begin(grace, receiver=ada)
    grace.refresh_from_db()
    assert grace.is_active
    assert not Offboarding.objects.exists()
    holds.end(admin_person, held.pk)
    offboard.begin(grace, receiver=ada)
    with pytest.raises(offboard.AlreadyLeavingError):
        offboard.begin(grace, receiver=ada)


def test_a_hold_on_a_space_keeps_what_a_person_has_there(grace, ada, team, tmp_path):
    lifecycle.delete(ChatSession.objects.get(space=team))
    file = Attachment.objects.get()
    held = holds.hold(None, "A case", space=team)
    with pytest.raises(holds.HeldError):
        offboard.begin(grace, receiver=ada)
    holds.end(None, held.pk)
    job = offboard.begin(grace, receiver=ada)
    # One that is set while a worker is at it.
    held = holds.hold(None, "A case", space=team)
    with pytest.raises(holds.HeldError):
        leaving.remove(grace, lambda: None)
    assert not offboard.run(job.pk)
    assert ChatSession.objects.get().messages.count() == 2
    assert (tmp_path / "attachments" / str(grace.pk) / str(file.pk)).exists()
    holds.end(None, held.pk)
    Offboarding.objects.update(due_at=job.created_at)
    assert offboard.run(job.pk)


def test_history_of_the_administration_goes_where_it_names_the_address_and_nothing_else(grace, ada, admin_person):
    def entry(row, text):
        kind = ContentType.objects.get_for_model(Space)
        return LogEntry.objects.create(
            user=admin_person, content_type=kind, object_id=row, object_repr=text, action_flag=CHANGE
        )

    kept = [entry(1, f"a{MAIL}"), entry(2, f"{MAIL}.uk"), entry(3, f"x.{MAIL}")]
    for number, text in enumerate((MAIL.title(), f"key of {MAIL}.", f"({MAIL})"), 4):
        entry(number, text)
    assert offboard.run(offboard.begin(grace, receiver=ada).pk)
    assert set(LogEntry.objects.all()) == set(kept)


def test_a_step_that_fails_is_tried_again_and_the_receipt_says_what_was_there(grace, ada, team, client, monkeypatch):
    fill(grace, client)
    foreseen = offboard.plan(grace).counts
    job = offboard.begin(grace, receiver=ada)
    with monkeypatch.context() as broken:

        def fails(person):
            raise OSError("disk")

        broken.setattr("chat.attachments.disk.remove_folder", fails)
        assert not offboard.run(job.pk)
    assert User.objects.filter(pk=grace.pk).exists()
    assert not ChatSession.objects.filter(owner=grace).exists()
    Offboarding.objects.update(due_at=job.created_at)
    assert offboard.run(job.pk)
    job.refresh_from_db()
    assert (job.counts, job.status) == (foreseen, "done")
    assert not User.objects.filter(pk=grace.pk).exists()


def test_every_foreign_key_to_a_person_says_what_becomes_of_it(monkeypatch):
    assert references.every_reference_has_a_way() == []
    names = dict(references.references())
    assert "chat.ChatSession.owner" in names
    monkeypatch.delitem(leaving.REFERENCES, "chat.ChatSession.owner")
    assert [each.id for each in references.every_reference_has_a_way()] == ["oneclaw.E001"]


def test_an_account_that_is_there_again_is_found(grace, ada, team):
    job = offboard.begin(grace, receiver=ada)
    number = grace.pk
    assert offboard.run(job.pk)
    User.objects.create(pk=number, email="again@example.org")
    assert f"person {number} has left and has an account" in "\n".join(map(str, invariants.check()))


def test_the_command_says_what_would_go_and_removes(grace, ada, team, capsys):
    call_command("offboard", MAIL, "--to", ada.email, "--dry-run", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["dry_run"], told["counts"]["spaces"], told["counts"]["shared_conversations"]) == (True, 1, 1)
    assert User.objects.filter(email=MAIL).exists()
    with pytest.raises(CommandError, match="Engine room"):
        call_command("offboard", MAIL)
    call_command("offboard", MAIL, "--to", ada.email, "--json")
    receipt = json.loads(capsys.readouterr().out)
    assert receipt["counts"] == told["counts"]
    assert receipt["finished_at"]
    assert not User.objects.filter(email=MAIL).exists()
