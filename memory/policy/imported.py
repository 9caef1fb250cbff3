"""Tell which messages of a conversation were imported from another program."""

from django.db.models import Max

from chat.models import ChatSession

# The reason of a flush that covers imported messages, which are never noted.
IMPORTED = "imported"


def imported_through(session: ChatSession) -> int:
    """Return the sequence number of the last imported message of `session`; 0 when there is none."""
    return session.flushes.filter(reason=IMPORTED).aggregate(through=Max("through_seq"))["through"] or 0
