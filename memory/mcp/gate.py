"""Admit requests to /mcp: of a program with a key or a sign-in that is valid now, and no page of another site."""

import asyncio
import contextlib
import importlib
import ipaddress
import json
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseFailure
from django.http.request import validate_host

from memory.mcp.call import ProgramCall, begin
from oneclaw.models import ApiKey
from oneclaw.people.programs.grants import Level, ScopeError
from oneclaw.people.programs.tokens import grant_of_any, still_valid
from oneclaw.threads import in_database
from oneclaw.web.limits.at_once import SCOPE_NAME
from oneclaw.web.limits.early_refusal import Message, Receive, Send
from oneclaw.web.origins import bracketed, is_allowed_origin
from oneclaw.web.rate_limit import TooManyRequestsError, api_requests

BODY_MAX_BYTES = 1024 * 1024
# The metadata of RFC 9728 by which a program finds where to sign in.
METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"
# After which a request that the database did not answer may be repeated.
RETRY_SECONDS = 2
# A running request, such as a listening one, ends so many seconds after its grant at the latest.
CHECK_SECONDS = 1.0
# Methods by which a program is told which it is, before the version of 2026-07-28.
INITIALIZE = "initialize"
LISTEN = "subscriptions/listen"
# Streams of one program that may be open in a process.
LISTENING_MAX_COUNT = 8
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
PROGRAM_MAX_CHARS = 100
VERSION_HEADER = b"mcp-protocol-version"


@dataclass(frozen=True)
class PlainAnswer:
    """An answer before the protocol: an HTTP status, a sentence, and headers."""

    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send) -> None:
        """Send it as JSON."""
        body = json.dumps({"error": self.text}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), "cache-control": "no-store"}
        sent = [(name.lower().encode(), value.encode()) for name, value in {**headers, **self.headers}.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": sent})
        await send({"type": "http.response.body", "body": body})


BUSY = PlainAnswer(
    503, "The memory does not answer now; it is not empty. Try again.", {"Retry-After": str(RETRY_SECONDS)}
)
TOO_LARGE = PlainAnswer(413, "This request is too large.")
# The older protocol has streams by GET and sessions that end by DELETE: a server without sessions has neither.
ENDED = PlainAnswer(401, "The access of this program has ended.", {"WWW-Authenticate": 'Bearer error="invalid_token"'})
TOO_MANY = PlainAnswer(429, "This program listens too often at once.", {"Retry-After": "60"})
ONLY_POST = PlainAnswer(405, "Send a POST.", {"Allow": "POST"})


class McpApplication:
    """The ASGI application of /mcp. The servers of the two eras of the protocol begin with the first request: the one
    of 2026-07-28 streams, so that programs can listen, the older one answers in JSON."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        # By whether it speaks the protocol of 2026-07-28.
        self._managers: dict[bool, Any] = {}
        self._ready, self._ending = asyncio.Event(), asyncio.Event()
        self._servers: asyncio.Task[None] | None = None
        self._running = RunningCalls()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = _of_another_site(scope, headers) or (ONLY_POST if scope["method"] != "POST" else None)
        body = None if refusal else await _body_of(receive)
        if refusal or body is None:
            await (refusal or TOO_LARGE).send(send)
            return
        message = _message_of(body)
        try:
            admitted = await in_database(_admitted, headers, message, base_of(scope, headers), _address_of(scope))
        except DatabaseFailure:
            admitted = BUSY
        listens = message.get("method") == LISTEN
        if isinstance(admitted, ProgramCall) and listens and self._running.listening(admitted) >= LISTENING_MAX_COUNT:
            admitted = TOO_MANY
        if isinstance(admitted, PlainAnswer):
            await admitted.send(send)
            return
        manager = await self._manager(_is_modern(headers))
        begin(admitted)
        # What waits for changes takes no slot from others.
        if listens and (slot := scope.get(SCOPE_NAME)) is not None:
            slot.give_back()
        response = _HeldResponse(send, admitted)
        request = manager.handle_request(scope, _replayed(body, receive), response.send)
        await self._running.carry_out(admitted, request, listens=listens)
        await response.finish()

    async def end(self) -> None:
        """End both servers."""
        if self._servers is not None:
            self._ending.set()
            await self._servers
        self._loop = self._servers = None

    async def _manager(self, is_modern: bool) -> Any:
        loop = asyncio.get_running_loop()
        if self._loop is not loop or self._servers is None or self._servers.done():
            self._loop, self._ready, self._ending = loop, asyncio.Event(), asyncio.Event()
            self._servers = asyncio.create_task(self._serve(self._ready, self._ending), name="mcp")
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait([ready, self._servers], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._servers.done():
            # It could not begin.
            self._servers.result()
        return self._managers[is_modern]

    async def _serve(self, ready: asyncio.Event, ending: asyncio.Event) -> None:
        # The package takes a second to load, which only those pay who have programs, and no running answer waits for.
        await in_database(importlib.import_module, "memory.mcp.server")
        from mcp.server.transport_security import TransportSecuritySettings

        from memory.mcp.changes import ChangeBus
        from memory.mcp.server import memory_server

        # Host and Origin were compared with the names of this server.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        bus = ChangeBus()
        async with contextlib.AsyncExitStack() as stack:
            for is_modern in (True, False):
                server = memory_server(bus)
                server.streamable_http_app(
                    stateless_http=True,
                    json_response=not is_modern,
                    max_request_body_size=BODY_MAX_BYTES,
                    transport_security=security,
                )
                await stack.enter_async_context(server.session_manager.run())
                self._managers[is_modern] = server.session_manager
            ready.set()
            await ending.wait()
            await bus.end()


class RunningCalls:
    """The calls that are carried out in this process. A call ends within CHECK_SECONDS after its grant has: one
    statement for all that run for longer."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[None], tuple[int, bool]] = {}
        self._checking: asyncio.Task[None] | None = None

    def listening(self, call: ProgramCall) -> int:
        """Return how many streams of the program of `call` are open."""
        return sum(1 for each in self._tasks.values() if each == (call.grant.key.pk, True))

    async def carry_out(self, call: ProgramCall, request: Coroutine[Any, Any, None], *, listens: bool) -> None:
        """Await `request`; return early when the grant of `call` has ended."""
        task = asyncio.create_task(request)
        self._tasks[task] = call.grant.key.pk, listens
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check(), name="mcp grants")
        try:
            await asyncio.wait([task])
        finally:
            del self._tasks[task]
            task.cancel()
        if not task.cancelled():
            task.result()

    async def _check(self) -> None:
        while self._tasks:
            await asyncio.sleep(CHECK_SECONDS)
            running = dict(self._tasks)
            try:
                valid = await in_database(still_valid, {key_id for key_id, _ in running.values()})
            except DatabaseFailure:
                # Nothing is known now: they go on.
                continue
            for task, (key_id, _) in running.items():
                if key_id not in valid:
                    task.cancel()


class _HeldResponse:
    """A response that is sent as soon as its body begins: one during which the database did not answer is BUSY."""

    def __init__(self, send: Send, call: ProgramCall) -> None:
        self._send, self._call = send, call
        self._start: Message | None = None
        self._has_started = self._is_complete = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start is not None and self._call.is_busy:
            self._start, self._has_started, self._is_complete = None, True, True
            await BUSY.send(self._send)
        elif self._start is not None:
            start, self._start, self._has_started = self._start, None, True
            await self._send(start)
        if not self._is_complete:
            self._is_complete = not message.get("more_body", False)
            await self._send(message)

    async def finish(self) -> None:
        """End the response of a request that was ended because its grant was."""
        if self._has_started and not self._is_complete:
            await self._send({"type": "http.response.body", "body": b""})
        elif not self._has_started:
            await ENDED.send(self._send)


def _of_another_site(scope: Message, headers: Mapping[bytes, str]) -> PlainAnswer | None:
    """Return the refusal of a request that another site has made a browser send (DNS rebinding)."""
    host, origin = headers.get(b"host", ""), headers.get(b"origin")
    if not validate_host(bracketed(host), settings.ALLOWED_HOSTS):
        return PlainAnswer(421, "This server does not answer to that host name.")
    if origin is not None and not is_allowed_origin(origin, host):
        return PlainAnswer(403, "Pages of other sites may not ask here.")
    return None


def base_of(scope: Message, headers: Mapping[bytes, str]) -> str:
    """Return the origin of the pages: the first of ONECLAW_ORIGINS, else where the request was sent."""
    return settings.ORIGINS[0] if settings.ORIGINS else f"{scope.get('scheme', 'http')}://{headers[b'host']}"


def _admitted(
    headers: Mapping[bytes, str], message: Mapping[str, Any], base: str, address: str | None
) -> ProgramCall | PlainAnswer:
    """Return the call of a request that may go on."""
    scheme, _, token = headers.get(b"authorization", "").partition(" ")
    grant = grant_of_any(token.strip()) if scheme.lower() == "bearer" and token.strip() else None
    if grant is None or grant.highest is None:
        error = ', error="invalid_token"' if token else ""
        asked = f'Bearer resource_metadata="{base}{METADATA_PATH}"{error}'
        return PlainAnswer(401, "This needs a sign-in, or a key that works.", {"WWW-Authenticate": asked})
    try:
        api_requests.take(grant.user.pk)
        grant.check(Level.PROPOSE if _saves(message) else Level.READ)
    except TooManyRequestsError as error:
        return PlainAnswer(429, "Too many requests.", {"Retry-After": str(error.retry_after)})
    except ScopeError as error:
        asked = f'Bearer error="insufficient_scope", scope="{error.scope}", resource_metadata="{base}{METADATA_PATH}"'
        return PlainAnswer(403, str(error), {"WWW-Authenticate": asked})
    _keep_name(grant.key, message, address)
    return ProgramCall(grant, base, address)


def _keep_name(key: ApiKey, message: Mapping[str, Any], address: str | None) -> None:
    """Store what the program calls itself, and its address, for the page of its person."""
    params = _object(message.get("params"))
    is_first = message.get("method") == INITIALIZE
    info = _object(params.get("clientInfo") if is_first else _object(params.get("_meta")).get(CLIENT_INFO))
    name = " ".join(str(info[part]) for part in ("name", "version") if info.get(part))
    # Line ends and other invisible characters have no use in a name.
    name = "".join(char for char in name if char.isprintable())[:PROGRAM_MAX_CHARS] or key.program
    if (name, address) != (key.program, key.address):
        key.program, key.address = name, address
        ApiKey.objects.filter(pk=key.pk).update(program=name, address=address)


def _message_of(body: bytes) -> dict[str, Any]:
    """Return the message of JSON-RPC in `body`; {} for another text, which the protocol refuses."""
    try:
        return _object(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _saves(message: Mapping[str, Any]) -> bool:
    return message.get("method") == "tools/call" and _object(message.get("params")).get("name") == "save_memory"


def _is_modern(headers: Mapping[bytes, str]) -> bool:
    """Return whether a request is of the stateless protocol: dates compare as text."""
    return headers.get(VERSION_HEADER, "") >= "2026"


def _address_of(scope: Message) -> str | None:
    """Return the IP address that a request came from; None when it came through a Unix socket or another name."""
    client = scope.get("client")
    try:
        return str(ipaddress.ip_address(client[0])) if client else None
    except ValueError:
        return None


async def _body_of(receive: Receive) -> bytes | None:
    """Return the body of a request; None for one that is too large."""
    parts, size, is_whole = [], 0, False
    while not is_whole:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_MAX_BYTES:
            return None
        is_whole = not message.get("more_body", False)
    return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a function that receives `body` once, and then what `receive` does."""
    is_first = True

    async def receive_again() -> Message:
        nonlocal is_first
        if is_first:
            is_first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return receive_again
