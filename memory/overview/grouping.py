"""Ask the fast model which topic each entry of a document is about; until it answers, the local choice is shown."""

import datetime as dt
import logging
import re

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.template.loader import get_template
from django.utils import timezone

from memory.models import DocumentOverview, MemoryDocument, Topic
from memory.overview.entries import Entry, compile_newest, entries_of
from oneclaw import llm
from oneclaw.llm.quoting import quoted
from oneclaw.models import Spend, clock
from oneclaw.spend.calls import Payer
from oneclaw.tasks import hint

# Entries that one request asks about, and the part of each that is sent.
ASKED_ENTRIES, ASKED_ENTRY_MAX_CHARS = 60, 200
# Entries that one task asks about; the next visit of the page continues.
TASK_MAX_ENTRIES = 600
ANSWER_MAX_TOKENS = 1000
# How long a document is not asked about again, whatever came of it.
ASK_INTERVAL = dt.timedelta(minutes=10)
ANSWER = re.compile(r"(?<!\d)(\d{1,9})\s{0,9}[.:)-]\s{0,9}([a-z]+)")
logger = logging.getLogger(__name__)


def group_soon(overview: DocumentOverview) -> None:
    """Enqueue a request about the document of `overview`, if some entry has no topic by the model, the model is no
    demo, and the last request was ASK_INTERVAL ago. A task that is lost is enqueued again by a later visit."""
    if llm.is_demo() or overview.is_grouped:
        return
    # By this process's clock, to save a statement; the database decides.
    if overview.asked_at is not None and timezone.now() - overview.asked_at < ASK_INTERVAL:
        return
    now = clock.database_now()
    is_due = Q(asked_at=None) | Q(asked_at__lt=now - ASK_INTERVAL)
    if DocumentOverview.objects.filter(is_due, pk=overview.pk).update(asked_at=now):
        hint("memory.tasks.group_entries", overview.pk)


def group(document_id: int) -> int:
    """Ask the fast model about the entries of the document that have no topic by it; return how many got one.

    A failure of the model is logged: the local topics stay, and a later visit asks again.
    """
    document = MemoryDocument.objects.present().filter(pk=document_id).select_related("space").first()
    if document is None:
        return 0
    entries = [entry for entry in entries_of(document) if not entry.is_by_model][-TASK_MAX_ENTRIES:]
    chosen: dict[int, Topic] = {}
    try:
        for start in range(0, len(entries), ASKED_ENTRIES):
            chosen |= _asked(document, entries[start : start + ASKED_ENTRIES])
    except llm.ModelRequestError as failure:
        logger.info("The topics of document %d were not asked to the end: %s", document_id, failure)
    return _store(document, chosen)


def _asked(document: MemoryDocument, entries: list[Entry]) -> dict[int, Topic]:
    """Return the topic that the model chose for each of `entries`, by its first line."""
    lines = document.content.split("\n")
    texts = [" ".join(" ".join(lines[entry.line - 1 : entry.last_line]).split()) for entry in entries]
    numbered = "\n".join(f"{number}. {text[:ASKED_ENTRY_MAX_CHARS]}" for number, text in enumerate(texts, 1))
    topics = [topic.name.lower() for topic in Topic]
    request = llm.Request(
        model=settings.FAST_MODEL,
        system=[{"type": "text", "text": get_template("topics.txt", using="prompts").render({}).strip()}],
        messages=[{"role": "user", "content": quoted("entries", numbered)}],
        max_tokens=ANSWER_MAX_TOKENS,
        thinks=False,
    )
    payer = Payer(Spend.Purpose.TOPICS, document.space.owner_id, space_id=document.space_id)
    found = {}
    for number, name in ANSWER.findall(llm.complete_sync(request, payer).lower()):
        if 1 <= int(number) <= len(entries) and name in topics:
            found[entries[int(number) - 1].line] = Topic[name.upper()]
    return found


def _store(document: MemoryDocument, chosen: dict[int, Topic]) -> int:
    """Store the topics of `document`, unless it was changed meanwhile; return how many."""
    with transaction.atomic():
        rows = DocumentOverview.objects.filter(document=document, version=document.version)
        overview = rows.select_for_update().first()
        if overview is None:
            return 0
        for line, topic in chosen.items():
            overview.topics[line - 1] = topic + DocumentOverview.BY_MODEL
        compile_newest(overview)
        overview.save(update_fields=["topics", "newest", "is_grouped"])
    return len(chosen)
