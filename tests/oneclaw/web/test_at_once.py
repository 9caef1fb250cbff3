"""One person's requests at once leave threads and connections to others."""

import asyncio
import json
from collections import Counter

import aiohttp
import pytest

from oneclaw.web.limits import at_once
from oneclaw.web.limits.at_once import AtOnceMiddleware
from tests import scripted as model

ADA, STRANGER = b"sessionid=ada", b"sessionid=stranger"


class Server:
    """An application behind the limit, whose requests last until they are let go."""

    def __init__(self):
        self.begun, self.going = [], {}
        self.limited = AtOnceMiddleware(self.application)

    async def application(self, scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        self.begun.append(scope["number"])
        self.going[scope["number"]] = asyncio.Event()
        await self.going[scope["number"]].wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def ask(self, number, cookie=b"", path="/", key=b"", body=None):
        """Begin a request; the task returns its status, headers and body."""

        async def asked():
            sent = []

            async def receive():
                if body is not None:
                    await body.wait()
                return {"type": "http.request", "body": b""}

            async def send(message):
                sent.append(message)

            headers = [(b"cookie", cookie), (b"authorization", key)]
            scope = {"type": "http", "method": "GET", "path": path, "headers": headers, "client": ("192.0.2.1", 1)}
            await self.limited({**scope, "number": number}, receive, send)
            return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]

        return asyncio.create_task(asked())

    async def settled(self):
        for _ in range(20):
            await asyncio.sleep(0)
        return self.begun


@pytest.fixture
def limits(settings):
    settings.DATABASE_POOL, settings.PERSON_REQUESTS = at_once.OTHERS_CONNECTIONS + 3, 2


async def test_others_are_answered_while_one_person_floods_and_each_waits_in_turn(limits):
    server = Server()
    adas = [server.ask(number, ADA) for number in range(5)]
    assert await server.settled() == [0, 1]
    strangers = [server.ask(number, STRANGER) for number in (10, 11)]
    assert await server.settled() == [0, 1, 10]
    # All three are taken now; of those who wait, each gets the next slot in turn.
    server.going[0].set()
    server.going[1].set()
    assert await server.settled() == [0, 1, 10, 2, 11]
    server.going[10].set()
    assert await server.settled() == [0, 1, 10, 2, 11, 3]
    # One that is cancelled while it waits takes no slot.
    adas[4].cancel()
    for number in (2, 3, 11):
        server.going[number].set()
    last = server.ask(20, ADA)
    await server.settled()
    server.going[20].set()
    assert [(await each)[0] for each in (*adas[:4], *strangers, last)] == [200] * 7


async def test_a_crowd_of_requests_is_answered_one_at_a_time_with_pauses(limits, monkeypatch):
    monkeypatch.setattr(at_once, "CROWD_COUNT", 2)
    monkeypatch.setattr(at_once, "PAUSE_MAX_SECONDS", 0)
    server = Server()
    adas = [server.ask(number, ADA) for number in range(7)]
    assert await server.settled() == [0, 1]
    server.going[0].set()
    # Five wait: more than a page needs.
    assert await server.settled() == [0, 1]
    monkeypatch.setattr(at_once, "PAUSE_MAX_SECONDS", 0.05)
    await asyncio.sleep(0.05)
    server.going[1].set()
    assert await server.settled() == [0, 1]
    strangers = server.ask(10, STRANGER)
    assert await server.settled() == [0, 1, 10]
    await asyncio.sleep(0.06)
    assert await server.settled() == [0, 1, 10, 2]
    monkeypatch.setattr(at_once, "PAUSE_MAX_SECONDS", 0)
    server.going[2].set()
    await server.settled()
    server.going[3].set()
    # Two wait, and both slots are theirs again.
    assert await server.settled() == [0, 1, 10, 2, 3, 4, 5]
    for number in (4, 5, 10):
        server.going[number].set()
    await server.settled()
    server.going[6].set()
    assert [(await each)[0] for each in (*adas, strangers)] == [200] * 8


async def test_what_waits_in_vain_is_told_to_try_again(limits, monkeypatch):
    monkeypatch.setattr(at_once, "WAITING_MAX_COUNT", 1)
    monkeypatch.setattr(at_once, "WAITING_SECONDS", 0.05)
    server = Server()
    adas = [server.ask(number, ADA) for number in range(4)]
    for refused in (adas[3], adas[2]):
        status, headers, body = await refused
        assert (status, headers[b"retry-after"], json.loads(body)["code"]) == (429, b"2", "too_many_requests")
    # A refused request has left the queue.
    server.going[0].set()
    server.ask(5, ADA)
    assert await server.settled() == [0, 1, 5]


async def test_an_upload_takes_a_slot_when_it_has_arrived(limits):
    server, arrived = Server(), asyncio.Event()
    for number in range(4):
        server.ask(number, ADA, body=arrived)
    server.ask(4, ADA)
    assert await server.settled() == [4]
    arrived.set()
    assert await server.settled() == [4, 0]


async def test_keys_cookies_and_addresses_are_counted_apart(limits):
    server = Server()
    for number in range(3):
        # A cookie makes no difference where it is not read.
        server.ask(number, b"sessionid=%d" % number, path="/api/v1/me", key=b"Bearer oc_a")
    assert await server.settled() == [0, 1]
    server.ask(3, path="/healthz")
    server.ask(4, path="/static/css/oneclaw.css")
    server.ask(5)
    assert await server.settled() == [0, 1, 3, 4, 5]


async def test_a_program_that_waits_for_an_answer_holds_no_slot_and_a_flood_leaves_others_alone(
    live, scripted, settings, adas, strangers
):
    settings.PERSON_REQUESTS, settings.TITLES = 1, False
    scripted.script(model.answer(model.text(["One", *[" more"] * 50], pace=0.1)))

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

        async def ask(program, method="get", path="me", **more):
            keyed = {"Authorization": f"Bearer {program.token}"}
            async with http.request(method, f"{live.url}/api/v1/{path}", headers=keyed, **more) as response:
                return response.status

        waiting = asyncio.create_task(ask(adas, "post", "messages?wait=30", json={"text": "Hello"}))
        async with asyncio.timeout(20):
            while not scripted.requests:
                await asyncio.sleep(0.02)
            assert await ask(adas) == 200
        assert not waiting.done()
        flood = [asyncio.create_task(ask(adas)) for _ in range(100)]
        await asyncio.sleep(0.05)
        assert await ask(strangers) == 200
        answers = Counter(await asyncio.gather(*flood))
        assert answers.keys() <= {200, 429}
        assert answers[429] >= 20
        assert await waiting == 200
