"""Tell which messages of a conversation were imported from another program, or copied from another person."""

from django.db.models import Max
from django.utils.translation import gettext

from chat.models import ChatSession
from memory.policy.secrets import masked

# The reason of a flush that covers imported messages, which are never noted.
IMPORTED = "imported"


def imported_through(session: ChatSession) -> int:
    """Return the sequence number of the last message of `session` that was imported, or copied from a link that another
    person shared; 0 when there is none."""
    if session.copied_from:
        return session.copied_seq
    return session.flushes.filter(reason=IMPORTED).aggregate(through=Max("through_seq"))["through"] or 0


def title_for_memory(session: ChatSession) -> str:
    """Return the title under which memory notes `session`, with secrets masked: never one that another person gave
    it."""
    if session.copied_from and session.title == session.copied_from["title"]:
        return gettext("New conversation")
    return masked(session.name)[0]
