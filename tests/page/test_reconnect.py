"""Sockets that break: nothing written is lost, nothing is sent twice."""

import asyncio
import json
import re

import pytest
from playwright.async_api import expect

from chat.models import ChatSession, Message
from oneclaw import scripted as model
from oneclaw.crossing import in_database
from tests.browser import open_page

pytestmark = pytest.mark.browser


class Line:
    """The wire between page and server, which a test may cut and thin out."""

    def __init__(self):
        self.sockets, self.frames = [], []
        # Whether frames of this type get through to the page; whether a new socket or a request reaches the server.
        self.dropped, self.is_down = set(), False

    async def lay(self, page):
        await page.route_web_socket("**/ws/", self._opened)
        await page.route(re.compile("/healthz|/c/.*/(frame|messages)"), self._requested)

    async def _requested(self, route):
        while self.is_down:
            await asyncio.sleep(0.05)
        await route.continue_()

    async def _opened(self, socket):
        if self.is_down:
            await socket.close(code=1001)
            return
        server = socket.connect_to_server()
        self.sockets.append(socket)

        def from_page(text):
            self.frames.append(json.loads(text))
            server.send(text)

        def from_server(text):
            if json.loads(text)["type"] not in self.dropped:
                socket.send(text)

        socket.on_message(from_page)
        server.on_message(from_server)

    async def cut(self):
        for socket in self.sockets:
            await socket.close(code=1001)
        self.sockets.clear()

    def sent(self, kind):
        return [frame for frame in self.frames if frame["type"] == kind]


async def stored():
    messages = Message.objects.filter(role="user").order_by("pk")
    return await in_database(lambda: list(messages.values_list("text", flat=True)))


async def test_a_lost_acknowledgement_makes_no_second_message(live, ada, scripted, write):
    line = Line()
    async with open_page(live, ada) as page:
        await line.lay(page)
        await page.goto("/")
        line.dropped = {"ack", "message", "block", "done"}
        await write(page, "Only once")
        await expect(page.locator("article")).to_have_count(1)
        await expect(page.locator("article")).to_contain_text("Sending")
        line.dropped = set()
        await line.cut()
        await expect(page.locator("article[data-role=assistant]")).to_have_text("Hello from the scripted model.")
        await expect(page.locator("article[data-role=user]")).to_have_text(["Only once"])
        first, again = line.sent("send")
        assert first == again
        await expect(page).to_have_url(re.compile("/c/"))
    assert await stored() == ["Only once"]


async def test_what_is_written_without_a_connection_leaves_when_there_is_one(live, ada, scripted, ask, write):
    line = Line()
    async with open_page(live, ada) as page:
        await line.lay(page)
        await page.goto("/")
        await ask(page, "One")
        line.is_down = True
        await line.cut()
        await write(page, "Two")
        await expect(page.locator("[data-connection]")).to_have_text("Connecting again …")
        await expect(page.locator("article").last).to_contain_text("Not sent")
        line.is_down = False
        await expect(page.locator("article[data-role=assistant]")).to_have_count(2)
        await expect(page.locator("[data-connection]")).to_be_empty()
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Two"])
    assert await stored() == ["One", "Two"]


async def test_a_message_on_its_way_survives_a_reload_of_a_new_conversation(live, ada, scripted, write):
    line = Line()
    async with open_page(live, ada) as page:
        await line.lay(page)
        line.is_down = True
        await page.goto("/")
        await write(page, "Do not lose me")
        session = await page.evaluate("Object.values(localStorage).join()")
        await page.reload()
        await expect(page.locator("article")).to_contain_text("Do not lose me")
        line.is_down = False
        await expect(page.locator("article[data-role=assistant]")).to_have_text(
            "Hello from the scripted model.",
        )
        assert page.url.partition("/c/")[2] in session
        await page.goto("/")
        await expect(page.locator("article")).to_have_count(0)
    assert await stored() == ["Do not lose me"]
    assert await in_database(ChatSession.objects.count) == 1


async def test_an_answer_goes_on_in_view_after_a_break(live, ada, scripted, write):
    scripted.script(model.answer(model.text(["One. "] + ["more "] * 20 + ["Last."], pace=0.1)))
    line = Line()
    async with open_page(live, ada) as page:
        await line.lay(page)
        await page.goto("/")
        await write(page, "Count")
        answer = page.locator("article[data-role=assistant]")
        await expect(answer).to_contain_text("One. more")
        await line.cut()
        await expect(answer).to_contain_text("Last.")
        await expect(answer).to_have_count(1)
        await expect(answer).to_have_attribute("data-status", "complete")
        assert line.sent("open")[-1]["last_seq"] == 1


async def test_an_answer_that_ended_meanwhile_is_there_after_the_break(live, ada, scripted, write):
    scripted.script(model.answer(model.text(["One. ", "Two."], pace=0.3)))
    line = Line()
    async with open_page(live, ada) as page:
        await line.lay(page)
        await page.goto("/")
        await write(page, "Count")
        answer = page.locator("article[data-role=assistant]")
        await expect(answer).to_contain_text("One.")
        line.is_down = True
        await line.cut()
        await page.wait_for_timeout(1000)
        line.is_down = False
        await expect(answer).to_have_text("One. Two.")
        await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def test_a_message_that_finds_an_answer_running_waits_for_its_turn(live, ada, scripted, ask, write):
    scripted.script(
        model.answer(model.text("First.")),
        model.answer(model.text(["Sec", "ond."], pace=0.8)),
        model.answer(model.text("Third.")),
    )
    line = Line()
    async with open_page(live, ada) as page:
        await line.lay(page)
        await page.goto("/")
        await ask(page, "One")
        other = await page.context.new_page()
        await other.goto(page.url)
        # This tab does not hear that the other one has asked.
        line.dropped = {"message", "block"}
        await write(other, "Two")
        await expect(other.get_by_role("button", name="Stop")).to_be_visible()
        await write(page, "Three")
        await expect(page.locator("article").last).to_contain_text("Waits for the running answer")
        line.dropped = set()
        await expect(page.locator("article[data-role=assistant]").last).to_have_text("Third.")
    assert await stored() == ["One", "Two", "Three"]


async def test_a_refused_message_can_be_edited(live, ada, scripted, ask, write, settings):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "One")
        settings.MESSAGE_LENGTH = 10
        await write(page, "This is too long")
        refused = page.locator("article").last
        await expect(refused).to_contain_text("at most 10 can be sent")
        await page.reload()
        await expect(refused).to_contain_text("This is too long")
        await refused.get_by_role("button", name="Edit").click()
        text = page.get_by_label("Message", exact=True)
        await expect(text).to_have_value("This is too long")
        await expect(text).to_be_focused()
        await text.fill("Short")
        await page.keyboard.press("Enter")
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Short"])
        await page.reload()
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Short"])


async def test_frames_that_come_late_or_twice_do_no_harm(live, ada, scripted, ask):
    scripted.script(model.answer(model.text("A *whole* answer.")))
    line = Line()
    async with open_page(live, ada) as page:
        await line.lay(page)
        await page.goto("/")
        answer = await ask(page, "Hello")
        html = await answer.evaluate("a => a.outerHTML")
        message = (await answer.get_attribute("id")).removeprefix("message-")
        still = f'<article id="message-{message}" data-seq="2" data-status="running"></article>'
        late = [
            {"type": "block", "message": message, "index": 0, "revision": 1, "html": "<p>Old</p>"},
            {"type": "block", "message": "999999", "index": 0, "revision": 1, "html": "<p>Nobody's</p>"},
            {"type": "tool", "message": message, "id": "x", "name": "x", "state": "running", "html": "<p>Old</p>"},
            {"type": "message", "id": message, "seq": 2, "html": still},
            {"type": "message", "id": "77", "seq": 3, "html": ""},
            {"type": "done", "message": message, "status": "complete", "final": True, "usage": None},
            {"type": "something new"},
        ]
        for frame in late:
            line.sockets[0].send(json.dumps(frame))
        await page.wait_for_timeout(200)
        assert await answer.evaluate("a => a.outerHTML") == html
        await expect(page.locator("article")).to_have_count(2)


async def test_who_is_signed_out_is_told_and_keeps_the_text(live, ada, scripted, ask):
    line = Line()
    async with open_page(live, ada) as page:
        await line.lay(page)
        await page.goto("/")
        await ask(page, "One")
        await page.get_by_label("Message", exact=True).fill("A draft")
        await page.context.clear_cookies()
        await line.cut()
        link = page.get_by_role("link", name="You are signed out: sign in again.")
        await link.click()
        await expect(page).to_have_title("Sign in – OneClaw")
        await page.get_by_label("Email").fill("ada@example.org")
        await page.get_by_label("Password").fill("correct horse battery")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Message", exact=True)).to_have_value("A draft")
