"""A page whose WebSocket is blocked goes on by plain requests, with the same ids."""

import asyncio
import json
import uuid

import pytest
from playwright.async_api import expect

from chat.conversations import lifecycle
from chat.models import ChatSession, Message
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import open_page

pytestmark = pytest.mark.browser
# Milliseconds: the page asks only now and then.
PATIENCE = 15_000
ANSWER = "article[data-role=assistant]"


class Blocked:
    """No WebSocket comes through, until `lift`."""

    def __init__(self):
        self.is_lifted, self.opened = False, asyncio.Event()

    async def lay(self, page):
        await page.route_web_socket("**/ws/", self._opened)

    async def _opened(self, socket):
        if self.is_lifted:
            socket.connect_to_server()
            self.opened.set()
        else:
            await socket.close(code=1011)


async def stored():
    return await in_database(lambda: list(Message.objects.said().order_by("seq").values_list("role", "text", "status")))


async def test_a_conversation_without_a_socket(live, ada, scripted, write):
    scripted.script(model.answer("Good **morning**"), model.answer(model.text(["Slow"] + [" more"] * 200, pace=0.1)))
    async with open_page(live, ada) as page:
        await Blocked().lay(page)
        await page.goto("/")
        await write(page, "Hello")
        await expect(page.locator(f"{ANSWER} strong")).to_have_text("morning", timeout=PATIENCE)
        await write(page, "Tell me more")
        await expect(page.locator(ANSWER).nth(1)).to_contain_text("Slow more", timeout=PATIENCE)
        await page.get_by_role("button", name="Stop").click()
        await expect(page.locator(f"{ANSWER}[data-status=stopped]")).to_be_visible(timeout=PATIENCE)
        await expect(page.get_by_role("button", name="Send")).to_be_visible()
        shown = await page.locator("article").count()
        await page.reload()
        await expect(page.locator("article")).to_have_count(shown)
    assert [(role, status) for role, _, status in await stored()] == [
        ("user", "complete"),
        ("assistant", "complete"),
        ("user", "complete"),
        ("assistant", "stopped"),
    ]


async def test_the_page_returns_to_the_socket_and_nothing_is_there_twice(live, ada, scripted, write):
    block = Blocked()
    async with open_page(live, ada) as page:
        await block.lay(page)
        await page.goto("/")
        await write(page, "By request")
        await expect(page.locator(f"{ANSWER}[data-status=complete]")).to_have_count(1, timeout=PATIENCE)
        block.is_lifted = True
        await page.evaluate("dispatchEvent(new Event('online'))")
        await block.opened.wait()
        await write(page, "By socket")
        await expect(page.locator(f"{ANSWER}[data-status=complete]")).to_have_count(2, timeout=PATIENCE)
        await expect(page.locator("article")).to_have_count(4)
    assert [text for role, text, _ in await stored() if role == "user"] == ["By request", "By socket"]


async def test_an_answer_that_is_tried_again_elsewhere_is_replaced(live, ada, scripted, write):
    scripted.script(model.key_refused(), model.answer("Better."))
    async with open_page(live, ada) as page, open_page(live, ada) as other:
        await Blocked().lay(page)
        await page.goto("/")
        await write(page, "Hello")
        await expect(page.locator(f"{ANSWER}[data-status=failed]")).to_have_count(1, timeout=PATIENCE)
        await other.goto(page.url)
        await other.get_by_role("button", name="Retry").click()
        await expect(page.locator(ANSWER).locator(".message__body")).to_have_text("Better.", timeout=PATIENCE)
        await expect(page.locator("article")).to_have_count(2)


async def test_what_was_pressed_without_a_network_is_done_when_it_is_back(live, ada, scripted, write):
    scripted.script(
        model.answer(model.text(["Slow"] + [" more"] * 400, pace=0.1)),
        model.answer("And the rest."),
        model.answer("Waited."),
    )

    async def press(name):
        await page.route("**/frame", lambda route: route.abort(), times=1)
        await page.get_by_role("button", name=name).click()

    async def say_busy(route):
        client_id = route.request.post_data_json["client_id"]
        await route.fulfill(json={"type": "error", "code": "busy", "text": "Busy.", "client_id": client_id})

    async with open_page(live, ada, expect=["ERR_FAILED"]) as page:
        await Blocked().lay(page)
        await page.goto("/")
        await write(page, "Tell me")
        await expect(page.locator(ANSWER)).to_contain_text("Slow more", timeout=PATIENCE)
        await press("Stop")
        await expect(page.locator(f"{ANSWER}[data-status=stopped]")).to_be_visible(timeout=PATIENCE)
        await press("Continue")
        await expect(page.locator(f"{ANSWER} .message__body").last).to_have_text("And the rest.", timeout=PATIENCE)
        # Another answer is running, and ends before this page has seen it.
        await page.route("**/frame", say_busy, times=1)
        await write(page, "Wait")
        await expect(page.locator(ANSWER).last).to_have_text("Waited.", timeout=PATIENCE)
    assert [(role, status) for role, _, status in await stored()] == [
        ("user", "complete"),
        ("assistant", "stopped"),
        ("assistant", "complete"),
        ("user", "complete"),
        ("assistant", "complete"),
    ]


async def test_what_another_tab_wrote_before_ones_own_message_is_shown(live, ada, scripted, ask, write):
    async with open_page(live, ada, expect=["404"]) as page:
        await Blocked().lay(page)
        await page.goto("/")
        await write(page, "One")
        await expect(page.locator(f"{ANSWER}[data-status=complete]")).to_have_count(1, timeout=PATIENCE)
        other = await page.context.new_page()
        await other.goto(page.url)
        asked = asyncio.Event()

        async def hold(route):
            await asked.wait()
            await route.continue_()

        await page.route("**/messages?*", hold)
        await ask(other, "Two")
        await write(page, "Three")
        await expect(other.locator(ANSWER)).to_have_count(3)
        asked.set()
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Two", "Three"], timeout=PATIENCE)
        await expect(page.locator("article")).to_have_count(6)
        await expect(page.locator(f"{ANSWER}[data-status=complete]")).to_have_count(3, timeout=PATIENCE)
        await in_database(lambda: lifecycle.delete(ChatSession.objects.get()))
        await write(page, "Too late")
        await expect(page.locator("article").last).to_contain_text("no longer exists", timeout=PATIENCE)


def posted(client, session, **frame):
    address = f"/c/{session}/frame"
    return client.post(address, json.dumps(frame), content_type="application/json").json()


@pytest.mark.django_db(transaction=True)
def test_a_frame_by_post_is_refused_in_one_sentence(client, ada, stranger, scripted):
    session, client_id = uuid.uuid4(), str(uuid.uuid4())
    client.force_login(ada)
    refused = posted(client, session, type="send", client_id=client_id, text="a" * 100_000_0)
    assert (refused["type"], refused["code"]) == ("error", "too_large")
    refused = posted(client, session, type="send", client_id=client_id, text="a\0b")
    assert (refused["code"], refused["client_id"]) == ("bad_text", client_id)
    assert posted(client, session, type="open")["code"] == "bad_frame"
