"""What follows a document: its pieces in the search index and its file. Both can be late, neither can be lost."""

import logging

from memory.files.mirror import mirror_document
from memory.models import MemoryDocument

logger = logging.getLogger(__name__)


def follow(document_id: int) -> None:
    """Bring index and file up to the document, now. What fails is logged; its column says that it is still to do."""
    index(document_id)
    mirror(document_id)


def index(document_id: int) -> bool:
    """Whether the search index holds the document now."""
    try:
        from memory.index.documents import index_document

        index_document(document_id)
    except Exception:
        logger.exception("Document %s could not be indexed; the sweep tries again.", document_id)
        return False
    return True


def mirror(document_id: int) -> bool:
    """Whether the file holds the document now."""
    try:
        mirror_document(document_id)
    except OSError:
        logger.exception("Document %s could not be written to its file; the sweep tries again.", document_id)
        return False
    return True


def behind(limit: int = 1000) -> tuple[list[int], list[int]]:
    """The documents whose index, and those whose file, is behind."""
    documents = MemoryDocument.objects.order_by("pk")
    to_index = documents.to_index().values_list("pk", flat=True)[:limit]
    to_mirror = documents.to_mirror().values_list("pk", flat=True)[:limit]
    return list(to_index), list(to_mirror)
