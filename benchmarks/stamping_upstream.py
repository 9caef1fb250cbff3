"""A Messages API upstream that does as little as possible: each delta says when it was sent.

    python benchmarks/stamping_upstream.py PORT PACE DELTAS

A delta is one word after a space, as models write: the milliseconds since the epoch as ` at1763716129123.4`. Every 40th
begins a paragraph. A message that says "7 deltas" is answered with 7 instead of DELTAS; never more than `max_tokens`.
"""

import asyncio
import json
import re
import sys
import time

import uvloop


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


USAGE = {"input_tokens": 1, "output_tokens": 1}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "bench", "content": [], "stop_reason": None}
START = event("message_start", message=MESSAGE | {"stop_sequence": None, "usage": USAGE}) + event(
    "content_block_start", index=0, content_block={"type": "text", "text": ""}
)
END = (
    event("content_block_stop", index=0)
    + event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=USAGE)
    + event("message_stop")
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
DELTA = (
    'event: content_block_delta\ndata: {{"type":"content_block_delta","index":0,'
    '"delta":{{"type":"text_delta","text":"{}at{:.1f}"}}}}\n\n'
)


def wanted(body: bytes, deltas: int) -> int:
    """Return how many deltas the request with this body gets."""
    said = re.findall(rb"(\d+) deltas", body)
    most = re.search(rb'"max_tokens": ?(\d+)', body)
    return min(int(said[-1]) if said else deltas, int(most[1]) if most else deltas)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pace: float, deltas: int) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in head else 0
            body = await reader.readexactly(length)
            writer.write(HEAD + chunk(START))
            clock = asyncio.get_running_loop().time
            next_at = clock()
            stamp = 0.0
            for number in range(1, wanted(body, deltas) + 1):
                # No two of an answer are equal.
                stamp = max(stamp + 0.1, time.time() * 1000)
                text = DELTA.format(r"\n\n" if number % 40 == 1 else " ", stamp)
                writer.write(chunk(text.encode()))
                next_at += pace
                await asyncio.sleep(max(0.0, next_at - clock()))
            writer.write(chunk(END) + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main(port: int, pace: float, deltas: int) -> None:
    server = await asyncio.start_server(lambda r, w: answer(r, w, pace, deltas), "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
