"""Notes of a shared conversation go into its space's log of the day, once, with the names of who said what."""

import threading
import time

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from chat.models import ChatSession
from memory.documents.write import Append, Author, Source, apply
from memory.files import disk
from memory.files.folders import folder_of
from memory.files.mirror import try_to_mirror
from memory.invariants import INVARIANTS
from memory.models import Flush, MemoryDocument
from memory.notes import claims, flush
from oneclaw.jobs import ClaimLostError
from oneclaw.models import Space
from oneclaw.spaces import deletion
from tests.scripted import answer


def do(session, reason="switched"):
    queued = flush.request(session, reason)
    while queued:
        queued = flush.run(queued.pk)


def violations():
    return [sentence for each in INVARIANTS for sentence in each.violations()]


def logs():
    found = MemoryDocument.objects.present().filter(path__startswith="memory/")
    return {document.space_id: document.content for document in found}


def test_notes_go_into_the_space_with_names_and_on_its_disk(shared, say, ada, bob, kitchen, space, scripted):
    scripted.script(answer("- Bob: the oven is broken.\n- His PIN is password: hunter22horse"))
    say(shared, "The menu is soup.")
    say(shared, "The oven is broken. My password: hunter22horse", author=bob)
    say(shared, "Noted.", role="assistant")
    do(shared)
    asked = str(scripted.messages[0].body)
    assert "Ada: The menu is soup." in asked
    assert "Bob: The oven is broken." in asked
    assert "daily log of a team" in asked
    (document,) = MemoryDocument.objects.filter(space=kitchen)
    assert "Bob: the oven is broken." in document.content
    assert "hunter22horse" not in document.content
    assert not MemoryDocument.objects.filter(space=space).exists()
    try_to_mirror(document.pk)
    assert disk.read(folder_of(kitchen), document.path) == document.content
    do(shared)
    assert len(scripted.messages) == 1
    assert violations() == []


def test_a_conversation_that_is_shared_or_made_private_meanwhile_is_noted_where_it_belongs_then(
    shared, say, bob, kitchen, space, scripted
):
    scripted.script(answer("- Ada plans a soup."), answer("- Ada plans a soup."))
    say(shared, "I plan a soup.")
    say(shared, "The oven of Bob is broken.", author=bob)
    say(shared, "Then it is cold soup, because of the oven.", role="assistant")
    claim = claims.claim_flush(flush.request(shared, "switched").pk)
    ChatSession.objects.filter(pk=shared.pk).update(shared_at=None)
    with pytest.raises(claims.MovedError):
        flush.finish(claim, "- Ada plans a soup.")
    claims.put_back(claim, claims.MovedError())
    Flush.objects.update(due_at=timezone.now())
    flush.run(Flush.objects.get().pk)
    # Now it is private to Ada: what Bob said, and the answer to it, are not noted as hers.
    assert list(logs()) == [space.pk]
    assert "oven" not in str(scripted.messages[0].body["messages"])
    assert violations() == []


def test_notes_are_covered_when_their_space_is_deleted_and_go_on_in_private(shared, say, kitchen, space, scripted):
    scripted.script(answer("- one"), answer("- two"))
    say(shared, "first")
    do(shared)
    say(shared, "second")
    claim = claims.claim_flush(flush.request(shared, "switched").pk)
    ChatSession.objects.filter(pk=shared.pk).update(shared_at=None, space=None)
    kitchen.delete()
    with pytest.raises(claims.MovedError):
        flush.finish(claim, "- two")
    claims.put_back(claim, claims.MovedError())
    Flush.objects.filter(status="queued").update(due_at=timezone.now())
    flush.run(Flush.objects.get(status="queued").pk)
    assert list(logs()) == [space.pk]
    assert "one" not in logs()[space.pk]
    assert list(Flush.objects.order_by("pk").values_list("through_seq", "space")) == [(1, None), (2, space.pk)]
    assert violations() == []


def test_an_archived_space_gets_no_notes_until_it_is_opened_again(shared, say, kitchen, scripted):
    scripted.script(answer("- one"))
    say(shared, "first", at="2020-01-01T10:00+00:00")
    ChatSession.objects.filter(pk=shared.pk).update(active_at="2020-01-01T10:00+00:00")
    Space.objects.filter(pk=kitchen.pk).update(archived_at=timezone.now())
    assert flush.request(shared, "switched") is None
    assert flush.idle() == []
    Space.objects.filter(pk=kitchen.pk).update(archived_at=None)
    assert flush.idle() == [shared]
    do(shared)
    assert "one" in logs()[kitchen.pk]


def test_the_database_refuses_notes_in_a_space_that_the_conversation_is_not_shared_with(private, kitchen, stranger):
    fields = {"owner": private.owner, "session": private, "reason": "switched"}
    for space in (kitchen, Space.objects.own_of(stranger)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Flush.objects.create(space=space, **fields)


def test_a_space_that_is_deleted_while_its_notes_are_written_gets_none(shared, say, ada, kitchen, space, scripted):
    say(shared, "The oven is broken.")
    claim = claims.claim_flush(flush.request(shared, "switched").pk)
    try_to_mirror(apply(kitchen, "MEMORY.md", Append("- Soup.\n"), Author(Source.PAGE, ada)).document_id)
    deletion.delete(kitchen, ada)
    with pytest.raises(ClaimLostError):
        flush.finish(claim, "- The oven is broken.")
    with pytest.raises(ClaimLostError):
        claims.put_back(claim, RuntimeError())
    assert logs() == {}
    assert violations() == []


@pytest.mark.django_db(transaction=True)
def test_a_space_that_is_deleted_at_the_moment_at_which_its_notes_are_written_keeps_none(
    shared, say, ada, kitchen, scripted, monkeypatch
):
    say(shared, "The oven is broken.")
    claim = claims.claim_flush(flush.request(shared, "switched").pk)
    written, append = threading.Event(), flush._append

    def append_slowly(*arguments, **options):
        try:
            return append(*arguments, **options)
        finally:
            written.set()
            # The deletion begins now, and waits for the end of this transaction.
            time.sleep(0.3)

    monkeypatch.setattr(flush, "_append", append_slowly)
    failures = []

    def finish():
        try:
            flush.finish(claim, "- The oven is broken.")
        except Exception as failure:  # noqa: BLE001
            failures.append(failure)
        finally:
            connection.close()

    worker = threading.Thread(target=finish)
    worker.start()
    assert written.wait(10)
    deletion.delete(kitchen, ada)
    worker.join()
    assert failures == []
    assert logs() == {}
    assert not Space.objects.shared().exists()
    assert not folder_of(kitchen).exists()
    assert violations() == []
