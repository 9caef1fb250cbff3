"""Report what memory still has to do, for one person or for all, and do it in this process."""

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from django.utils import timezone

from chat.models import ChatSession
from memory.index.documents import index_document
from memory.index.embeddings.failures import EmbeddingError
from memory.index.vectors import embed_document
from memory.index.vectors import state as index_state
from memory.models import DocumentJob, Flush, MemoryDocument, MemoryDocumentQuerySet
from memory.notes import flush
from oneclaw.models import Space, User

logger = logging.getLogger(__name__)

# Between two polls of a flush that another worker has claimed.
POLL_SECONDS = 0.2


def status(user: User | None, deep: bool = False, space: Space | None = None) -> dict[str, Any]:
    """Return the counts of documents, flushes and jobs of `space`, of `user`, or of all people; with `deep` also of the
    index."""
    documents = documents_of(user, space)
    flushes = _of(Flush.objects.all(), user, space)
    waiting = flushes.open().order_by("created_at")
    oldest = waiting.first()
    other = _of(DocumentJob.objects.all(), user, space).open()
    return {
        "user": user.email if user else None,
        "space": space.name if space else None,
        "documents": documents.present().count(),
        "to_index": documents.to_index().count(),
        "to_mirror": documents.to_mirror().count(),
        "flushes": {
            "queued": flushes.queued().count(),
            "running": flushes.running().count(),
            "lag_seconds": round((timezone.now() - oldest.created_at).total_seconds()) if oldest else 0,
            "not_summarised": flushes.filter(summarised=False).count(),
            "failing": waiting.exclude(error="").count(),
            # Conversations that were left idle, which the next sweep queues.
            "idle": sum(
                (space is None or each.space_id == space.pk) and (user is None or each.owner_id == user.pk)
                for each in flush.idle()
            ),
            "errors": sorted(set(waiting.exclude(error="").values_list("error", flat=True)))[:10],
        },
        "errands": {"waiting": other.count(), "failing": other.exclude(error="").count()},
        **({"index": index_state(documents)} if deep else {}),
    }


def in_words(status: dict[str, Any]) -> list[str]:
    """Return the result of status() as sentences."""
    flushes = status["flushes"]
    return [
        f"Memory of {status['space'] or status['user'] or 'everybody'}: {status['documents']} documents.",
        f"Behind: {status['to_index']} in the index, {status['to_mirror']} files.",
        f"Conversations to note: {flushes['idle']} idle, {flushes['queued']} queued, {flushes['running']} running, "
        f"{flushes['failing']} failing; the oldest waits for {flushes['lag_seconds']} s. "
        f"{flushes['not_summarised']} were noted without a summary.",
        f"Titles and last messages to write: {status['errands']['waiting']}, {status['errands']['failing']} failing.",
        *flushes["errors"],
        *(f"Index, {name}: {value}" for name, value in status.get("index", {}).items() if value != ""),
    ]


class Indexed(NamedTuple):
    """The number of indexed documents, how many of them wait for their vectors, and the paths that failed."""

    documents: int
    waiting: int
    failed: list[str]

    def in_words(self) -> list[str]:
        """Return the counts in sentences."""
        wait = "1 document waits for its" if self.waiting == 1 else f"{self.waiting} documents wait for their"
        return [f"{self.documents} documents are indexed.", *([f"{wait} vectors."] if self.waiting else [])]


def index_all(
    user: User | None,
    space: Space | None = None,
    *,
    force: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Indexed:
    """Bring the index and the vectors of `space`, of `user`, or of all people, up to date.

    `force` indexes unchanged documents again; `progress` is called with (done, total) after each document.
    """
    ids = list(documents_of(user, space).order_by("pk").values_list("pk", "path"))
    waiting, failed = 0, []
    for number, (document_id, path) in enumerate(ids, 1):
        try:
            index_document(document_id, force=force)
            embed_document(document_id)
        except EmbeddingError:
            # The text is indexed; the sweep requests the vectors again.
            waiting += 1
        except Exception:
            logger.exception("Document %s could not be indexed.", document_id)
            failed.append(path)
        progress(number, len(ids))
    return Indexed(len(ids) - len(failed), waiting, failed)


def finish_flushes(session: ChatSession) -> None:
    """Run the flushes of `session` that are due, and wait for those that other workers have claimed."""
    while True:
        due = session.flushes.due_ids()
        if session.flushes.running().exclude(pk__in=due).exists():
            time.sleep(POLL_SECONDS)
        elif due:
            flush.run(due[0])
        else:
            return


def flushes_since(first: int, sessions: Iterable[ChatSession]) -> list[dict[str, Any]]:
    """Return the state of the flushes of `sessions` with an id of at least `first`. An empty flush leaves no row."""
    rows = Flush.objects.filter(pk__gte=first, session__in=list(sessions)).order_by("pk")
    return [
        {
            "id": row.pk,
            "session": str(row.session_id),
            "status": row.status,
            "day": row.day.isoformat() if row.day else None,
            "after": row.after_seq,
            "through": row.through_seq,
            "error": row.error,
        }
        for row in rows
    ]


def documents_of(user: User | None, space: Space | None = None) -> MemoryDocumentQuerySet:
    """Return the documents of `space`, or of the own space of `user`; all documents when both are None."""
    documents: MemoryDocumentQuerySet = MemoryDocument.objects.all()
    if space is not None:
        return documents.filter(space=space)
    return documents.filter(space=Space.objects.own_of(user)) if user else documents


def _of(jobs: Any, user: User | None, space: Space | None) -> Any:
    """Return those of `jobs` that write into `space`, or are of `user`; all when both are None."""
    if space is not None:
        return jobs.filter(space=space)
    return jobs.visible_to(user) if user else jobs
