"""For whom the calls of models that write notes of a conversation are."""

from memory.models import DocumentJob, Flush
from oneclaw.models import Spend
from oneclaw.spend.calls import Payer


def payer_of_notes(job: Flush | DocumentJob, purpose: Spend.Purpose) -> Payer:
    """Return the payer of the calls of `job`."""
    return Payer(purpose, job.owner_id, job.session_id, job.space_id)
