"""What of memory the search of the chat shows: lines that hold every word, found by the words alone."""

from django.db.models import Case, QuerySet, Value, When
from django.urls import reverse

from chat.library.providers import FoundElsewhere
from chat.library.search import UNSPACED, snippet
from memory.models import MemoryChunk, MemoryDocument
from memory.policy.paths import CURATED
from oneclaw.models import User

# Documents that are looked at: the curated ones, and the newest.
LOOKED_AT = 1000


def glimpses(user: User, words: list[str], most: int) -> list[FoundElsewhere]:
    """Lines of the documents that the person may read, each word as a word's beginning: curated memory first, then what
    was written last. One query, and no model is asked."""
    lines = MemoryChunk.objects.filter(document__in=looked_at(user).values("pk")[:LOOKED_AT])
    for word in words:
        # A word is nothing but letters, digits and underscores: none means something in a pattern.
        lines = lines.filter(text__icontains=word) if UNSPACED.search(word) else lines.filter(text__iregex=rf"\m{word}")
    found = lines.select_related("document").order_by(curated_first("document__"), "-document__updated_at", "ordinal")
    return [
        FoundElsewhere(
            line.document.path,
            snippet(line.text, words),
            f"{reverse('memory_document', args=[line.document_id])}#line-{line.start_line}",
        )
        for line in found.only("start_line", "text", "document__path")[:most]
    ]


def looked_at(user: User) -> QuerySet[MemoryDocument]:
    present = MemoryDocument.objects.visible_to(user).present()
    return present.order_by(curated_first(), "-updated_at")


def curated_first(prefix: str = "") -> Case:
    return Case(When(**{f"{prefix}path": CURATED}, then=Value(0)), default=Value(1))
