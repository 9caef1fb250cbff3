"""Keep what was decided and read for a conversation while one request to the model is built: chat asks memory for each
part of it by itself, and hands over the conversation alone."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

R = TypeVar("R")

_kept: ContextVar[dict[Hashable, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def reading() -> Iterator[None]:
    """Keep what `once` reads until the end of the block."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def once(key: Hashable, read: Callable[[], R]) -> R:
    """Return what `read` returns; within `reading`, what it returned first for this `key`."""
    kept = _kept.get()
    if kept is None:
        return read()
    if key not in kept:
        kept[key] = read()
    found: R = kept[key]
    return found


def read_again() -> None:
    """Drop what was kept, because memory has changed since."""
    if (kept := _kept.get()) is not None:
        kept.clear()
