"""Compare a saved line with older ones later, when the model failed while it was saved.

request(revision)           # any number of times
run(comparison.pk)          # any worker, any number of times
"""

import datetime as dt
import logging
from contextlib import suppress

from django.db import transaction

from memory.models import Comparison, MemoryRevision
from memory.notes.claims import error_text
from memory.prompt.recall import SEARCH_ERRORS
from memory.tools import contradictions, decisions
from oneclaw.jobs import ClaimLostError
from oneclaw.llm.failures import ModelRequestError
from oneclaw.models import clock

logger = logging.getLogger(__name__)

# When the model is asked again, and how often; a line that was never compared stays as it was saved.
FIRST_TRY_SECONDS = 60
TRIES_MAX_COUNT = 8


def request(revision: MemoryRevision) -> None:
    """Queue the comparison of the line that `revision` saved, for later. Idempotent."""
    due_at = clock.database_now() + dt.timedelta(seconds=FIRST_TRY_SECONDS)
    Comparison.objects.bulk_create(
        [Comparison(owner=revision.author, revision=revision, due_at=due_at)], ignore_conflicts=True
    )


def run(comparison_id: int) -> None:
    """Do the comparison, if it is due and no other worker has claimed it, and ask the person about what it finds.

    A failure is stored in the row, and the comparison becomes due again later, TRIES_MAX_COUNT times at most.
    """
    job: Comparison | None = Comparison.objects.claim(comparison_id)
    if job is None:
        return
    if job.attempts > TRIES_MAX_COUNT:
        # Every try ended without storing its failure, such as with its process.
        job.finish(Comparison.Status.FAILED, "The last try did not end.")
        return
    try:
        _compare(job)
    except ClaimLostError:
        logger.warning("Comparison %s was claimed by another worker.", comparison_id)
    except (ModelRequestError, *SEARCH_ERRORS) as error:
        level = logging.WARNING if isinstance(error, ModelRequestError) else logging.ERROR
        logger.log(level, "Comparison %s failed.", comparison_id, exc_info=level == logging.ERROR)
        with suppress(ClaimLostError):
            if job.attempts < TRIES_MAX_COUNT:
                job.postpone(error_text(error))
            else:
                job.finish(Comparison.Status.FAILED, error_text(error))


def _compare(job: Comparison) -> None:
    revision = MemoryRevision.objects.select_related("space", "document").get(pk=job.revision_id)
    saved, document = decisions.text_of(revision), revision.document
    found = []
    if decisions.has_lines(saved, document.content):
        with job.heartbeats():
            found = contradictions.find(revision.space, document.path, saved, job.owner.day())
    with transaction.atomic():
        # Under the claim, so that another worker's questions are not doubled.
        job.heartbeat()
        for contradicted in found:
            decisions.ask_about_contradiction(revision, contradicted)
        job.finish(Comparison.Status.DONE if found else Comparison.Status.NOTHING)
