"""Conversations for tests, written the way the product writes them."""

import datetime as dt
import uuid

from django.utils import timezone

from chat.context.passages import sources_of_prompt
from chat.conversations import transcript
from chat.models import ContextRound, Message, Turn
from chat.rendering.citations import SOURCES_KEY

FINISHED = {"stop_reason": "end_turn", "usage": {"output_tokens": 3}, "model": "m"}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "save_memory", "input": {"content": "x"}}


def send(user, text="Hello", session_id=None, client_id=None):
    return transcript.accept(user, session_id or uuid.uuid4(), client_id or uuid.uuid4(), text)


def settle(accepted, text="Hi", status="complete"):
    return transcript.finish_turn(accepted.turn, accepted.answer, [{"type": "text", "text": text}], status, **FINISHED)


def abandon(turn):
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - dt.timedelta(seconds=1))


def cite(accepted):
    """Let the finished answer cite what was sent with its question, which build_request has found; return a mark."""
    prompt = Message.objects.get(pk=accepted.message.pk)
    sources = sources_of_prompt(prompt)
    Message.objects.filter(pk=accepted.answer.pk).update(meta={SOURCES_KEY: sources})
    return next(iter(sources))


def summarise(session, through_seq, summary="A summary.", used=True, **fields):
    """A round that replaces the messages of `session` up to this one; if `used`, in use."""
    now = timezone.now()
    number = session.context_rounds.count() + 1
    fields = {"kind": "compact", "reason": "threshold", "maker": "model", "status": "done", "used_at": now} | fields
    fields.setdefault("finished_at", now if fields["status"] == "done" else None)
    through = session.messages.get(seq=through_seq)
    made = ContextRound.objects.create(
        owner=session.owner, session=session, number=number, through=through, summary=summary, **fields
    )
    if used:
        session.used_rounds = [number]
        session.save(update_fields=["used_rounds"])
    return made


def without_marks(messages):
    """Return messages of a request without their cache breakpoints."""
    return [
        {**message, "content": [{**block, "cache_control": None} for block in message["content"]]}
        for message in messages
    ]
