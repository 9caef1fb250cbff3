"""The contract of compaction: whoever must read the conversation before it is summarised is asked first.

Nothing compacts yet; whoever does calls `announce` before.
"""

from chat.models import ChatSession
from chat.signals import compaction_due


class CompactionStopped(Exception):
    """Somebody who must see the conversation before it is compacted could not; it stays as it is."""


def announce(session: ChatSession) -> None:
    """Tell that `session` is about to be compacted. Returns once every receiver has run; CompactionStopped as soon as
    one fails. Whoever compacts calls this first, and does nothing when it raises."""
    try:
        compaction_due.send(ChatSession, user=session.owner, session=session)
    except Exception as error:
        raise CompactionStopped(f"The conversation {session.pk} is not compacted: {error}") from error
