"""The floor of delivery: a bare relay from the model's stream to a WebSocket. It authenticates nobody, stores nothing
and renders nothing.

    python benchmarks/relay.py PORT UPSTREAM

It reads the upstream through the same SDK and HTTP client as OneClaw, and speaks the part of docs/protocol.md that the
benchmarks use: `open` and `send` come in; `ready`, `ack`, `block` (with only the new text) and `done` go out. The first
text is sent at once, then a frame each 83 ms. Server and options are those of OneClaw's web process.
"""

import asyncio
import json
import sys
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import uvicorn

Send = Callable[[dict[str, Any]], Awaitable[None]]

FRAME_SECONDS = 0.083


class Relay:
    """The application."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.client: anthropic.AsyncAnthropic | None = None
        self.answers: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: dict[str, Any], receive: Callable[[], Any], send: Send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body"})
            return
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            frame = json.loads(message["text"])
            if frame["type"] == "open":
                await send_frame(send, type="ready", session=str(uuid.uuid4()), seq=0)
            elif frame["type"] == "send":
                await send_frame(send, type="ack", client_id=frame["client_id"], message="1", seq=1, duplicate=False)
                answer = asyncio.create_task(self.answer(send, frame["text"]))
                self.answers.add(answer)
                answer.add_done_callback(self.answers.discard)

    async def answer(self, send: Send, text: str) -> None:
        """Pass the answer to `text` on."""
        if self.client is None:
            http = anthropic.DefaultAioHttpClient(limits=anthropic.DEFAULT_CONNECTION_LIMITS)
            self.client = anthropic.AsyncAnthropic(api_key="bench", base_url=self.upstream, http_client=http)
        growing = GrowingText(send)
        writing = asyncio.create_task(growing.send_frames())
        messages = [{"role": "user", "content": text}]
        create: Any = self.client.messages.with_streaming_response.create
        async with create(model="bench", max_tokens=8192, messages=messages, stream=True) as response:
            rest = b""
            async for data in response.http_response.aiter_bytes():
                *events, rest = (rest + data).split(b"\n\n")
                growing.add("".join(map(text_of, events)))
        growing.finish()
        await writing
        await send_frame(send, type="done", message="2", status="complete", usage=None, final=True)


class GrowingText:
    """The text that was read, and not sent yet."""

    def __init__(self, send: Send) -> None:
        self.send, self.text, self.is_whole, self.more = send, "", False, asyncio.Event()

    def add(self, text: str) -> None:
        if text:
            self.text += text
            self.more.set()

    def finish(self) -> None:
        self.is_whole = True
        self.more.set()

    async def send_frames(self) -> None:
        """Send what has come, each FRAME_SECONDS, until it is whole."""
        while not self.is_whole or self.text:
            await self.more.wait()
            self.more.clear()
            text, self.text = self.text, ""
            if text:
                await send_frame(self.send, type="block", message="2", index=0, revision=1, html=text)
            if not self.is_whole:
                await asyncio.sleep(FRAME_SECONDS)


def text_of(event: bytes) -> str:
    """Return the text that a server-sent event adds."""
    if b'"text_delta"' not in event:
        return ""
    return str(json.loads(event[event.index(b"{") :])["delta"]["text"])


async def send_frame(send: Send, **frame: Any) -> None:
    await send({"type": "websocket.send", "text": json.dumps(frame, separators=(",", ":"))})


if __name__ == "__main__":
    uvicorn.run(
        Relay(sys.argv[2]),  # type: ignore[arg-type]
        port=int(sys.argv[1]),
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
    )
