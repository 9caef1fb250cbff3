"""Define the signal of changed documents, for their projections, and send it once for several documents if wanted."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.dispatch import Signal

# Documents, `document_ids`, have new versions. Sent after COMMIT, without a sender.
documents_written = Signal()


class _Waiting(threading.local):
    """The documents that this thread has written inside of together(), in order; None outside."""

    ids: dict[int, None] | None = None


_waiting = _Waiting()


def send_written(document_id: int) -> None:
    """Send the signal for one document, now or at the end of together()."""
    if _waiting.ids is None:
        documents_written.send(sender=None, document_ids=[document_id])
    else:
        _waiting.ids[document_id] = None


@contextmanager
def together() -> Iterator[None]:
    """Send the signal once, at the end of the block, for all documents whose changes this thread commits in it."""
    if _waiting.ids is not None:
        yield
        return
    written: dict[int, None] = {}
    _waiting.ids = written
    try:
        yield
    finally:
        _waiting.ids = None
        if written:
            documents_written.send(sender=None, document_ids=[*written])
