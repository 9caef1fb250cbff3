"""Write the last messages of a conversation that /new or /reset ended into a document: memory/2026-11-21-tea.md."""

import logging
from dataclasses import dataclass

from django.conf import settings
from django.template.loader import get_template
from django.utils.text import slugify

from chat.models import Message
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.access.transcripts import said_while_on
from memory.documents import write as documents
from memory.documents.write import Author, Replace, Source
from memory.files import disk
from memory.files.folders import folder_of
from memory.models import DocumentJob, MemoryDocument
from memory.notes.own_words import parted
from memory.notes.payers import payer_of_notes
from memory.policy import tombstones
from memory.policy.imported import imported_through, title_for_memory
from memory.policy.secrets import masked
from memory.policy.switches import Switch
from memory.trust.rule import Sent
from memory.trust.sources import sent_until
from oneclaw import llm
from oneclaw.llm.failures import BudgetUsedUpError, ModelRequestError
from oneclaw.llm.quoting import quoted, shortened
from oneclaw.llm.structured import STRING, object_schema, text_in
from oneclaw.models import Spend
from oneclaw.reasons import Reason
from oneclaw.spend.calls import Payer

logger = logging.getLogger(__name__)

# Text that is kept of one message, and that the model reads to name the document.
MESSAGE_MAX_CHARS = 16_000
READ_MAX_CHARS = 8_000
# The slug in the document's name.
SLUG_MAX_WORDS = 6
SLUG_MAX_CHARS = 50
ANSWER_MAX_TOKENS = 200
SCHEMA = object_schema(words=STRING)


@dataclass(frozen=True)
class LastMessages:
    """The content of the document, and the slug that follows the day in its name."""

    slug: str
    content: str
    # Whether the conversation holds foreign text.
    is_foreign: bool = False


def is_wanted(access: MemoryAccess) -> bool:
    """Return whether the server and the owner of a conversation want such documents."""
    return settings.LAST_MESSAGES > 0 and access.person is not None and Switch.SAVED in access.on


def compose(job: DocumentJob) -> LastMessages | None:
    """Return the last messages up to the job's `through_seq`, with a slug by the fast model, or the time of day when
    the model fails. None when the person said nothing."""
    session, access = job.session, access_of(job.session)
    words = session.messages.said().without_relayed().filter(active=True)
    fresh = words.filter(seq__gt=imported_through(session), seq__lte=job.through_seq)
    fresh = said_while_on(access, fresh, Switch.SAVED)
    newest = fresh.exclude(text="").order_by("-seq")
    said = list(newest[: settings.LAST_MESSAGES])[::-1]
    if not any(message.role == Message.Role.USER for message in said):
        return None
    local = session.owner.local
    known = tombstones.of_space(job.space_id)
    sent = sent_until(access, job.through_seq)
    lines = [
        f"{local(message.created_at):%H:%M} {_speaker(message)}: "
        + shortened(masked(known.without_forgotten_words(text))[0], MESSAGE_MAX_CHARS, "this message was longer")
        for message in said
        if (text := _own_text(message, sent))
    ]
    if not lines:
        return None
    ended = local(job.created_at)
    title = tombstones.title_without_forgotten(job.space_id, title_for_memory(session))
    head = f"# {title}\n\n*Ended on {ended:%Y-%m-%d at %H:%M}. The last messages:*"
    # The lines are masked by now, so that no secret is in the name of the document.
    slug = _slug("\n\n".join(lines), payer_of_notes(job, Spend.Purpose.LAST_MESSAGES))
    name = f"{ended:%H%M}" if not slug or known.is_in(slug) else slug
    return LastMessages(name, "\n\n".join([head, *lines]) + "\n", is_foreign=bool(sent.foreign))


def write(job: DocumentJob, last: LastMessages | None) -> None:
    """Write a new document under a free path. Idempotent for the same last message."""
    if last is None:
        return
    owner = job.session.owner
    author = Author(
        Source.FLUSH,
        owner,
        reason=Reason("change.last_messages"),
        operation_key=f"last:{job.session_id}:{job.through_seq}",
        is_foreign=last.is_foreign,
    )
    content = tombstones.of_space(job.space_id).without(last.content)
    documents.apply(job.space, free_path(job, last.slug), Replace(content, 0), author)


def free_path(job: DocumentJob, slug: str) -> str:
    """Return a path at which there is neither a document, deleted ones included, nor a file."""
    prefix = f"memory/{job.session.owner.day(job.created_at):%Y-%m-%d}-{slug}"
    taken = set(MemoryDocument.objects.filter(space=job.space, path__startswith=prefix).values_list("path", flat=True))
    number, path = 1, f"{prefix}.md"
    while path in taken or disk.exists(folder_of(job.space), path):
        number += 1
        path = f"{prefix}-{number}.md"
    return path


def _slug(lines: str, payer: Payer) -> str:
    read = quoted("title_for", shortened(lines, READ_MAX_CHARS, "the conversation goes on"))
    request = llm.Request(
        model=settings.FAST_MODEL,
        system=[{"type": "text", "text": get_template("slug_system.txt", using="prompts").render({}).strip()}],
        messages=[{"role": "user", "content": read}],
        max_tokens=ANSWER_MAX_TOKENS,
        thinks=False,
        schema=SCHEMA,
    )
    try:
        answer = text_in(llm.complete_sync(request, payer), "words")
    except BudgetUsedUpError:
        raise
    except ModelRequestError as failure:
        logger.warning("The last messages are named after the time: %s", failure)
        return ""
    words = slugify(answer.strip().split("\n", 1)[0]).split("-")
    return "-".join(words[:SLUG_MAX_WORDS])[:SLUG_MAX_CHARS].strip("-")


def _own_text(message: Message, sent: Sent) -> str:
    """Return what the person typed, or the lines of the assistant's answer that come from no other source."""
    if message.role == Message.Role.USER:
        return message.typed_text
    return parted(message.text, sent).own.strip()


def _speaker(message: Message) -> str:
    return "Person" if message.role == Message.Role.USER else "Assistant"
