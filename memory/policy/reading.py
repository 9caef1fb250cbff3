"""Read a person's switches and spaces once while a request to the model is built, which asks for them many times."""

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


def kept(key: Hashable) -> Any:
    """Return what is kept for `key`; None for nothing, and outside of `reading`."""
    return (_kept.get() or {}).get(key)


def drop(key: Hashable) -> None:
    """Keep nothing for `key`, which has changed."""
    (_kept.get() or {}).pop(key, None)


def keep(key: Hashable, value: object) -> None:
    """Let `once` return `value` for `key`, which was read together with something else."""
    kept = _kept.get()
    if kept is not None:
        kept.setdefault(key, value)
