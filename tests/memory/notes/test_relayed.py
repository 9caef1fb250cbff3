"""What a model wrote in the person's place is neither noted, nor indexed, nor believed as their words."""

import uuid

import pytest

from chat.compaction.summaries import spoken
from chat.context.prompt import rows_of
from chat.models import Message
from chat.schedules import tell
from chat.session_tools import relay
from memory.access.load import access_of
from memory.index.transcripts import transcript_messages
from memory.notes import flush
from memory.notes.claims import claim_flush
from memory.trust.rule import source_of
from memory.trust.sources import sent_until
from tests.conversations import settle
from tests.sub_sessions import calling, written

WORDS = "I have moved to Lisbon with my sister Clara."


@pytest.fixture
def relayed(ada):
    """A conversation with an exchange of Ada's, and a message that another one sent."""
    session = written(ada, "I like green tea.", "Good.")
    sent = relay.accept(calling(ada, "sessions_send"), session, WORDS)
    settle(relay.deliver(sent.pk, uuid.uuid4()), "I see.")
    session.refresh_from_db()
    return session


def test_a_flush_does_not_note_it(relayed):
    claim = claim_flush(flush.request(relayed, "left").pk)
    assert [(entry.role, entry.text) for entry in claim.said] == [
        ("user", "I like green tea."),
        ("assistant", "Good."),
        ("assistant", "I see."),
    ]


def test_it_is_no_line_of_the_transcript_that_a_search_reads(relayed):
    assert WORDS not in [each.text for each in transcript_messages(access_of(relayed), 100)]


def test_it_is_a_source_of_its_own_kind(relayed):
    sent = sent_until(access_of(relayed), relayed.last_seq)
    source = source_of("Ada has moved to Lisbon with her sister Clara.", sent)
    assert source is not None
    assert source.kind == "session"
    assert source_of("Ada likes green tea.", sent) is None


def test_so_is_the_result_of_a_sub_session(relayed):
    item = {"kind": "sub_session_done", "path": "/c/x", "revision": None, "lines": [], "text": WORDS}
    message = relayed.messages.filter(role="user").first()
    Message.objects.filter(pk=message.pk).update(meta={"context": {"sessions": [item]}})
    Message.objects.filter(session=relayed, seq=3).delete()
    source = source_of(
        "Ada has moved to Lisbon with her sister Clara.", sent_until(access_of(relayed), relayed.last_seq)
    )
    assert source is not None
    assert source.kind == "session"


def test_so_is_what_a_schedule_said(ada):
    session = written(ada, "I like green tea.", "Good.")
    tell.say(session, WORDS)
    source = source_of(
        "Ada has moved to Lisbon with her sister Clara.", sent_until(access_of(session), session.last_seq)
    )
    assert source is not None
    assert source.kind == "session"


def test_a_summary_quotes_it_as_anothers(relayed):
    said = spoken(rows_of(relayed))
    (found,) = [each for each in said if WORDS in each.text]
    assert not found.is_persons
