"""Tasks: ids in, no logic, safe to run twice."""

import logging
from functools import partial

from celery import Task, shared_task
from django.db import transaction

from chat.models import ChatSession
from memory import errands, flush, projections, vectors, watching
from memory.models import Errand

logger = logging.getLogger(__name__)


def flush_soon(session: ChatSession | None, reason: str) -> None:
    """Queue a flush of the session's unflushed messages, and wake a worker once that is committed."""
    queued = flush.request(session, reason) if session is not None else None
    if queued is not None:
        hint(flush_session, queued.pk)


def keep_last_messages(session: ChatSession) -> None:
    """Queue a file of the session's last messages, as above."""
    queued = errands.request(session, Errand.Kind.LAST_MESSAGES, session.last_complete_seq())
    if queued is not None:
        hint(run_errand, queued.pk)


def hint(task: Task, row_id: int) -> None:
    """Wake a worker for this row, once it is committed. With the broker down nothing is lost: the sweep finds it."""
    transaction.on_commit(partial(send, task, row_id))


def send(task: Task, *arguments: int) -> None:
    try:
        task.apply_async(arguments, retry=False)
    except Exception:
        logger.exception("No worker could be told of %s%s; the sweep finds it.", task.name, arguments)


@shared_task
def flush_session(flush_id: int) -> None:
    following = flush.run(flush_id)
    if following is not None:
        send(flush_session, following)
    elif not flush.due(1):
        # What is of less worth than notes waits until no conversation is without them.
        for errand_id in errands.due():
            send(run_errand, errand_id)


@shared_task
def run_errand(errand_id: int) -> None:
    errands.run(errand_id)


@shared_task
def index_document(document_id: int) -> None:
    projections.index(document_id)


@shared_task
def mirror_document(document_id: int) -> None:
    projections.mirror(document_id)


@shared_task
def scan_folders() -> None:
    watching.scan()


@shared_task
def embed_pending() -> None:
    vectors.embed_pending()


@shared_task
def sweep() -> None:
    """Whatever is due by its row, although nobody was told of it, or whoever was told did not do it."""
    for session in flush.idle():
        flush.request(session, "idle")
    flushes = flush.due()
    for flush_id in flushes:
        send(flush_session, flush_id)
    for errand_id in [] if flushes else errands.due():
        send(run_errand, errand_id)
    to_index, to_mirror = projections.behind()
    for document_id in to_index:
        send(index_document, document_id)
    for document_id in to_mirror:
        send(mirror_document, document_id)
    send(scan_folders)
    send(embed_pending)
