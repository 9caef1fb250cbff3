"""Requests that are sent by halves do not stay open."""

import asyncio
import contextlib
import json

import pytest
import uvicorn

from oneclaw.ops import roles
from oneclaw.web import body_limit, header_limit
from oneclaw.web.body_limit import BodyLimitMiddleware

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n"


async def echo(scope, receive, send):
    """Read the whole body, then wait as long as its first byte says, and answer with it."""
    body = b""
    while (message := await receive()).get("more_body"):
        body += message["body"]
    body += message["body"]
    if body.startswith(b"slow"):
        await asyncio.sleep(0.5)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def served():
    """Open connections to the web server with `echo` as its application."""
    configuration = roles.web_configuration()
    configuration.app, configuration.lifespan = BodyLimitMiddleware(echo, 1000), "off"
    configuration.host, configuration.port = "127.0.0.1", 0
    server = uvicorn.Server(configuration)
    serving = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with asyncio.timeout(10):
        yield lambda: asyncio.open_connection("127.0.0.1", port)
    server.should_exit = True
    await serving


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(header_limit, "HEADERS_SECONDS", 0.3)
    monkeypatch.setattr(body_limit, "BODY_FIRST_SECONDS", 0.3)


@pytest.mark.parametrize("sent", [b"", b"GET", REQUEST, REQUEST + b"\r\n" + REQUEST])
async def test_a_connection_without_whole_headers_is_closed(sent):
    async with served() as connect:
        reader, writer = await connect()
        writer.write(sent)
        await reader.read()
        writer.close()


async def test_a_body_that_does_not_come_is_answered_and_the_connection_closed():
    async with served() as connect:
        reader, writer = await connect()
        writer.write(POST + b"half")
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "too_slow"
        writer.close()


async def test_a_body_that_trickles_is_ended_as_well(monkeypatch):
    monkeypatch.setattr(body_limit, "BODY_MIN_BYTES_PER_SECOND", 1_000)
    async with served() as connect:
        reader, writer = await connect()
        writer.write(POST)

        async def trickle():
            with contextlib.suppress(ConnectionError):
                while True:
                    writer.write(b"x")
                    await asyncio.sleep(0.1)

        trickling = asyncio.create_task(trickle())
        # The rest of the answer may be lost, because more has arrived than was read.
        assert await reader.readexactly(13) == b"HTTP/1.1 408 "
        trickling.cancel()
        writer.close()


async def test_a_large_body_may_take_its_time_and_so_may_the_answer(monkeypatch):
    monkeypatch.setattr(body_limit, "BODY_MIN_BYTES_PER_SECOND", 10)
    async with served() as connect:
        reader, writer = await connect()
        writer.write(POST)
        for part in (b"slow", b"slow", b"slow", b"slow", b"slow"):
            writer.write(part)
            await asyncio.sleep(0.2)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        assert await reader.readexactly(20) == b"slow" * 5
        writer.close()
