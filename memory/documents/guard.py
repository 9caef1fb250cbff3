"""Keep forgotten lines out of documents."""

from memory.documents.diff import diff
from memory.models import ForgottenLine, MemoryDocument, MemoryRevision
from memory.policy.tombstones import LineForgottenError, lock_name, of_space
from oneclaw.locks import hold

Source = MemoryRevision.Source

# Sources by which a person writes: they may add a forgotten line again, which removes its tombstone.
WRITTEN_BY_HAND = (Source.PAGE, Source.ADMIN)
# Sources that remove forgotten lines before they write, and retry after LineForgottenError.
WRITTEN_AFTER_CHECK = (Source.TOOL, Source.FLUSH)


def without_forgotten(document: MemoryDocument, content: str, source: str) -> str:
    """Return `content` as `source` may write it into `document`, and keep forgettings out until the transaction ends.

    The caller has locked the document's row. A forgotten line that a person adds by hand loses its tombstone; from a
    file, an import or an earlier version it is left out. Raise LineForgottenError for tools and flushes, which check
    their text before.
    """
    # Locked after the document's row: a forgetting takes its locks in the same order.
    hold(lock_name(document.space_id), shared=True)
    known = of_space(document.space_id)
    if not known:
        return content
    added = [line for hunk in diff(document.content, content) for line in hunk["added"]]
    marks = {mark for line in added for mark in known.marks_in(line)}
    if not marks:
        return content
    if source in WRITTEN_BY_HAND:
        ForgottenLine.objects.filter(space=document.space_id, hash__in=marks).delete()
        return content
    if source in WRITTEN_AFTER_CHECK:
        raise LineForgottenError(document.path)
    return known.without(content)
