"""The last messages of a conversation that /new or /reset ended, in a file of their own: memory/2026-11-21-tea.md."""

import logging
from dataclasses import dataclass

from django.conf import settings
from django.template.loader import get_template
from django.utils.text import slugify

from chat.models import ChatSession, Message
from memory.documents import write as documents
from memory.documents.write import Author, Replace, Source
from memory.files import disk
from memory.files.mirror import folder_of
from memory.models import Errand, MemoryDocument
from memory.notes.claims import imported_through
from memory.policy import secrets, switches, tombstones
from oneclaw import llm
from oneclaw.llm.failures import ModelFailure
from oneclaw.llm.quoting import quoted, shortened
from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)

# Characters of one message that are kept, and of what the model reads to name the file.
LONGEST_MESSAGE = 16_000
LONGEST_READ = 8_000
# Words and characters of a file's name.
SLUG_WORDS = 6
LONGEST_SLUG = 50


@dataclass(frozen=True)
class LastMessages:
    """What stands in the file, and what the file is called after the day; None when nothing was said."""

    slug: str
    content: str


def is_wanted(session: ChatSession) -> bool:
    return settings.LAST_MESSAGES > 0 and switches.is_on(session.owner, switches.Switch.SAVED)


def compose(errand: Errand) -> LastMessages | None:
    """The last messages up to the errand's, and a slug by the fast model, or the time when it cannot be had."""
    session = errand.session
    words = session.messages.filter(active=True, role__in=[Message.Role.USER, Message.Role.ASSISTANT])
    fresh = words.filter(seq__gt=imported_through(session), seq__lte=errand.through_seq)
    fresh = switches.said_while_on(fresh, session.owner, switches.Switch.SAVED)
    newest = fresh.exclude(text="").order_by("-seq")
    said = list(newest[: settings.LAST_MESSAGES])[::-1]
    if not any(message.role == Message.Role.USER for message in said):
        return None
    local = session.owner.local
    known = tombstones.of_space(errand.space_id)
    lines = [
        f"{local(message.created_at):%H:%M} {_speaker(message)}: "
        + shortened(known.unsaid(message.text.strip()), LONGEST_MESSAGE, "this message was longer")
        for message in said
    ]
    ended = local(errand.created_at)
    title = tombstones.named(errand.space_id, session.name)
    head = f"# {title}\n\n*Ended on {ended:%Y-%m-%d at %H:%M}. The last messages:*"
    content, _ = secrets.masked("\n\n".join([head, *lines]) + "\n")
    slug = _slug("\n\n".join(lines))
    return LastMessages(f"{ended:%H%M}" if not slug or known.is_in(slug) else slug, content)


def write(errand: Errand, composed: LastMessages | None) -> None:
    """Into a new file, whatever else is called like it. Once for the same last message."""
    if composed is None:
        return
    owner = errand.session.owner
    author = Author(
        Source.FLUSH,
        owner,
        reason=Reason("change.last_messages"),
        operation_key=f"last:{errand.session_id}:{errand.through_seq}",
    )
    content = tombstones.of_space(errand.space_id).without(composed.content)
    documents.apply(errand.space, free_path(errand, composed.slug), Replace(content, 0), author)


def free_path(errand: Errand, slug: str) -> str:
    """A path at which there is neither a document, deleted ones included, nor a file."""
    beginning = f"memory/{errand.session.owner.day(errand.created_at):%Y-%m-%d}-{slug}"
    taken = set(
        MemoryDocument.objects.filter(space=errand.space, path__startswith=beginning).values_list("path", flat=True)
    )
    number, path = 1, f"{beginning}.md"
    while path in taken or disk.exists(folder_of(errand.space), path):
        number += 1
        path = f"{beginning}-{number}.md"
    return path


def _slug(lines: str) -> str:
    read = quoted("title_for", shortened(lines, LONGEST_READ, "the conversation goes on"))
    request = llm.Request(
        model=settings.FAST_MODEL,
        system=[{"type": "text", "text": get_template("slug_system.txt", using="prompts").render({}).strip()}],
        messages=[{"role": "user", "content": read}],
        max_tokens=60,
    )
    try:
        answer = llm.complete_sync(request)
    except ModelFailure as failure:
        logger.warning("The last messages are named after the time: %s", failure)
        return ""
    words = slugify(answer.strip().split("\n", 1)[0]).split("-")
    return "-".join(words[:SLUG_WORDS])[:LONGEST_SLUG].strip("-")


def _speaker(message: Message) -> str:
    return "Person" if message.role == Message.Role.USER else "Assistant"
