"""A fork is sent the summaries of its source."""

import pytest
from django.core.management import call_command

from chat.context.prompt import build_request
from chat.conversations import forking, transcript
from chat.models import ChatSession
from tests.conversations import send, without_marks
from tests.summaries import conversation, summarised

pytestmark = pytest.mark.django_db


@pytest.fixture
def first(ada):
    return summarised(conversation(ada))


def test_a_fork_is_sent_the_summary_of_its_source(ada, first):
    session = ChatSession.objects.get(pk=first.session_id)
    before = send(ada, "And now?", session.pk)
    sent = build_request(before.turn)
    transcript.finish_turn(before.turn, before.answer, [{"type": "text", "text": "Yes."}], "complete")
    fork = forking.fork(ada, before.answer.pk)
    [copied] = fork.context_rounds.all()
    assert (copied.through.session_id, copied.through.seq) == (fork.pk, first.through.seq)
    after = send(ada, "And then?", fork.pk)
    assert without_marks(build_request(after.turn).messages)[: len(sent.messages) - 1] == without_marks(
        sent.messages[:-1]
    )
    assert first.text == sent.messages[0]["content"][0]["text"]
    call_command("check_invariants")


def test_a_fork_from_before_a_summary_ends_has_none(ada, first):
    session = ChatSession.objects.get(pk=first.session_id)
    fork = forking.fork(ada, session.messages.get(seq=1).pk)
    assert not fork.context_rounds.exists()
