"""What processes do that tests start and kill, and how they start: forked from one that has loaded Django.

    process, said = started(uses_the_server, home)
    assert said.recv() == "joined"
    process.kill()

To start Python and load Django takes a second each time; a fork takes none. (Not from the process of the tests, which
has threads.)
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import django
import psycopg
from django.apps import apps

from oneclaw.ops.supervisor import Child, supervise
from oneclaw.postgres import embedded

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload([__name__])

# Where the others are forked: in the process of the tests it is loaded already.
if not apps.ready:
    django.setup()


def started(act: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A process that does `act(say, *arguments)`, one of those below, and hears what it says. Its `say` is a pipe."""
    hear, say = context.Pipe(duplex=False)
    process = context.Process(target=act, args=(say, *arguments))
    process.start()
    say.close()
    return process, hear


def uses_the_server(say: Connection, home: Path, forks: bool = False) -> None:
    """Join the embedded PostgreSQL of a folder and stay; with `forks`, end and leave it to a child to stay."""
    server = embedded.ensure(home)
    with psycopg.connect(**server.params()) as connection:
        connection.execute("SELECT 1")
    say.send("joined")
    if forks and (child := os.fork()):
        say.send(child)
        os._exit(0)
    time.sleep(600)


def supervises(say: Connection, folder: Path, names: list[str]) -> None:
    """A supervisor of children that do what their name says, and note their starts in the folder. What it logs goes to
    the file `said`; the file `break` breaks it."""
    with (folder / "said").open("w") as said:
        os.dup2(said.fileno(), 2)

    def note(name: str) -> None:
        with (folder / name).open("a") as file:
            print(os.getpid(), time.monotonic(), file=file)

    def ends() -> None:
        note("ends")

    def deaf() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note("deaf")
        time.sleep(600)

    def stays() -> None:
        note("stays")
        time.sleep(600)

    def look() -> None:
        if (folder / "break").exists():
            raise RuntimeError("broken")

    acts = {"ends": ends, "deaf": deaf, "stays": stays}
    supervise([Child(name, acts[name], stop_seconds=1) for name in names], {}, look)
