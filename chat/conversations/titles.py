"""Titles of conversations: the first words, then one by the fast model, unless the person sets a title, which stays.
Temporary conversations keep a fixed title."""

import datetime as dt
import logging
import uuid
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet
from django.dispatch import receiver
from django.template.loader import get_template

from chat import extensions
from chat.conversations.payers import payer_of
from chat.conversations.shared import people
from chat.models import ChatSession, MemoryChoice, Message
from chat.signals import turn_finished
from oneclaw import llm
from oneclaw.llm.failures import BudgetUsedUpError, ModelRequestError
from oneclaw.llm.quoting import quoted
from oneclaw.llm.structured import STRING, object_schema, text_in
from oneclaw.models import Spend, clock
from oneclaw.tasks import hint
from oneclaw.text import replace_unstorable

logger = logging.getLogger(__name__)

# Limits of what the model reads of each message, and of a title.
READ_MAX_CHARS = 2_000
TITLE_MAX_CHARS = 80
TITLE_MAX_WORDS = 8
ANSWER_MAX_TOKENS = 200
SCHEMA = object_schema(title=STRING)
# Seconds from each failed try to the next one; after the last one, the first words stay.
BACKOFF_SECONDS = (60, 600, 3_600, 21_600, 86_400)
# How many sessions one sweep enqueues at most.
SWEEP_MAX_SESSIONS = 100


@receiver(turn_finished)
def enqueue_naming(session: ChatSession, **_: Any) -> None:
    """Enqueue the naming of `session` after its first answer, unless it has a title by the person.

    Later answers change nothing: a failed try is repeated when its row says so.
    """
    is_named = settings.TITLES and not session.is_temporary and not session.is_read_only
    if is_named and session.title_due_at is None and session.title_tries == 0:
        untitled = _untitled().filter(pk=session.pk, title_due_at=None, title_tries=0)
        if untitled.update(title_due_at=clock.database_now()):
            hint("chat.tasks.name_session", str(session.pk))


def first_words(text: str, max_chars: int = 60) -> str:
    """Return the first line of `text`, cut at a word: the title of a conversation until it is named."""
    line = " ".join(text.strip().split("\n", 1)[0].split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rsplit(" ", 1)[0] + "…"


def due_ids() -> list[uuid.UUID]:
    """Return the sessions for which the model is to be asked for a title now."""
    due = _untitled().filter(title_due_at__lte=clock.database_now()).order_by("title_due_at")
    return list(due.values_list("pk", flat=True)[:SWEEP_MAX_SESSIONS])


def name_session(session_id: uuid.UUID) -> None:
    """Set a title by the model, if one is due. Idempotent.

    When the model fails, the first words stay, and another try is due later.
    """
    session = _claimed(session_id)
    if session is None:
        return
    untitled = _untitled().filter(pk=session_id)
    worded = session.messages.shown().said().exclude(text="")
    if session.memory != MemoryChoice.NONE:
        # A title is found by other conversations; what was said without memory is not.
        worded = worded.exclude(is_apart=True)
    # An answer that was stopped before its first word has none.
    question, reply = (worded.filter(role=role).first() for role in (Message.Role.USER, Message.Role.ASSISTANT))
    if question is None or reply is None or reply.is_running:
        # There is no answer yet: the next one that ends enqueues it again.
        untitled.update(title_due_at=None, title_tries=0)
        return
    try:
        payer = payer_of(session, Spend.Purpose.TITLE)
        answer = llm.complete_sync(title_request([question, reply]), payer)
        # Masked afterwards: a mask may take the end of an object with it.
        title = title_of(extensions.memory().masked(text_in(answer, "title")))
    except BudgetUsedUpError as refusal:
        # This try does not count.
        again = clock.database_now() + dt.timedelta(seconds=refusal.wait_seconds)
        untitled.update(title_tries=F("title_tries") - 1, title_due_at=again)
        return
    except ModelRequestError as failure:
        logger.warning("Conversation %s was not named: %s", session_id, failure)
        return
    if title and untitled.filter(memory=session.memory).update(
        title=title, titled_by=ChatSession.Titled.MODEL, title_due_at=None
    ):
        people.notify_lists(session)


def _untitled() -> QuerySet[ChatSession]:
    """Return the sessions that the model may name."""
    found = ChatSession.objects.filter(titled_by=ChatSession.Titled.NOT_TITLED, deleted_at=None, kind="")
    return found.exclude(mode=ChatSession.Mode.TEMPORARY)


def _claimed(session_id: uuid.UUID) -> ChatSession | None:
    """Return the session if a try is due, and count it as failed until it succeeds; None when nothing is due."""
    now = clock.database_now()
    due = _untitled().filter(pk=session_id, title_due_at__lte=now)
    session = due.first()
    if session is None:
        return None
    tries = session.title_tries
    again = now + dt.timedelta(seconds=BACKOFF_SECONDS[tries]) if tries < len(BACKOFF_SECONDS) else None
    return session if due.filter(title_tries=tries).update(title_tries=tries + 1, title_due_at=again) else None


def title_request(said: list[Message]) -> llm.Request:
    """Return the request to the model for a title of these messages."""
    masked = extensions.memory().masked
    lines = "\n\n".join(f"{message.role}: {masked(message.text[:READ_MAX_CHARS])}" for message in said)
    return llm.Request(
        model=settings.FAST_MODEL,
        system=[{"type": "text", "text": get_template("title_system.txt", using="prompts").render({}).strip()}],
        messages=[{"role": "user", "content": quoted("name_for", lines)}],
        max_tokens=ANSWER_MAX_TOKENS,
        thinks=False,
        schema=SCHEMA,
    )


def title_of(text: str) -> str:
    """Return the title in the model's `text`: its first line without quotation marks, cut to the limits. Pure."""
    line = next((line for line in replace_unstorable(text).splitlines() if line.strip(" \t#*_`\"“”'.")), "")
    words = " ".join(line.strip(" \t#*_`\"“”'.").split()[:TITLE_MAX_WORDS])
    return words if len(words) <= TITLE_MAX_CHARS else words[: TITLE_MAX_CHARS - 1].rstrip() + "…"
