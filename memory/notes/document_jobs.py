"""Run the jobs that write a document about one conversation, exactly once: its last messages, its summary.

job = request(session, DocumentJob.Kind.RECENT, through_seq)    # any number of times
run(job.pk)                                                     # any worker, any number of times
"""

import uuid
from collections.abc import Mapping

from django.db import transaction

from chat.models import ChatSession
from memory.access.decided import MemoryAccess
from memory.access.load import locked_accesses
from memory.documents.write import StaleVersionError
from memory.models import DocumentJob
from memory.notes import last_messages, recent
from oneclaw.jobs import ClaimLostError
from oneclaw.llm import ModelRequestError

# The module of each kind has compose(job), which may call the model, and write(job, content), which runs in the
# transaction that finishes the job.
WRITERS = {DocumentJob.Kind.LAST_MESSAGES: last_messages, DocumentJob.Kind.RECENT: recent}


def request(session: ChatSession, kind: DocumentJob.Kind, through_seq: int) -> DocumentJob | None:
    """Return the open job of this kind, extended to the messages up to `through_seq`; None when no document is
    wanted. Idempotent."""
    return next(iter(request_all({session.pk: through_seq}, kind)), None)


@transaction.atomic
def request_all(through_seqs: Mapping[uuid.UUID, int], kind: DocumentJob.Kind) -> list[DocumentJob]:
    """Return the open jobs of this kind of the sessions in `through_seqs`, each extended to the messages up to its
    number there. Idempotent."""
    locked = locked_accesses(session_id for session_id, through in through_seqs.items() if through)
    kept = {pk: access for pk, access in locked.items() if WRITERS[kind].is_wanted(access)}
    jobs: dict[uuid.UUID, DocumentJob] = {
        job.session_id: job for job in DocumentJob.objects.open().filter(session__in=kept, kind=kind)
    }
    for session_id, job in jobs.items():
        job.through_seq = max(job.through_seq, through_seqs[session_id])
        job.save(update_fields=["through_seq"])
    made = [
        DocumentJob(
            owner=access.session.owner,
            session=access.session,
            space=access.home.space,
            kind=kind,
            through_seq=through_seqs[pk],
        )
        for pk, access in kept.items()
        if pk not in jobs
    ]
    return [*jobs.values(), *DocumentJob.objects.bulk_create(made)]


def request_summary_alone(access: MemoryAccess) -> DocumentJob | None:
    """Request the summary of a conversation that is not flushed because saved memory is off.

    Return None when it is flushed, and when a summary job already covers its messages.
    """
    if access.notes_to:
        return None
    session = access.session
    kind, through_seq = DocumentJob.Kind.RECENT, session.last_complete_seq()
    if session.document_jobs.filter(kind=kind, through_seq__gte=through_seq).exists():
        return None
    return request(session, kind, through_seq)


def run(job_id: int) -> None:
    """Do the job `job_id`, if it is due and no other worker has claimed it.

    An error is stored in the row, and the job becomes due again later.
    """
    job = claim_job(job_id)
    if job is None:
        return
    writer = WRITERS[DocumentJob.Kind(job.kind)]
    # StaleVersionError: another worker has written the document in the meantime.
    with job.attempt(ModelRequestError, StaleVersionError, faults=(Exception,)):
        with job.renewals():
            content = writer.compose(job)
        with transaction.atomic():
            lock_job(job)
            writer.write(job, content)
            finish(job)


@transaction.atomic
def claim_job(job_id: int) -> DocumentJob | None:
    """Claim the document job `job_id`, if it is due, and return it; None when there is nothing to do."""
    job = DocumentJob.objects.due().filter(pk=job_id).first()
    if job is None:
        return None
    session = _wanted_session(job)
    if session is None:
        job.delete()
        return None
    claimed: DocumentJob | None = DocumentJob.objects.claim(job_id)
    if claimed is not None:
        claimed.session = session
    return claimed


def lock_job(job: DocumentJob) -> None:
    """Lock the session and the job until the end of the transaction.

    Raise ClaimLostError when another worker has claimed the job, or when the document is no longer wanted.
    """
    if _wanted_session(job) is None:
        raise ClaimLostError
    job.renew()


def finish(job: DocumentJob) -> None:
    """Finish the job, or queue it again if it was extended to newer messages in the meantime."""
    if DocumentJob.objects.filter(pk=job.pk, through_seq__gt=job.through_seq).exists():
        job.release()
    else:
        job.finish()


def _wanted_session(job: DocumentJob) -> ChatSession | None:
    """Return the job's session under its row lock; None when the document is not to be written."""
    access = locked_accesses([job.session_id]).get(job.session_id)
    return access.session if access and WRITERS[DocumentJob.Kind(job.kind)].is_wanted(access) else None
