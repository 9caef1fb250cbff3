"""`manage.py serve`: prepare database and static files, then run web, worker and beat until Ctrl-C.

The embedded PostgreSQL stops last.
"""

import errno
import importlib
import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection

from oneclaw import llm, pubsub
from oneclaw.ops import roles, static_files
from oneclaw.ops.supervisor import Child, processes, supervise
from oneclaw.people import invitations
from oneclaw.postgres import embedded

# Modules that are loaded before the processes are forked, so that they share the memory.
SHARED = ("oneclaw.asgi", "celery.apps.worker", "celery.apps.beat", "celery.concurrency.thread")


class CannotStartError(Exception):
    """OneClaw cannot start; the message says what to correct first."""


def serve(say: Callable[[str], object]) -> None:
    """Run OneClaw in this process and its children until SIGINT or SIGTERM; call `say` with each line for the person.

    Raise CannotStartError when port, database or data folder cannot be used.
    """
    with listen() as listening:
        prepare()
        announcement = Announcement(say)
        answering, report_answering = processes.Pipe(duplex=False)
        ready = partial(report_answering.send, True)
        children = [
            Child("web", partial(roles.web, listening, ready), stop_seconds=12, orphaned=signal.SIGTERM),
            Child("worker", roles.worker, stop_seconds=8),
            Child("beat", roles.beat, stop_seconds=3),
        ]
        if settings.NEEDS_DEMO:
            children.append(demo_model())
        for module in SHARED:
            importlib.import_module(module)
        llm.load()
        close_database()
        supervise(children, {answering: announcement.make}, on_poll=ensure_guardian)
    settings.DEMO_ADDRESS_FILE.unlink(missing_ok=True)
    if home := embedded_home():
        embedded.ensure(home).leave()
    say("OneClaw has stopped.")


def listen() -> socket.socket:
    """Return the listening socket of HOST and PORT. Raise CannotStartError when it cannot be opened.

    It stays open while the web process restarts, so that no connection is refused.
    """
    host, port = settings.HOST, settings.PORT
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            mend = f"stop what listens there, or choose another one, as in PORT={port + 1}."
            raise CannotStartError(f"Port {port} is taken: {mend}") from error
        raise CannotStartError(f"HOST={host} PORT={port} cannot be listened on: {error.strerror}.") from error


def prepare() -> None:
    """Connect to the database, migrate it, and collect the static files. Raise CannotStartError on failure."""
    try:
        psycopg.connect(**pubsub.connection_parameters() | {"connect_timeout": 5}).close()
        call_command("migrate", verbosity=0, interactive=False)
        static_files.collect()
    except embedded.ServerUnavailableError as error:
        raise CannotStartError(str(error)) from error
    except psycopg.OperationalError as error:
        raise CannotStartError(f"The database of DATABASE_URL cannot be reached: {cause(error)}") from error
    except CommandError as error:
        raise CannotStartError(str(error)) from error
    except DatabaseError as error:
        raise CannotStartError(f"The database cannot be brought up to date: {cause(error)}") from error
    except OSError as error:
        raise CannotStartError(f"{error.filename} cannot be written ({error.strerror}).") from error


def cause(error: Exception) -> str:
    """Return the last line of the error's text that is not a question (libpq adds one)."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    return next((line for line in reversed(lines) if not line.endswith("?")), lines[-1])


class Announcement:
    """The lines for the person once the page answers: its address and, if needed, the link of the first account."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self.say, self.made = say, False

    def make(self) -> None:
        """Write the announcement, at the first call only."""
        if self.made:
            return
        self.made = True
        settings.ADDRESS_FILE.write_text(f"http://127.0.0.1:{settings.PORT}\n")
        self.say(f"OneClaw runs at {invitations.base_url()}  (Ctrl-C stops it)")
        if link := invitations.first_account_link():
            self.say(f"Make the first account: {link}")
        if settings.NEEDS_DEMO:
            self.say("A small demo model answers. For a real one, start again with ANTHROPIC_API_KEY=… set.")
        close_database()


def demo_model() -> Child:
    """Return the process of the demo model, on a free port that all other processes find in their settings."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings.DEMO_URL = os.environ["ONECLAW_DEMO_URL"] = f"http://127.0.0.1:{port}"
    settings.DEMO_ADDRESS_FILE.write_text(f"{settings.DEMO_URL}\n")
    return Child("demo model", partial(roles.demo_model, port), stop_seconds=3, is_needed=True)


def close_database() -> None:
    """Close the connection and its pool: neither connections nor threads of a pool may be forked."""
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]


def embedded_home() -> Path | None:
    """Return the data folder of the embedded PostgreSQL; None when another database is used."""
    home = settings.DATABASES["default"]["OPTIONS"].get("home")
    return Path(home) if home else None


def ensure_guardian() -> None:
    """Start a new guardian for the embedded PostgreSQL if the last one was killed."""
    if home := embedded_home():
        embedded.EmbeddedPostgres(home).hold()
