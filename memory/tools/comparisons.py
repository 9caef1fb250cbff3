"""Compare a saved line with older ones, in a worker, after the model has the result of its call.

request(revision)           # in the transaction that saves the line, any number of times
run(comparison.pk)          # any worker, any number of times
"""

from django.conf import settings
from django.db import transaction

from chat.conversations.message_pages import notify_updated
from chat.models import Message
from memory.models import Comparison, MemoryRevision
from memory.prompt.recall import SEARCH_ERRORS
from memory.tools import contradictions, decisions
from oneclaw.jobs import DueJob
from oneclaw.llm.failures import ModelRequestError
from oneclaw.models import Spend
from oneclaw.spend.calls import Payer
from oneclaw.tasks import hint

# From the save to the comparison, and until the next look at a call whose round is not stored yet: before, it has no
# card that could change.
CALL_WAIT_SECONDS = 1.0


def request(revision: MemoryRevision) -> None:
    """Queue the comparison of the line that `revision` saved with older ones, and enqueue it on commit. Idempotent."""
    if settings.CONTRADICTIONS and revision.author is not None:
        job, is_new = Comparison.objects.get_or_create(revision=revision, defaults={"owner": revision.author})
        hint(Comparison.TASK, job.pk if is_new else None, countdown=CALL_WAIT_SECONDS)


def run(comparison_id: int) -> DueJob | None:
    """Do the comparison, if it is due and no other worker has claimed it, and ask the person about what it finds.

    Return it when it is due again, because its tool call is still running. A failure is stored in the
    row, and the comparison becomes due again later, Comparison.MAX_ATTEMPTS times at most.
    """
    job: Comparison | None = Comparison.objects.claim(comparison_id)
    if job is None:
        return None
    if job.attempts > Comparison.MAX_ATTEMPTS:
        # Every try ended without storing its failure, such as with its process.
        job.finish(Comparison.Status.FAILED, "The last try did not end.")
        return None
    with job.attempt(ModelRequestError, faults=SEARCH_ERRORS):
        if _is_call_running(job):
            job.release(CALL_WAIT_SECONDS)
            return DueJob(comparison_id, CALL_WAIT_SECONDS)
        _compare(job)
    return None


def _is_call_running(job: Comparison) -> bool:
    """Return whether the result of the call that saved the line is not stored yet."""
    running = Message.objects.filter(role=Message.Role.TOOL, status=Message.Status.RUNNING)
    return running.filter(parent__isnull=False, parent=job.revision.message_id).exists()


def _compare(job: Comparison) -> None:
    rows = MemoryRevision.objects.select_related("space", "document", "message__session")
    revision = rows.get(pk=job.revision_id)
    saved, document = decisions.text_of(revision), revision.document
    found = []
    if decisions.has_lines(saved, document.content):
        with job.renewals():
            newer = _lines_saved_since(revision)
            session_id = revision.message.session_id if revision.message else None
            payer = Payer(Spend.Purpose.CONTRADICTIONS, job.owner_id, session_id, revision.space_id)
            found = contradictions.find(revision.space, document.path, saved, job.owner.day(), payer, newer)
    with transaction.atomic():
        # Under the claim, so that another worker's questions are not doubled.
        job.renew()
        for contradicted in found:
            decisions.ask_about_contradiction(revision, contradicted)
        job.finish(Comparison.Status.DONE if found else Comparison.Status.NOTHING)
        if found and revision.message is not None:
            notify_updated(revision.message)


def _lines_saved_since(revision: MemoryRevision) -> frozenset[str]:
    """Return the lines that later revisions of the document added."""
    later = MemoryRevision.objects.filter(document=revision.document_id, number__gt=revision.number)
    return frozenset(
        line for hunks in later.values_list("hunks", flat=True) for hunk in hunks for line in hunk["added"] if line
    )
