"""A server of the Messages API on a loopback port, whose replies a function makes.

It needs the standard library only, and one thread serves hundreds of concurrent streams.
"""

import asyncio
import contextlib
import json
import logging
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from oneclaw.demo.replies import REQUEST_ID, Ending, Reply, Step, message, server_fault, steps

log = logging.getLogger(__name__)

# Until a connection is dropped, so that its client has read what was written before.
DROP_SECONDS = 0.02


@dataclass
class RecordedRequest:
    """One request that the server received."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    # The body as it came.
    raw: bytes = b""
    # What the server has said of the tokens so far.
    usage: dict[str, Any] = field(default_factory=dict)
    # "open" while it is answered; then "sent", or "left" when the client disconnected first.
    outcome: str = "open"


class MessagesServer:
    """A server on a loopback port, which runs in its own thread from start() to stop()."""

    def __init__(self, reply_to: Callable[[RecordedRequest], Reply], port: int = 0, record: bool = False):
        """Take the function that replies to a request, the port (0: a free one), and whether to record requests."""
        self.requests: list[RecordedRequest] = []
        self._record = record
        self._reply_to = reply_to
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping: asyncio.Event | None = None

    @property
    def url(self) -> str:
        """Return the base URL of the server."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start to listen. Raise OSError when the port is taken."""
        listening = socket.create_server(("127.0.0.1", self._port), backlog=1024)
        self._port = listening.getsockname()[1]
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening, started)), name="messages", daemon=True
        )
        self._thread.start()
        started.wait()

    def stop(self) -> None:
        """Stop listening and drop every connection."""
        if self._loop and self._stopping and self._thread:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
        self._thread = None

    async def _serve(self, listening: socket.socket, started: threading.Event) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            try:
                await self._connection(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                connections.discard(task)
                writer.transport.abort()

        server = await asyncio.start_server(connected, sock=listening, limit=1024 * 1024)
        started.set()
        await self._stopping.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await _read(reader)
            if self._record:
                self.requests.append(request)
            try:
                keep = await self._answer(request, reader, writer)
                request.outcome = "sent"
            except (ConnectionError, asyncio.CancelledError):
                request.outcome = "left"
                raise
            if not keep:
                return

    async def _answer(
        self, request: RecordedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; return whether the connection may serve another."""
        try:
            reply = self._reply_to(request)
        except Exception:
            log.exception("No reply could be made")
            reply = server_fault()
        if reply.body is None and request.body.get("stream"):
            return await _stream(reply, request, reader, writer)
        await asyncio.sleep(reply.first_byte)
        body = json.dumps(message(reply, request.body)).encode() if reply.body is None else reply.body
        await _send(writer, reply.status, {"content-type": "application/json", **reply.headers}, body)
        return True


async def _read(reader: asyncio.StreamReader) -> RecordedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return RecordedRequest(method, path, headers, json.loads(body) if body else {}, body)


async def _stream(
    reply: Reply, request: RecordedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    clock = asyncio.get_running_loop().time
    due, begun = clock(), False
    for step in steps(reply, request.body):
        if isinstance(step, Step) and step.wait:
            # Due times are absolute, so that delays of a busy machine do not add up.
            due += step.wait
            await asyncio.sleep(max(0.0, due - clock()))
        if not begun and (isinstance(step, Step) or step is Ending.WHOLE):
            begun = True
            writer.write(_head(reply.status, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}))
        if isinstance(step, Ending):
            return await _end(step, reader, writer)
        if step.data:
            writer.write(b"%x\r\n%b\r\n" % (len(step.data), step.data))
        request.usage.update(step.usage or {})
        await writer.drain()
        if writer.transport.is_closing():
            raise ConnectionResetError
    raise AssertionError("The last step is an ending.")


async def _end(ending: Ending, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    if ending is Ending.WHOLE:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True
    if ending is Ending.STALLED:
        # Until the client disconnects.
        await reader.read()
        raise ConnectionResetError
    await writer.drain()
    await asyncio.sleep(DROP_SECONDS)
    if ending is Ending.RESET:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    return False


async def _send(writer: asyncio.StreamWriter, status: int, headers: Any, body: bytes) -> None:
    writer.write(_head(status, {**headers, "content-length": str(len(body))}) + body)
    with contextlib.suppress(ConnectionError):
        await writer.drain()


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'Error'}", f"request-id: {REQUEST_ID}"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()
