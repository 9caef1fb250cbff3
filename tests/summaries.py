"""A model that summarises when chat/compaction asks it to, and otherwise says a few words."""

from django.db.models.functions import Now
from django.utils import timezone

from chat.compaction import make, planning
from chat.compaction.checks import HEADINGS
from chat.context.prompt import build_request
from chat.conversations import transcript
from chat.models import ChatSession, ContextRound
from memory.index import conversations
from memory.models import Flush, TranscriptIndex
from memory.notes import flush
from tests.conversations import FINISHED, send
from tests.scripted import answer, text

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


# About 300 tokens.
LONG = "Tell me more about the ferries between the islands, and which of them leave in the evening. " * 12


def conversation(user, turns=4):
    """Return a conversation of `turns` long turns, the first of which names two things."""
    session_id = None
    for number in range(turns):
        accepted = send(user, f"{number}. My ticket is AB-123 of 2026-11-21. {LONG}", session_id)
        build_request(accepted.turn)
        usage = {"input_tokens": 8_000 + 600 * number, "output_tokens": 300}
        content = [{"type": "text", "text": f"Answer {number}. {LONG}"}]
        ended = FINISHED | {"usage": usage, "model": "claude-sonnet-5-5"}
        transcript.finish_turn(accepted.turn, accepted.answer, content, "complete", **ended)
        session_id = accepted.message.session_id
    return ChatSession.objects.select_related("agent", "owner", "head").get(pk=session_id)


def summarised(session, *, used=True):
    """Return a finished round of the conversation, which the person has asked for: an extract, which needs no model."""
    asked = planning.ask(session)
    make.extract_now(asked.pk)
    if used:
        after = {"used_at": timezone.now(), "used_after_seq": session.last_seq}
        ContextRound.objects.filter(pk=asked.pk).update(**after)
    return ContextRound.objects.select_related("through").get(pk=asked.pk)


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
