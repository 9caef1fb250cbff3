"""The supervisor: it restarts children that end by themselves, and ends all of them when it ends, even when killed."""

import contextlib
import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import django
from django.apps import apps

from oneclaw.postgres.guardian import die_with_parent

logger = logging.getLogger(__name__)

# The backoff before a restart of a child: doubled each time, and reset when the child has run for STABLE_SECONDS.
RESTART_FIRST_SECONDS, RESTART_MAX_SECONDS, STABLE_SECONDS = 0.5, 10.0, 30.0
# How often children are checked when no event occurs.
POLL_SECONDS = 1.0
# Forked children share the memory of the modules that are loaded. The supervisor must have no threads when it forks.
processes: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


class Child:
    """A child process of the supervisor, which runs one role."""

    def __init__(
        self,
        name: str,
        run: Callable[[], None],
        stop_seconds: float,
        orphaned: int = signal.SIGKILL,
        *,
        is_needed: bool = False,
    ) -> None:
        """Take the function `run`, the seconds that it may take to end, the signal sent if the supervisor dies, and
        whether other children need this one until they have ended."""
        self.name, self._run, self.stop_seconds, self._orphaned = name, run, stop_seconds, orphaned
        self.is_needed = is_needed
        self.process: BaseProcess | None = None
        self._delay = RESTART_FIRST_SECONDS
        self._started_at = 0.0
        # When to restart it, on the monotonic clock; None while it runs.
        self._restart_at: float | None = None
        # How often it has ended by itself since the supervisor started, and since it last ran for STABLE_SECONDS.
        self.ends = self._ends_in_a_row = 0

    def start(self) -> None:
        """Start the process."""
        self._restart_at, self._started_at = None, time.monotonic()
        arguments = (self.name, self._run, self._orphaned, os.getpid())
        process = self.process = processes.Process(target=in_child, args=arguments, name=self.name)
        process.start()

    def restart_if_due(self) -> None:
        """Restart the process if it has ended and its backoff has passed.

        Of several ends in a row the first is logged, each that was due to a signal, and how many there were once the
        process runs again.
        """
        now = time.monotonic()
        if self._restart_at is not None:
            if now >= self._restart_at:
                self.start()
            return
        is_stable = now - self._started_at > STABLE_SECONDS
        if is_stable and self._ends_in_a_row:
            if self._ends_in_a_row > 1:
                ended = (self.name, self._ends_in_a_row, self.ends)
                logger.warning("The %s runs again; it had ended %d times in a row, %d times since the start.", *ended)
            self._ends_in_a_row, self._delay = 0, RESTART_FIRST_SECONDS
        if self.process is not None and self.process.exitcode is not None:
            self.ends += 1
            self._ends_in_a_row += 1
            if self._ends_in_a_row == 1 or self.process.exitcode < 0:
                ended_with = (self.name, self.process.exitcode, self._delay)
                logger.error("The %s ended with %s; it starts again in %g s, later if it ends again.", *ended_with)
            self._restart_at, self._delay = now + self._delay, min(self._delay * 2, RESTART_MAX_SECONDS)

    def end(self) -> None:
        """Send SIGTERM to the process if it runs."""
        if self.process is not None and self.process.exitcode is None:
            self.process.terminate()

    def wait_or_kill(self, deadline: float) -> None:
        """Wait for the process to end until `deadline` (monotonic), then kill it."""
        if self.process is None:
            return
        self.process.join(max(0.0, deadline - time.monotonic()))
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


def in_child(name: str, run: Callable[[], None], orphaned: int, parent: int) -> None:
    """Run `run` in the child process, which gets the signal `orphaned` when the process `parent` ends."""
    die_with_parent(orphaned, parent)
    # What `ps -o comm` and `top` show, up to 15 bytes. Linux only.
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(f"oneclaw {name}")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    os.setsid()  # Ctrl-C reaches the supervisor alone, which ends the children
    if not apps.ready:  # spawned, not forked
        django.setup()
    run()


def supervise(
    children: list[Child], on_message: Mapping[Connection, Callable[[], None]], on_poll: Callable[[], None]
) -> None:
    """Run the children until SIGINT or SIGTERM.

    `on_message` has the function to call for a message on each pipe; `on_poll` is called about once a second.
    """
    with signal_socket() as signals:
        gc.collect()
        gc.freeze()  # the collector must not write to shared pages
        try:
            for child in children:
                child.start()
            while signals not in (ready := wait([signals, *on_message, *running(children)], POLL_SECONDS)):
                for child in children:
                    child.restart_if_due()
                for pipe in set(on_message).intersection(ready):
                    pipe.recv()
                    on_message[pipe]()
                on_poll()
        finally:
            # What others need ends after them: a running answer is stored as interrupted, and not as failed.
            for is_needed in (False, True):
                ending = [child for child in children if child.is_needed == is_needed]
                for child in ending:
                    child.end()
                ended_at = time.monotonic()
                for child in ending:
                    child.wait_or_kill(ended_at + child.stop_seconds)


def running(children: Iterable[Child]) -> list[int]:
    """Return the sentinels of the running children, which become readable when they end."""
    return [c.process.sentinel for c in children if c.process is not None and c.process.exitcode is None]


@contextlib.contextmanager
def signal_socket() -> Generator[socket.socket]:
    """Yield a socket that becomes readable on SIGINT or SIGTERM; further signals have no other effect."""
    readable, writable = socket.socketpair()
    writable.setblocking(False)
    with readable, writable:
        before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
        signal.set_wakeup_fd(writable.fileno())
        try:
            yield readable
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)
