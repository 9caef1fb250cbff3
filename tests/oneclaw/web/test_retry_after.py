"""What repeats a refused request too early is refused without the work of finding that out again."""

import pytest

from oneclaw.web.limits import retry_after
from oneclaw.web.limits.retry_after import RetryAfterMiddleware


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(retry_after, "time", Clock())
    return retry_after.time


async def test_until_its_time_and_for_this_sign_in_and_this_address_only(clock):
    reached = []

    async def application(scope, receive, send):
        reached.append(scope["path"])
        # As Django writes it.
        headers = [(b"Retry-After", scope["query_string"])]
        await send({"type": "http.response.start", "status": 429, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    limited = RetryAfterMiddleware(application)

    async def ask(path, cookie=b"sessionid=ada", seconds=b"20", method="GET"):
        sent = []

        async def send(message):
            sent.append(message)

        headers = [(b"cookie", cookie), (b"hx-request", b"true")]
        scope = {"type": "http", "method": method, "path": path, "headers": headers, "query_string": seconds}
        await limited({**scope, "client": ("192.0.2.1", 1)}, None, send)
        return {name.lower(): value for name, value in sent[0]["headers"]}[b"retry-after"]

    assert await ask("/search") == b"20"
    clock.now += 15
    assert await ask("/search") == b"5"
    assert reached == ["/search"]
    await ask("/search", cookie=b"sessionid=stranger")
    await ask("/memory/")
    clock.now += 5
    await ask("/search")
    assert reached == ["/search", "/search", "/memory/", "/search"]
    # A budget that is used up says when it ends; and an address may be that of many people.
    for _ in range(2):
        await ask("/c/1/messages", seconds=b"80000")
        await ask("/accounts/login/", cookie=b"")
    assert len(reached) == 8
    # What stops an answer has the address of the message that was refused.
    for _ in range(2):
        await ask("/c/1/frame", method="POST")
    assert len(reached) == 10
    # A limit was raised.
    limited.forget()
    await ask("/search")
    assert len(reached) == 11
