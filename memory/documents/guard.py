"""Keep what was forgotten out of what is written into a document."""

from memory.documents.diff import diff
from memory.models import ForgottenLine, MemoryDocument, MemoryRevision
from memory.policy.tombstones import LineForgottenError, lock_of, of_space
from oneclaw.locks import hold

Source = MemoryRevision.Source

# A change by the person's own hand may write a forgotten line again, and it is remembered from then on.
WRITTEN_BY_HAND = (Source.PAGE, Source.ADMIN)
# Writers that leave forgotten lines out before they write, and do so again after LineForgottenError.
WRITTEN_AFTER_CHECK = (Source.TOOL, Source.FLUSH)


def without_forgotten(document: MemoryDocument, content: str, source: str) -> str:
    """Return `content` as it may be written into a document whose row is locked. No forgetting begins before the end of
    this transaction, which must be open.

    A forgotten line that the person writes by hand is remembered again. From a file, an import or an earlier state it
    is left out. For the model's saves and notes, which were checked before, it is LineForgottenError.
    """
    # After the document's row and not before it: a forgetting waits in the same order.
    hold(lock_of(document.space_id), shared=True)
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
