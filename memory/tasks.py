"""Define the tasks of memory. They take ids, contain no logic, and are idempotent."""

from collections.abc import Sequence

from celery import shared_task
from django.db import transaction

from chat.models import ChatSession
from memory.access.load import locked_accesses
from memory.files import watch
from memory.files.mirror import try_to_mirror
from memory.forgetting import forget, retention
from memory.index import conversations, vectors
from memory.index.documents import try_to_index
from memory.lab import golden
from memory.library import files as library_files
from memory.library import reading as library_reading
from memory.library import retention as library_retention
from memory.library import vectors as library_vectors
from memory.models import Comparison, DocumentJob, FileVersion, Flush, MemoryDocument
from memory.notes import document_jobs, flush
from memory.overview import entries, grouping
from memory.tools import comparisons, reviews
from memory.transfer import imports
from oneclaw.jobs import DueJob
from oneclaw.models import User
from oneclaw.tasks import hint, job_task, send, sweep_jobs

# How many documents one sweep enqueues at most for their index, and as many for their file.
SWEEP_MAX_DOCUMENTS = 1000


def flush_soon(session: ChatSession | None, reason: str) -> None:
    """Enqueue a flush of the session's unflushed messages, its summary and its index, on commit.

    `reason` is the trigger (Flush.reason). Without a session nothing happens.
    """
    if session is not None:
        remember_soon([session], reason)


@transaction.atomic
def remember_soon(sessions: Sequence[ChatSession], reason: str, *, with_last_messages: bool = False) -> None:
    """Enqueue for each of `sessions` what flush_soon does and, with `with_last_messages`, the document with its last
    messages, on commit. All or nothing. The number of statements does not grow with that of the sessions."""
    accesses = locked_accesses(session.pk for session in sessions)
    queued = flush.request_all(accesses, reason)
    for pk, access in accesses.items():
        if pk in queued:
            hint(flush_session, queued[pk].pk)
        elif summary := document_jobs.request_summary_alone(access):
            hint(run_document_job, summary.pk)
    for index_id in conversations.request_all(accesses.values()):
        hint(index_transcript, index_id)
    if with_last_messages:
        keep_last_messages(sessions)


def flush_after_turn(session: ChatSession) -> None:
    """Enqueue the flush that has waited for the end of the session's answer, if there is one."""
    hint(flush_session, session.flushes.due().queued().values_list("pk", flat=True).first())


def index_after_turn(session: ChatSession) -> None:
    """Enqueue the index of the session's transcript, after a debounce, if there is enough new text."""
    hint(index_transcript, conversations.after_turn(session), countdown=conversations.DEBOUNCE_SECONDS)


def index_branch(session: ChatSession) -> None:
    """Enqueue the index of the session's transcript, because another branch is shown now."""
    hint(index_transcript, conversations.after_switch(session))


def forget_transcript(session: ChatSession) -> None:
    """Delete the index of a deleted session now, and enqueue the deletion of its vectors."""
    hint(prune_vectors, conversations.forget(session))


def move_transcript(session: ChatSession) -> None:
    """Delete the index of a session that was shared or made private now, and enqueue what follows: its index in the
    space to which it belongs, and the deletion of the vectors in the other."""
    hint(prune_vectors, conversations.moved(session))
    hint(index_transcript, conversations.request(session))


def keep_last_messages(sessions: Sequence[ChatSession]) -> None:
    """Enqueue the documents with the last messages of `sessions`, on commit."""
    through = ChatSession.objects.filter(pk__in=[session.pk for session in sessions]).last_complete_seqs()
    for queued in document_jobs.request_all(through, DocumentJob.Kind.LAST_MESSAGES):
        hint(run_document_job, queued.pk)


def ask_reviews_soon(user: User) -> None:
    """Enqueue the questions whether lines of the person's memory are still true."""
    hint(ask_reviews, user.pk)


@shared_task
def run_golden_questions() -> None:
    golden.run_after_change()


@shared_task
def compile_overview(document_id: int) -> None:
    entries.compile_overview(document_id)


@shared_task
def group_entries(document_id: int) -> None:
    grouping.group(document_id)


def _flush(flush_id: int) -> DueJob | None:
    following = flush.run(flush_id)
    if following is None:
        # They have waited until no flush is due.
        for job_id in DocumentJob.objects.to_send():
            send(DocumentJob.TASK, job_id)
    return following


flush_session = job_task(Flush, _flush)
run_document_job = job_task(DocumentJob, document_jobs.run)
compare_saved_line = job_task(Comparison, comparisons.run)
read_library_file = job_task(FileVersion, library_reading.run)


@shared_task
def ask_reviews(user_id: int) -> None:
    reviews.ask(User.objects.get(pk=user_id))


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
def index_transcript_and_next(index_id: int) -> None:
    # The last one of a whole batch, as after an import: what is due after it does not wait for the next sweep.
    if conversations.run(index_id):
        _send_due_transcripts()


def _send_due_transcripts() -> None:
    """Enqueue the transcripts that are due, of many a batch, which makes no other task wait for long."""
    due = conversations.due()
    for index_id in due[:-1]:
        send(index_transcript, index_id)
    for index_id in due[-1:]:
        send(index_transcript_and_next if len(due) == conversations.DUE_MAX_COUNT else index_transcript, index_id)


@shared_task
def prune_vectors(space_id: int) -> None:
    vectors.prune(space_id)


@shared_task
def scan_folders() -> None:
    watch.scan_all()


@shared_task
def embed_pending() -> None:
    vectors.embed_pending()


@shared_task
def purge() -> None:
    retention.sweep_by_age()
    library_retention.sweep_by_age()


@shared_task
def finish_forgettings() -> None:
    forget.finish_all()


@shared_task
def prune_library(space_id: int) -> None:
    # For hints that processes of the previous release send during an upgrade.
    library_vectors.prune(space_id)


@shared_task
def sweep_library() -> None:
    library_files.sweep()
    library_vectors.prune_left()
    library_reading.rebuild()
    library_vectors.embed_pending()


@shared_task
def sweep() -> None:
    """Enqueue all jobs that are due by their rows, because a task was lost or a worker died."""
    for session in flush.idle():
        flush.request(session, "idle")
    sweep_jobs("memory")
    for document_id in MemoryDocument.objects.to_index().first_ids(SWEEP_MAX_DOCUMENTS):
        send(index_document, document_id)
    for document_id in MemoryDocument.objects.to_mirror().first_ids(SWEEP_MAX_DOCUMENTS):
        send(mirror_document, document_id)
    imports.delete_expired()
    _send_due_transcripts()
    send(scan_folders)
    send(embed_pending)
    send(run_golden_questions)
    send(finish_forgettings)
