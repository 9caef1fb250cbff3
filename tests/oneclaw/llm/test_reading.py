"""A growing answer is read once in a frame, its first text at once, and a connection that ends loses nothing."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from contextlib import aclosing

import pytest

from oneclaw import llm
from oneclaw.llm import facts
from oneclaw.llm.transport import reading
from oneclaw.outgoing import certificates
from tests.certificates import made
from tests.spending import NOBODY, Spending

REQUEST = llm.Request("claude-test", [], [{"role": "user", "content": "Hello?"}])
FRAME_SECONDS = 0.3

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not reading.CAN_HOLD, reason="only Linux promises to wake a reader that was held"),
]


def event(kind, **fields):
    data = f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def delta(text):
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
START = (
    event("message_start", message={"model": "claude-test", "usage": {}})
    + event("content_block_start", index=0, content_block={"type": "text", "text": ""})
)  # fmt: skip
END = (
    event("content_block_stop", index=0)
    + event("message_delta", delta={"stop_reason": "end_turn"}, usage={})
    + event("message_stop")
    + b"0\r\n\r\n"
)


class Upstream:
    """A model's server whose answers the test writes by hand, in the loop that reads them."""

    def __init__(self):
        self.asked = asyncio.Queue()
        self.writers = []

    async def serve(self, reader, writer):
        self.writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                if not head.startswith(b"post"):
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
                writer.write(HEAD + START)
                self.asked.put_nowait(writer)


@contextlib.asynccontextmanager
async def upstream(settings, certificate=None):
    """A server, and settings with which it is the model's."""
    facts.forget_cache()
    settings.FRAMES_PER_SECOND = 1 / FRAME_SECONDS
    served = Upstream()
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=certificate)
    scheme = "https" if certificate else "http"
    settings.ANTHROPIC_API_KEY = "test"
    settings.ANTHROPIC_BASE_URL = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        server.close()
        for writer in served.writers:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def cut_with_reset(writer):
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def cut_with_end(writer):
    writer.close()


async def until_held(writer, events):
    """Send and read texts until what is sent is held back for the next frame."""
    writer.write(delta("a"))
    assert (await texts(events, 1)) == ["a"]
    await asyncio.sleep(FRAME_SECONDS * 1.2)
    writer.write(delta("b"))
    assert (await texts(events, 1)) == ["b"]


async def texts(events, count):
    """The next `count` texts."""
    found = []
    async for each in events:
        if isinstance(each, llm.TextDelta):
            found.append(each.text)
            if len(found) == count:
                break
    return found


async def test_texts_of_one_frame_are_read_together_and_the_first_at_once(settings):
    async with upstream(settings) as served, aclosing(llm.stream(REQUEST, Spending(NOBODY))) as events:
        reading_on = asyncio.ensure_future(texts(events, 1))
        writer = await served.asked.get()
        writer.write(delta("a"))
        assert await asyncio.wait_for(reading_on, FRAME_SECONDS / 2) == ["a"]
        # Within a frame of the first, too.
        reading_on = asyncio.ensure_future(texts(events, 1))
        writer.write(delta("b"))
        assert await asyncio.wait_for(reading_on, FRAME_SECONDS / 2) == ["b"]
        await asyncio.sleep(FRAME_SECONDS * 1.2)
        reading_on = asyncio.ensure_future(texts(events, 1))
        writer.write(delta("c"))
        assert await asyncio.wait_for(reading_on, FRAME_SECONDS / 2) == ["c"]
        for letter in "defgh":
            writer.write(delta(letter))
            await asyncio.sleep(0.01)
        assert await texts(events, 1) == ["defgh"]
        writer.write(END)
        assert isinstance([each async for each in events][-1], llm.Finished)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of 127.0.0.1, and its key."""
    return made(tmp_path_factory.mktemp("certificate"), "IP:127.0.0.1")


@pytest.mark.parametrize("cut", [cut_with_reset, cut_with_end])
@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
async def test_what_arrived_before_a_cut_is_kept_although_it_was_held(
    settings, monkeypatch, certificate, encrypted, cut
):
    serving = None
    if encrypted:
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(*certificate)
        monkeypatch.setattr(certificates, "trusted", lambda: ssl.create_default_context(cafile=certificate[0]))
    async with upstream(settings, serving) as served, aclosing(llm.stream(REQUEST, Spending(NOBODY))) as events:
        holding = asyncio.ensure_future(anext(events))
        writer = await served.asked.get()
        await holding
        await until_held(writer, events)
        for letter in "cde":
            writer.write(delta(letter))
            await asyncio.sleep(0.01)
        cut(writer)
        assert "".join(await texts(events, 1)) == "cde"
        with pytest.raises(llm.CutOffError):
            await anext(events)


async def test_an_answer_that_is_stopped_while_it_is_held_ends_at_once(settings):
    async with upstream(settings) as served:
        events = llm.stream(REQUEST, Spending(NOBODY))
        holding = asyncio.ensure_future(anext(events))
        writer = await served.asked.get()
        await holding
        await until_held(writer, events)
        await asyncio.wait_for(events.aclose(), FRAME_SECONDS / 2)


async def test_the_next_answer_on_the_same_connection_is_not_held(settings):
    async with upstream(settings) as served:
        async with aclosing(llm.stream(REQUEST, Spending(NOBODY))) as events:
            holding = asyncio.ensure_future(anext(events))
            writer = await served.asked.get()
            await holding
            await until_held(writer, events)
            writer.write(END)
            assert isinstance([each async for each in events][-1], llm.Finished)
        before = len(served.writers)
        async with aclosing(llm.stream(REQUEST, Spending(NOBODY))) as events:
            first = asyncio.ensure_future(texts(events, 1))
            writer = await served.asked.get()
            writer.write(delta("a"))
            assert await asyncio.wait_for(first, FRAME_SECONDS / 2) == ["a"]
            writer.write(END)
            assert isinstance([each async for each in events][-1], llm.Finished)
        assert len(served.writers) == before
