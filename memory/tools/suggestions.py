"""Answer suggestions: write an accepted text through the same path as a save, with its source."""

import re

from django.db import transaction
from django.utils import dateformat, translation

from memory.documents import write
from memory.documents.write import Append, Author, Separator, Source
from memory.models import MemoryRevision, Suggestion
from memory.notes.coverage import DAILY_LOG_PATH
from memory.policy.paths import CURATED
from memory.policy.secrets import masked
from memory.text.dates import day_in
from memory.tools import comparisons
from memory.tools.curated import append_operation, as_entry, save_entry
from oneclaw.models import User, clock
from oneclaw.reasons import Reason


@transaction.atomic
def accept(suggestion: Suggestion, user: User) -> Suggestion:
    """Write the text of the suggestion into its document, and return the accepted row. Idempotent.

    Instructions of a workspace file are in their document already, and are used from now on. The caller has checked
    that `user` may write there. Raise DocumentError or InvalidTextError when the text cannot be written; it then still
    waits. A declined suggestion stays declined.
    """
    row = Suggestion.objects.select_for_update(of=("self",)).select_related("space").get(pk=suggestion.pk)
    if not row.is_waiting:
        return row
    if row.kind != Suggestion.Kind.INSTRUCTIONS:
        row.revision = _written(row, user)
    row.status, row.text, row.decided_at = Suggestion.Status.ACCEPTED, "", clock.read_database_time()
    row.save(update_fields=["status", "text", "decided_at", "revision"])
    return row


def _written(row: Suggestion, user: User) -> MemoryRevision | None:
    author = Author(
        Source.PAGE,
        user,
        message_id=row.message_id,
        reason=Reason("change.accepted", {"kind": row.kind, "name": row.name}),
    )
    # It was masked by the policy of the day on which it was suggested.
    row.text, _ = masked(row.text)
    if row.path != CURATED:
        return write.apply(row.space, row.path, _log_entry(row), author)
    revision = save_entry(row.space, append_operation(user, row.text), author, ask=False)
    if revision is not None:
        comparisons.request(revision)
    return revision


def _log_entry(row: Suggestion) -> Append:
    day = day_in(row.path) if DAILY_LOG_PATH.fullmatch(row.path) else None
    with translation.override("en"):
        heading = f"# {dateformat.format(day, 'l, j F Y')}\n\n" if day else ""
    return Append(as_entry(re.sub(r"^\s+", "", row.text)), Separator.LIST, heading, unless_there=row.text)
