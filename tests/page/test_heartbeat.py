"""A socket that died without a word is found within 45 seconds, from both ends, and within 3 after a sleep."""

import asyncio
import json

import pytest
from channels.testing import WebsocketCommunicator
from playwright.async_api import expect

from chat.live import consumer
from tests.browser import open_page


class Wire:
    """Sockets to the server; `die` swallows what goes over the ones that there are, without closing any."""

    def __init__(self):
        self.opened, self.pings, self.is_dead = 0, 0, set()

    async def lay(self, page):
        await page.route_web_socket("**/ws/", self._opened)

    def die(self):
        self.is_dead.add(self.opened)

    async def _opened(self, socket):
        self.opened += 1
        number, server = self.opened, socket.connect_to_server()

        def to_server(text):
            self.pings += json.loads(text)["type"] == "ping"
            if number not in self.is_dead:
                server.send(text)

        def to_page(text):
            if number not in self.is_dead:
                socket.send(text)

        socket.on_message(to_server)
        server.on_message(to_page)


@pytest.mark.browser
async def test_the_page_pings_and_leaves_a_dead_socket_after_45_seconds(live, ada):
    wire = Wire()
    async with open_page(live, ada) as page:
        await page.clock.install()
        await wire.lay(page)
        await page.goto("/")
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        for _ in range(4):
            await page.clock.run_for(20_000)
            await asyncio.sleep(0.3)
        assert wire.opened == 1
        assert wire.pings >= 3
        wire.die()
        await page.clock.run_for(46_500)
        async with asyncio.timeout(10):
            while wire.opened < 2:
                await page.clock.run_for(500)


@pytest.mark.browser
async def test_a_page_that_wakes_replaces_a_dead_socket_within_3_seconds(live, ada):
    """The socket says that it is open, and new connections work."""
    wire = Wire()
    wake = "type => (type === 'visibilitychange' ? document : window).dispatchEvent(new Event(type))"
    async with open_page(live, ada) as page:
        await page.clock.install()
        await wire.lay(page)
        await page.goto("/")
        for count, woken_by in enumerate(("visibilitychange", "online", "pageshow", "focus"), start=1):
            async with asyncio.timeout(10):
                while wire.opened < count:
                    await asyncio.sleep(0.05)
            await expect(page.locator("[data-connection]")).to_have_text("")
            await asyncio.sleep(0.3)
            pings = wire.pings
            await page.evaluate(wake, woken_by)
            await asyncio.sleep(0.3)
            assert wire.pings > pings, woken_by
            await page.clock.run_for(3_500)
            # It has answered.
            assert wire.opened == count, woken_by
            wire.die()
            await page.evaluate(wake, woken_by)
            await page.clock.run_for(3_100)
        async with asyncio.timeout(10):
            while wire.opened < 5:
                await asyncio.sleep(0.05)


async def a_socket(user):
    socket = WebsocketCommunicator(consumer.ChatConsumer.as_asgi(), "/ws/")
    socket.scope["user"] = user
    await socket.connect()
    return socket


@pytest.mark.django_db(transaction=True)
async def test_the_server_closes_a_socket_that_says_nothing(ada, monkeypatch):
    monkeypatch.setattr(consumer, "SILENCE_SECONDS", 0.3)
    socket = await a_socket(ada)
    async with asyncio.timeout(5):
        while (await socket.receive_output(timeout=5))["type"] != "websocket.close":
            pass


@pytest.mark.django_db(transaction=True)
async def test_the_server_keeps_a_socket_that_pings(ada, monkeypatch):
    monkeypatch.setattr(consumer, "SILENCE_SECONDS", 1.0)
    socket = await a_socket(ada)
    for _ in range(8):
        await asyncio.sleep(0.2)
        await socket.send_to(text_data='{"type": "ping"}')
        while json.loads(await socket.receive_from(timeout=5)) != {"type": "pong"}:
            pass
    await socket.disconnect()
