"""A model that summarises when chat/compaction asks it to, and otherwise says a few words."""

from django.db.models.functions import Now

from chat.compaction import make
from chat.compaction.checks import HEADINGS
from chat.models import ContextRound
from memory.index import conversations
from memory.models import Flush, TranscriptIndex
from memory.notes import flush
from oneclaw.demo.scripted import answer, text

SUMMARY_BEGINNING = "You write the summary with which"


def is_summary(body):
    """Return whether the body of a request asks for a summary of a conversation: the fast model, or the model's own
    server."""
    if body.get("compaction"):
        return True
    system = body.get("system") or [{"text": ""}]
    return system[0]["text"].startswith(SUMMARY_BEGINNING)


def summary(*facts):
    """Return a summary with all headings and these lines."""
    lines = "\n".join(f"- {fact}" for fact in facts or ["Nothing else."])
    return "\n\n".join(f"## {heading}\n{lines if heading == HEADINGS[2] else '-'}" for heading in HEADINGS)


def replying(words="Fine."):
    """Return a responder that summarises where it is asked to, and otherwise answers `words`."""

    def reply(body):
        return answer(text(summary("They talked."))) if is_summary(body) else answer(words)

    return reply


def make_rounds(session_id):
    """Do what workers do for the open rounds of a conversation: note and index what they replace, and make them."""
    for each in ContextRound.objects.open().filter(session=session_id):
        make.run(each.pk)
        for flush_id in Flush.objects.queued().filter(session=session_id).values_list("pk", flat=True):
            flush.run(flush_id)
        for index_id in TranscriptIndex.objects.filter(session=session_id).values_list("pk", flat=True):
            conversations.run(index_id)
        ContextRound.objects.queued().filter(pk=each.pk).update(due_at=Now())
        make.run(each.pk)
