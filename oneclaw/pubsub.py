"""Hints between processes, over PostgreSQL's LISTEN/NOTIFY: “something about this topic has changed, read the rows”.

A hint may be lost while a listener reconnects, so it carries ids and no content, and after each reconnect every
subscriber gets MISSED and reads its rows again.
"""

import asyncio
import json
import logging
import os
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from django.db import connection

from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

CHANNEL = "oneclaw"
# PostgreSQL takes 8,000 bytes for a notification with its channel.
PAYLOAD_MAX_BYTES = 7_900
# Options of libpq, in seconds: a server that vanishes is noticed after 25.
TIMEOUTS = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "connect_timeout": 10}
# The payload that a subscriber gets when hints may have been missed.
MISSED = {"kind": "changed"}

Callback = Callable[[dict[str, Any]], None]
# The topic and the payload.
Hint = tuple[str, dict[str, Any]]
_loaded_as = uuid.uuid4().hex


def own_name() -> str:
    """Return a name of this process that no other one has, by which it knows its own hints."""
    # A forked process has loaded this module with the same number.
    return f"{_loaded_as}:{os.getpid()}"


def notify(topic: str, payload: dict[str, Any]) -> None:
    """Send a hint about `topic` to all listening processes when the surrounding transaction commits.

    `payload` holds ids only. Raise ValueError when it is longer than PAYLOAD_MAX_BYTES.
    """
    notify_all([(topic, payload)])


def notify_all(notifications: Sequence[Hint]) -> None:
    """Send `notifications` by one statement, when the surrounding transaction commits.

    Raise ValueError when one is longer than PAYLOAD_MAX_BYTES.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, hint) FROM unnest(%s::text[]) AS hint", [CHANNEL, encoded(notifications)])


def encoded(notifications: Sequence[Hint]) -> list[str]:
    """Return `notifications` as the texts that pg_notify sends on CHANNEL.

    Raise ValueError when one is longer than PAYLOAD_MAX_BYTES.
    """
    texts = [json.dumps(each) for each in notifications]
    if (longest := max(map(len, texts))) > PAYLOAD_MAX_BYTES:
        raise ValueError(f"A hint of {longest} bytes is too long: hints carry ids, rows carry content.")
    return texts


def subscribe(topic: str, callback: Callback) -> Callable[[], None]:
    """Call `callback(payload)` on this event loop for each hint about `topic`; return a function that stops it."""
    listener = Listener.of_this_loop()
    listener.callbacks.setdefault(topic, set()).add(callback)

    def unsubscribe() -> None:
        callbacks = listener.callbacks.get(topic, set())
        callbacks.discard(callback)
        if not callbacks:
            listener.callbacks.pop(topic, None)

    return unsubscribe


class Listener:
    """One LISTEN connection for an event loop, for as long as the loop runs."""

    _of_loop: tuple[asyncio.AbstractEventLoop, "Listener"] | None = None

    def __init__(self) -> None:
        self.callbacks: dict[str, set[Callback]] = {}
        self.connected = asyncio.Event()
        self.task = asyncio.create_task(self._listen(), name="hints")

    @classmethod
    def of_this_loop(cls) -> "Listener":
        """Return the listener of the running event loop, made on first use."""
        loop = asyncio.get_running_loop()
        if cls._of_loop is None or cls._of_loop[0] is not loop:
            cls._of_loop = loop, cls()
        return cls._of_loop[1]

    async def _listen(self) -> None:
        delay = 0.1
        while True:
            try:
                parameters = await in_database(connection_parameters)
                async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as listening:
                    await listening.execute(f"LISTEN {CHANNEL}")
                    delay = 0.1
                    self.connected.set()
                    for topic in list(self.callbacks):
                        self._dispatch(topic, MISSED)
                    async for notification in listening.notifies():
                        self._receive(notification.payload)
            except (psycopg.Error, OSError) as error:
                logger.warning("Hints are away for a moment: %s", error)
            self.connected.clear()
            await asyncio.sleep(delay)
            delay = min(delay * 2, 2.0)

    def _receive(self, text: str) -> None:
        try:
            topic, payload = json.loads(text)
        except (ValueError, TypeError):
            logger.warning("This is no hint of ours, on a channel of ours: %d characters.", len(text))
        else:
            self._dispatch(topic, payload)

    def _dispatch(self, topic: str, payload: dict[str, Any]) -> None:
        for callback in list(self.callbacks.get(topic, ())):
            try:
                callback(payload)
            except Exception:
                # One task serves all subscribers of this process: an error of one must not stop the others.
                logger.exception("A hint about %s could not be followed.", topic)


def connection_parameters() -> dict[str, Any]:
    """Return the parameters with which libpq reaches Django's database, without those that only Django understands."""
    known = {option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()}
    parameters = {name: value for name, value in connection.get_connection_params().items() if name in known}
    return TIMEOUTS | parameters
