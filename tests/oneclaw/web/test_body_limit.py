"""Requests that are too large are refused before they are stored."""

import json

import pytest

from oneclaw.web.body_limit import BodyLimitMiddleware


async def answered(*chunks, announced=None):
    """The status of the answer, and what the application behind the bound has read."""
    read, sent, waiting = [], [], list(chunks)

    async def application(scope, receive, send):
        more = True
        while more:
            message = await receive()
            read.append(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive():
        body = waiting.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(waiting)}

    async def send(message):
        sent.append(message)

    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    await BodyLimitMiddleware(application, 10)({"type": "http", "headers": headers}, receive, send)
    if sent[0]["status"] == 413:
        assert json.loads(sent[1]["body"])["code"] == "too_large"
    return sent[0]["status"], b"".join(read)


async def test_what_fits_goes_through():
    assert await answered(b"12345", b"67890", announced=10) == (200, b"1234567890")


async def test_what_announces_itself_as_too_large_is_not_read():
    assert await answered(b"12345", b"678901", announced=11) == (413, b"")


@pytest.mark.parametrize("announced", [None, 5])
async def test_what_turns_out_to_be_too_large_is_read_no_further(announced):
    assert await answered(b"12345", b"678901", b"2", announced=announced) == (413, b"12345")
