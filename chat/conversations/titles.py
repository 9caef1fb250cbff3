"""Titles of conversations: the first words, then one by the fast model, unless the person sets a title, which stays.
Temporary conversations keep a fixed title."""

import logging
import uuid
from typing import Any

from django.conf import settings
from django.dispatch import receiver
from django.template.loader import get_template

from chat.models import ChatSession, Message
from chat.signals import turn_finished
from oneclaw import llm, pubsub
from oneclaw.llm.failures import ModelRequestError
from oneclaw.llm.quoting import quoted
from oneclaw.tasks import hint
from oneclaw.text import replace_unstorable

logger = logging.getLogger(__name__)

# Limits of what the model reads of each message, and of a title.
READ_MAX_CHARS = 2_000
TITLE_MAX_CHARS = 80
TITLE_MAX_WORDS = 8


@receiver(turn_finished)
def enqueue_naming(session: ChatSession, **_: Any) -> None:
    """Enqueue the naming of `session`, if it has no title by the model or the person yet."""
    if settings.TITLES and not session.is_temporary and session.titled_by == ChatSession.Titled.NOT_TITLED:
        hint("chat.tasks.name_session", str(session.pk))


def name_session(session_id: uuid.UUID) -> None:
    """Set a title by the model, unless the conversation has one meanwhile.

    When the model fails, the first words stay, and the next answer tries again.
    """
    unnamed = ChatSession.objects.filter(pk=session_id, titled_by=ChatSession.Titled.NOT_TITLED, deleted_at=None)
    unnamed = unnamed.exclude(mode=ChatSession.Mode.TEMPORARY)
    session = unnamed.first()
    if session is None:
        return
    said = list(session.messages.shown().said().exclude(text="")[:2])
    if [message.role for message in said] != [Message.Role.USER, Message.Role.ASSISTANT] or said[1].is_running:
        return
    try:
        title = title_of(llm.complete_sync(title_request(said)))
    except ModelRequestError as failure:
        logger.warning("Conversation %s was not named: %s", session_id, failure)
        return
    if title and unnamed.update(title=title, titled_by=ChatSession.Titled.MODEL):
        pubsub.notify(f"user:{session.owner_id}", {"kind": "sessions"})


def title_request(said: list[Message]) -> llm.Request:
    """Return the request to the model for a title of these messages."""
    lines = "\n\n".join(f"{message.role}: {message.text[:READ_MAX_CHARS]}" for message in said)
    return llm.Request(
        model=settings.FAST_MODEL,
        system=[{"type": "text", "text": get_template("title_system.txt", using="prompts").render({}).strip()}],
        messages=[{"role": "user", "content": quoted("name_for", lines)}],
        max_tokens=60,
    )


def title_of(answer: str) -> str:
    """Return the title in the model's `answer`: its first line without quotation marks, cut to the limits. Pure."""
    line = next((line for line in replace_unstorable(answer).splitlines() if line.strip(" \t#*_`\"“”'.")), "")
    words = " ".join(line.strip(" \t#*_`\"“”'.").split()[:TITLE_MAX_WORDS])
    return words if len(words) <= TITLE_MAX_CHARS else words[: TITLE_MAX_CHARS - 1].rstrip() + "…"
