"""Limit how many requests are answered at once: of each sign-in, and of all, so that one person leaves threads and
connections to others. Further requests wait in a queue that takes one of each sign-in in turn.

Askers are recognised by a hash of the cookie or key, or by their address. The database is not asked, because each
request takes a connection from its pool.
"""

import asyncio
import time
from collections.abc import Callable

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, parse_cookie
from django.utils.translation import gettext_lazy

from oneclaw.fair_slots import FairSlots, NoSlotError
from oneclaw.people.keys import hashed
from oneclaw.runtime_settings import limit
from oneclaw.telemetry import metrics
from oneclaw.web.limits.early_refusal import Application, Message, Receive, Send, refuse

TOO_MANY = gettext_lazy("Too many requests. Try again in a moment.")
# When more requests of one sign-in wait than a browser sends at once for a page, it is a program: they are answered one
# at a time, each after a pause that is so many times as long as the last one took, because the threads that answer them
# share one interpreter with everything that others wait for.
CROWD_COUNT = 10
PAUSE_FACTOR = 3
PAUSE_MAX_SECONDS = 1.0
# Requests of one sign-in that may wait, and for how long.
WAITING_MAX_COUNT, WAITING_SECONDS = 60, 10.0
RETRY_AFTER_SECONDS = 2
# Connections of the pool that requests leave to sockets and running answers.
OTHERS_CONNECTIONS = 4
# What needs no database, and a probe that must be answered.
EXEMPT_PATHS = ("/healthz", f"/{settings.STATIC_URL.strip('/')}/")
# Paths whose requests count for their key; others count for their cookie.
KEY_PATHS = ("/api/", "/mcp", "/scim/", "/metrics")
# With this word begins who is recognised by an address alone.
ADDRESS = "address"
# Under this name a request's scope has its slot.
SCOPE_NAME = "oneclaw.slot"


class TooManyAtOnceError(Exception):
    """Too many requests of this sign-in wait, or this one has waited too long."""


class RequestSlots:
    """The requests that are answered now, and those that wait, of one event loop: `total` of all askers, and as many of
    each as `most_of` says, but one of an asker that floods."""

    def __init__(self, total: int, most_of: Callable[[str], int]) -> None:
        self._slots: FairSlots[str] = FairSlots(lambda: total, self._most_now)
        self._most_of = most_of
        # The askers whose next request comes after a pause.
        self._pausing: set[str] = set()

    async def take(self, asker: str) -> None:
        """Wait until a request of `asker` may begin. Raise TooManyAtOnceError."""
        if not self._slots.is_free(asker):
            self.check(asker)
        try:
            await self._slots.take(asker, WAITING_SECONDS)
        except NoSlotError:
            raise TooManyAtOnceError from None

    def check(self, asker: str) -> None:
        """Raise TooManyAtOnceError when too many requests of `asker` wait."""
        if self._slots.waiting_count(asker) >= WAITING_MAX_COUNT:
            raise TooManyAtOnceError

    def give_back(self, asker: str, seconds: float) -> None:
        """End a request of `asker` that took `seconds`, and begin those that wait for the room that there is now."""
        if self._is_crowd(asker):
            self._pausing.add(asker)
            pause_seconds = min(PAUSE_FACTOR * seconds, PAUSE_MAX_SECONDS)
            asyncio.get_running_loop().call_later(pause_seconds, self._end_pause, asker)
        self._slots.release(asker)

    def _end_pause(self, asker: str) -> None:
        self._pausing.discard(asker)
        self._slots.give_free()

    def _most_now(self, asker: str) -> int:
        if asker in self._pausing:
            return 0
        return 1 if self._is_crowd(asker) else self._most_of(asker)

    def _is_crowd(self, asker: str) -> bool:
        """Return whether a program floods with the sign-in or key of `asker`. Many people may have one address."""
        return self._slots.waiting_count(asker) > CROWD_COUNT and not asker.startswith(ADDRESS)


class Slot:
    """The slot of one request, which it has from the end of its body until its response is made."""

    def __init__(self, slots: RequestSlots, asker: str) -> None:
        self._slots, self._asker, self._is_taken, self._began = slots, asker, False, 0.0
        self._loop = asyncio.get_running_loop()

    async def take(self) -> None:
        """Wait for the slot. Raise TooManyAtOnceError."""
        await self._slots.take(self._asker)
        self._is_taken, self._began = True, time.monotonic()

    def give_back(self) -> None:
        """Give the slot back, in the thread of the event loop; do nothing when it was given back already."""
        if self._is_taken:
            self._is_taken = False
            self._slots.give_back(self._asker, time.monotonic() - self._began)

    def give_back_from_thread(self) -> None:
        """Give the slot back from another thread."""
        self._loop.call_soon_threadsafe(self.give_back)


class AtOnceMiddleware:
    """An ASGI middleware that lets requests wait while too many are answered, and refuses with 429 what waits in vain.

    A request has its slot once its body has arrived, so that a slow upload takes none.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._slots: tuple[asyncio.AbstractEventLoop, RequestSlots] | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(EXEMPT_PATHS):
            await self._application(scope, receive, send)
            return
        asker, slots, has_body = asker_of(scope), self._slots_of_loop(), False
        slot = Slot(slots, asker)

        async def receive_in_turn() -> Message:
            nonlocal has_body
            message = await receive()
            if not has_body and message["type"] == "http.request" and not message.get("more_body", False):
                has_body = True
                await slot.take()
            return message

        began = time.monotonic()
        try:
            # Its body need not arrive to be refused.
            slots.check(asker)
            await self._application({**scope, SCOPE_NAME: slot}, receive_in_turn, send)
        except TooManyAtOnceError:
            metrics.count_request(scope["method"], 429, time.monotonic() - began)
            await refuse(scope, send, 429, "too_many_requests", TOO_MANY, RETRY_AFTER_SECONDS)
        finally:
            slot.give_back()

    def _slots_of_loop(self) -> RequestSlots:
        loop = asyncio.get_running_loop()
        if self._slots is None or self._slots[0] is not loop:
            self._slots = loop, RequestSlots(total_at_once(), most_at_once)
        return self._slots[1]


def give_back_slot(request: HttpRequest) -> None:
    """Give back the slot of a request that waits, and holds no connection to the database meanwhile."""
    slot = getattr(request, "scope", {}).get(SCOPE_NAME)
    if slot is not None:
        slot.give_back_from_thread()


def free_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Free the connection and the slot of a request as soon as its response is made: sending it to a slow browser may
    take long. What is streamed is read in other threads (oneclaw/threads.py)."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if SCOPE_NAME in getattr(request, "scope", {}):
            connection.close_if_unusable_or_obsolete()
            give_back_slot(request)
        return response

    return answer


def asker_of(scope: Message) -> str:
    """Return by what a request is counted: its key, its sign-in, or else its address."""
    headers = dict(scope["headers"])
    if scope["path"].startswith(KEY_PATHS):
        proof = headers.get(b"authorization", b"").decode("latin-1")
    else:
        cookies = parse_cookie(headers.get(b"cookie", b"").decode("latin-1"))
        proof = cookies.get(settings.SESSION_COOKIE_NAME, "")
    if proof:
        return f"proof {hashed(proof)}"
    return f"{ADDRESS} {(scope.get('client') or ('',))[0]}"


def most_at_once(asker: str) -> int:
    """Return how many requests of `asker` are answered at once. Many people may have one address."""
    return total_at_once() if asker.startswith(ADDRESS) else limit("person_requests")


def total_at_once() -> int:
    """Return how many requests are answered at once in a process."""
    return max(1, settings.DATABASE_POOL - OTHERS_CONNECTIONS)
