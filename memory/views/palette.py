"""Search memory for the palette: lines that hold every word, without embeddings."""

from django.db.models import Case, Value, When
from django.urls import reverse

from chat.extensions import SearchResult
from chat.library.excerpts import UNSPACED, excerpt
from memory.models import MemoryChunk, MemoryDocument
from memory.policy.paths import CURATED
from oneclaw.models import User

# Documents that are searched: curated memory first, then the newest.
SEARCHED_MAX_DOCUMENTS = 1000


def search(user: User, words: list[str], most: int) -> list[SearchResult]:
    """Return at most `most` lines that contain each of `words` as the start of a word, from documents of `user`.

    Curated memory comes first, then the documents that were changed last. This takes one query and no model call.
    """
    searched = MemoryDocument.objects.visible_to(user).present().order_by(curated_first(), "-updated_at")
    lines = MemoryChunk.objects.filter(document__in=searched.values("pk")[:SEARCHED_MAX_DOCUMENTS])
    for word in words:
        # A word consists of letters, digits and underscores, so it needs no escaping in a pattern.
        lines = lines.filter(text__icontains=word) if UNSPACED.search(word) else lines.filter(text__iregex=rf"\m{word}")
    found = lines.select_related("document__space").order_by(
        curated_first("document__"), "-document__updated_at", "ordinal"
    )
    return [
        SearchResult(
            name_of(line.document),
            excerpt(line.text, words),
            f"{reverse('memory_document', args=[line.document_id])}#line-{line.start_line}",
        )
        for line in found.only(
            "start_line", "text", "document__path", "document__space__name", "document__space__kind"
        )[:most]
    ]


def name_of(document: MemoryDocument) -> str:
    """Return the path of a document, with the name of the space before it if that is a shared one."""
    return document.path if document.space.is_private else f"{document.space.name}: {document.path}"


def curated_first(prefix: str = "") -> Case:
    """Return an expression that sorts curated memory before everything else."""
    return Case(When(**{f"{prefix}path": CURATED}, then=Value(0)), default=Value(1))
