"""Bring the index and the file of a written document up to date, once for many changes that come together.

Of concurrent writers in a process one updates the projections of a document, one waits to do it again, and the others
leave it to the one that waits: their changes are committed, so it reads them. The columns of the row say what is
behind, for the sweep.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from memory.files.mirror import try_to_mirror, try_to_mirror_all
from memory.index.documents import try_to_index, try_to_index_all

# From the start of one update of a document to that of the next one, when more writers than one wait for it.
CROWDED_INTERVAL_SECONDS = 0.25
# Documents of which the indexes are built and held in memory together.
BATCH_DOCUMENTS = 50


@dataclass
class _Updates:
    """The updates of one document in this process: at most one runs and one waits."""

    # Reentrant, because the mirror may import a change of the file, which is a write of the same document.
    lock: Any = field(default_factory=threading.RLock)
    is_waiting: bool = False
    # Whether a writer left its change to the one that waits.
    is_crowded: bool = False
    started_at: float = 0.0
    users: int = 0


_guard = threading.Lock()
_updates: dict[int, _Updates] = defaultdict(_Updates)


def update(document_ids: Sequence[int]) -> None:
    """Bring the indexes and the files of documents up to date; that of a single one at the next turn of another thread,
    if one waits already. Idempotent. Failures are logged, and the sweep tries again.
    """
    if len(document_ids) > 1:
        for start in range(0, len(document_ids), BATCH_DOCUMENTS):
            batch = document_ids[start : start + BATCH_DOCUMENTS]
            try_to_index_all(batch)
            try_to_mirror_all(batch)
        return
    for document_id in document_ids:
        with _turn(document_id) as has_turn:
            if has_turn:
                try_to_index(document_id)
                try_to_mirror(document_id)


@contextmanager
def _turn(document_id: int) -> Iterator[bool]:
    """Wait for the running update of the document, and yield True; yield False when another thread waits already."""
    with _guard:
        state = _updates[document_id]
        if state.is_waiting:
            state.is_crowded = True
            has_turn = False
        else:
            state.is_waiting = has_turn = True
            state.users += 1
    if not has_turn:
        yield False
        return
    try:
        with state.lock:
            if state.is_crowded:
                time.sleep(max(0.0, state.started_at + CROWDED_INTERVAL_SECONDS - time.monotonic()))
            with _guard:
                # Later writers may have changes that this update does not read.
                state.is_waiting = state.is_crowded = False
                state.started_at = time.monotonic()
            yield True
    finally:
        with _guard:
            state.users -= 1
            if not state.users:
                del _updates[document_id]
