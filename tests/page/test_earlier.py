"""Earlier messages of a long conversation in a browser."""

import json

import pytest
from playwright.async_api import expect

from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.conversations import send, settle

pytestmark = pytest.mark.browser


@pytest.fixture
def long(live, ada):
    """A hundred and twenty messages."""
    first = send(ada, "Question 0.")
    settle(first, "Answer 0.")
    for number in range(1, 60):
        settle(send(ada, f"Question {number}.", session_id=first.message.session_id), f"Answer {number}.")
    return first.message


async def test_earlier_messages_come_as_one_scrolls_up(live, ada, long, scripted, ask):
    async with open_page(live, ada) as page:
        articles = page.locator("article")
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            await page.goto(f"/c/{long.session_id}")
            await expect(articles).to_have_count(50)
            await expect(articles.last).to_be_in_viewport()
            first = page.get_by_text("Question 35.")
            await first.scroll_into_view_if_needed()
            await page.mouse.move(viewport["width"] - 100, 300)
            await page.mouse.wheel(0, -3000)
            await expect(articles).to_have_count(100)
            # Near the top, the rest comes by itself.
            while await articles.count() < 120:
                await page.mouse.wheel(0, -3000)
                await page.wait_for_timeout(100)
            await expect(page.get_by_role("link", name="Earlier messages")).to_have_count(0)
            assert await fits(page)
        await ask(page, "And now?")
        await expect(articles).to_have_count(122)
        await expect(articles.nth(120)).to_have_text("And now?")


async def test_a_message_that_comes_again_unchanged_keeps_its_elements(live, ada, long):
    async with open_page(live, ada) as page:
        sockets = []

        def to_server(socket):
            socket.connect_to_server()
            sockets.append(socket)

        async def send_again(message, before="", after=""):
            seq, html = await message.evaluate("message => [Number(message.dataset.seq), message.outerHTML]")
            id = (await message.get_attribute("id")).removeprefix("message-")
            sockets[-1].send(json.dumps({"type": "message", "seq": seq, "id": id, "html": html.replace(before, after)}))

        await page.route_web_socket("**/ws/", to_server)
        await page.goto(f"/c/{long.session_id}")
        kept, changed = (page.locator("article", has_text=f"Question {number}.") for number in (58, 59))
        text = await kept.get_by_text("Question 58.").element_handle()
        await send_again(kept)
        await send_again(changed, "Question 59.", "Another question.")
        await expect(page.get_by_text("Another question.")).to_be_visible()
        assert await text.evaluate("text => text.isConnected")


async def test_an_address_may_name_a_message_that_is_far_above(live, ada, long):
    async with open_page(live, ada) as page:
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            await page.goto("about:blank")
            await page.goto(f"/c/{long.session_id}#message-{long.pk}@{long.seq}")
            await expect(page.locator(f"#message-{long.pk}")).to_be_in_viewport()
            await expect(page.locator("article")).to_have_count(120)
