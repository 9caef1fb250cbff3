"""What a process with a wrong clock marks as due, keeps and sweeps in memory goes by the database's clock."""

import io
import zipfile

from django.utils import timezone

from memory.index import conversations
from memory.models import Comparison, TranscriptIndex
from memory.notes import flush
from memory.tools import comparisons
from memory.transfer import imports


def seconds_until(moment):
    return (moment - timezone.now()).total_seconds()


def test_a_conversation_is_idle_after_the_time_that_is_set(session, say, wrong_clock):
    say(session, "first")
    with wrong_clock():
        assert flush.idle() == []
        conversations.due()
    assert not TranscriptIndex.objects.exists()


def test_an_index_is_due_when_it_should_be(session, say, wrong_clock, monkeypatch):
    say(session, "first")
    monkeypatch.setattr(conversations, "UNINDEXED_MIN_MESSAGES", 1)
    with wrong_clock():
        index_id = conversations.after_turn(session)
    assert 0 < seconds_until(TranscriptIndex.objects.get().due_at) <= conversations.DEBOUNCE_SECONDS
    with wrong_clock():
        assert conversations.due() == []
        assert not conversations.run(index_id)
        conversations.request(session)
        assert conversations.due() == [index_id]
        assert conversations.run(index_id)


def test_a_comparison_is_due_when_it_should_be(session, append, space, wrong_clock):
    revision = append(space, "- A line.\n")
    with wrong_clock():
        comparisons.request(revision)
    assert -10 < seconds_until(Comparison.objects.get().due_at) <= 0
    assert Comparison.objects.due_ids() == [Comparison.objects.get().pk]


def test_an_upload_waits_as_long_as_it_should(ada, wrong_clock):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("MEMORY.md", "- A line.\n")
    with wrong_clock():
        token = imports.upload(ada, "memory.zip", packed.getvalue()).upload.token
        imports.delete_expired()
    imports.delete_expired()
    with wrong_clock():
        assert imports.pending_upload(ada, token)
