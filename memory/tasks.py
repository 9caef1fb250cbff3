"""Define the tasks of memory: ids in, no logic, safe to run twice."""

from celery import shared_task

from chat.models import ChatSession
from memory.files import watch
from memory.files.mirror import try_to_mirror
from memory.forgetting import forget
from memory.index import conversations, vectors
from memory.index.documents import try_to_index
from memory.models import DocumentJob, Flush, MemoryDocument
from memory.notes import document_jobs, flush
from memory.transfer import imports
from oneclaw.tasks import hint, send

# Documents whose index, and whose file, one sweep enqueues at most.
DOCUMENTS_PER_SWEEP = 1000


def flush_soon(session: ChatSession | None, reason: str) -> None:
    """Queue a flush of the session's unflushed messages and what else is kept of it, and wake a worker once that is
    committed."""
    if session is None:
        return
    queued = flush.request(session, reason)
    if queued is not None:
        hint(flush_session, queued.pk)
    elif summary := document_jobs.request_summary_alone(session):
        hint(run_document_job, summary.pk)
    index_id = conversations.request(session)
    if index_id is not None:
        hint(index_transcript, index_id)


def index_after_turn(session: ChatSession) -> None:
    """Queue the session's transcript for the search index, when enough has come; a worker looks a little later."""
    index_id = conversations.after_turn(session)
    if index_id is not None:
        hint(index_transcript, index_id, countdown=conversations.DEBOUNCE)


def index_branch(session: ChatSession) -> None:
    """Queue the session's transcript anew: it holds another branch than the one that is shown."""
    index_id = conversations.after_switch(session)
    if index_id is not None:
        hint(index_transcript, index_id)


def forget_transcript(session: ChatSession) -> None:
    """Take a deleted session out of the search index now, and its vectors soon."""
    space = conversations.forget(session)
    if space is not None:
        hint(prune_vectors, space)


def keep_last_messages(session: ChatSession) -> None:
    """Queue a file of the session's last messages, and wake a worker once that is committed."""
    queued = document_jobs.request(session, DocumentJob.Kind.LAST_MESSAGES, session.last_complete_seq())
    if queued is not None:
        hint(run_document_job, queued.pk)


@shared_task
def flush_session(flush_id: int) -> None:
    following = flush.run(flush_id)
    if following is not None:
        send(flush_session, following)
    elif not Flush.objects.due().exists():
        # Documents are worth less than notes: they wait until no conversation is without notes.
        for job_id in DocumentJob.objects.due_ids():
            send(run_document_job, job_id)


@shared_task
def run_document_job(job_id: int) -> None:
    document_jobs.run(job_id)


@shared_task
def index_document(document_id: int) -> None:
    try_to_index(document_id)


@shared_task
def mirror_document(document_id: int) -> None:
    try_to_mirror(document_id)


@shared_task
def index_transcript(index_id: int) -> None:
    conversations.run(index_id)


@shared_task
def prune_vectors(space_id: int) -> None:
    vectors.prune(space_id)


@shared_task
def scan_folders() -> None:
    watch.scan()


@shared_task
def embed_pending() -> None:
    vectors.embed_pending()


@shared_task
def finish_forgettings() -> None:
    forget.finish_all()


@shared_task
def sweep() -> None:
    """Enqueue what is due by its row, because its task was lost or its worker died."""
    for session in flush.idle():
        flush.request(session, "idle")
    flushes = Flush.objects.due_ids()
    for flush_id in flushes:
        send(flush_session, flush_id)
    for job_id in [] if flushes else DocumentJob.objects.due_ids():
        send(run_document_job, job_id)
    for document_id in MemoryDocument.objects.to_index().first_ids(DOCUMENTS_PER_SWEEP):
        send(index_document, document_id)
    for document_id in MemoryDocument.objects.to_mirror().first_ids(DOCUMENTS_PER_SWEEP):
        send(mirror_document, document_id)
    imports.forget_old()
    for index_id in conversations.due():
        send(index_transcript, index_id)
    send(scan_folders)
    send(embed_pending)
    send(finish_forgettings)
