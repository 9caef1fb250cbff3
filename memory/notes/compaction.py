"""Note and index the messages that a summary is about to replace in what the model is sent, before it does."""

from chat.models import ChatSession
from memory.access.load import access_of
from memory.index import conversations
from memory.models import Flush
from memory.notes import flush
from memory.notes.claims import covered_through
from oneclaw.tasks import hint


def prepare(session: ChatSession, through_seq: int) -> bool:
    """Return whether every message of `session` up to `through_seq` is noted and can be searched, or is never to be.

    What is missing is enqueued, unless it is already. Idempotent, and cheap enough to be called every few seconds.
    """
    kept = ChatSession.objects.filter(pk=session.pk, mode=ChatSession.Mode.AGENT, deleted_at=None)
    current = kept.select_related("owner", "agent").first()
    if current is None:
        return True
    is_covered = access_of(current).notes_to is None or covered_through(current) >= through_seq
    # An open flush is left alone: the sweep sends it when it is due, which after a failure is later.
    if not is_covered and not current.flushes.open().exists():
        queued = flush.request(current, "compaction")
        hint(Flush.TASK, queued.pk if queued else None)
    is_indexed = conversations.covers(current, through_seq)
    if not is_indexed:
        hint("memory.tasks.index_transcript", conversations.request_unless_due(current))
    return is_covered and is_indexed
