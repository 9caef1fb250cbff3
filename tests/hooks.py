"""Hooks of apps that a test registers, and the threads of handlers that answer too late."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from chat import extensions
from chat.extensions import Extension, Hook


@contextmanager
def registered() -> Iterator[Callable[..., None]]:
    """Yield a function that registers hooks as an extension, until the end of the block."""
    found: list[Extension] = []

    def register(*hooks: Hook) -> None:
        found.append(extensions.register(Extension(f"hooked-{len(found)}", hooks=hooks)))

    try:
        yield register
    finally:
        for extension in found:
            extensions.unregister(extension)


@contextmanager
def held_until_the_end() -> Iterator[threading.Event]:
    """Yield an event that late handlers wait for; at its end it is set, and their threads have ended."""
    event = threading.Event()
    try:
        yield event
    finally:
        event.set()
    for thread in late_threads():
        thread.join(10)
        assert not thread.is_alive()


def late_threads() -> list[threading.Thread]:
    """Return the threads of handlers with a time limit."""
    return [thread for thread in threading.enumerate() if thread.name == "limited"]
