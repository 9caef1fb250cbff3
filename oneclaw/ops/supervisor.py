"""The supervisor: children that are started again when they end by themselves, and end with it, however it ends."""

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

# Seconds before a child that has ended is started again: doubled each time, until it has run for SETTLED seconds.
FIRST_DELAY, LONGEST_DELAY, SETTLED = 0.5, 10.0, 30.0
# Seconds between two looks when nothing happens.
LOOK = 1.0
# Forked children share the memory of what the supervisor has loaded. It must have no thread of its own then.
processes: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


class Child:
    """One role in a process of its own."""

    def __init__(self, name: str, run: Callable[[], None], patience: float, orphaned: int = signal.SIGKILL) -> None:
        """`patience`: seconds it may take to end when told to; `orphaned`: the signal it gets when we are gone."""
        self.name, self._run, self.patience, self._orphaned = name, run, patience, orphaned
        self.process: BaseProcess | None = None
        self._delay = FIRST_DELAY
        self._started_at = 0.0
        # When it is to be started again; None while it runs.
        self._again_at: float | None = None

    def start(self) -> None:
        self._again_at, self._started_at = None, time.monotonic()
        arguments = (self.name, self._run, self._orphaned, os.getpid())
        process = self.process = processes.Process(target=in_child, args=arguments, name=self.name)
        process.start()

    def look_after(self) -> None:
        """Start it again if it has ended and its time has come."""
        now = time.monotonic()
        if self._again_at is not None:
            if now >= self._again_at:
                self.start()
        elif self.process is not None and self.process.exitcode is not None:
            if now - self._started_at > SETTLED:
                self._delay = FIRST_DELAY
            logger.error(
                "The %s ended with %s; it starts again in %g s.", self.name, self.process.exitcode, self._delay
            )
            self._again_at, self._delay = now + self._delay, min(self._delay * 2, LONGEST_DELAY)

    def end(self) -> None:
        if self.process is not None and self.process.exitcode is None:
            self.process.terminate()

    def see_off(self, deadline: float) -> None:
        """Wait for its end until `deadline`, then make it end."""
        if self.process is None:
            return
        self.process.join(max(0.0, deadline - time.monotonic()))
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


def in_child(name: str, run: Callable[[], None], orphaned: int, parent: int) -> None:
    die_with_parent(orphaned, parent)
    # What `ps -o comm` and `top` show, up to 15 bytes. Linux only.
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(f"oneclaw {name}")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    os.setsid()  # Ctrl-C is for the supervisor alone; it tells the children
    if not apps.ready:  # spawned, not forked
        django.setup()
    run()


def supervise(
    children: list[Child], heard: Mapping[Connection, Callable[[], None]], each_look: Callable[[], None]
) -> None:
    """Run the children until SIGINT or SIGTERM.

    `heard` says what to do when something comes through a pipe from a child; `each_look` is called about once a second.
    """
    with told_by_signals() as told:
        gc.collect()
        gc.freeze()  # what is shared stays shared
        try:
            for child in children:
                child.start()
            while told not in (found := wait([told, *heard, *running(children)], LOOK)):
                for child in children:
                    child.look_after()
                for pipe in set(heard).intersection(found):
                    pipe.recv()
                    heard[pipe]()
                each_look()
        finally:
            for child in children:
                child.end()
            ended_at = time.monotonic()
            for child in children:
                child.see_off(ended_at + child.patience)


def running(children: Iterable[Child]) -> list[int]:
    """What becomes readable when one of them ends."""
    return [c.process.sentinel for c in children if c.process is not None and c.process.exitcode is None]


@contextlib.contextmanager
def told_by_signals() -> Generator[socket.socket]:
    """A socket that becomes readable when SIGINT or SIGTERM comes. A second one of them is as good as the first."""
    told, tell = socket.socketpair()
    tell.setblocking(False)
    with told, tell:
        before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
        signal.set_wakeup_fd(tell.fileno())
        try:
            yield told
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)
