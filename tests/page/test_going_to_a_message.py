"""A search result inside the open conversation: the page goes to its message and marks it."""

import pytest
from playwright.async_api import expect

from tests.browser import DESKTOP, PHONE, open_page, violations_in_both_schemes
from tests.conversations import send, settle

pytestmark = pytest.mark.browser


@pytest.fixture
def long(live, ada):
    """A conversation whose first message is far above the newest page of it."""
    first = send(ada, "Which tea grows on Naxos?")
    settle(first, "Sage tea.")
    for number in range(40):
        settle(send(ada, f"Question {number}.", session_id=first.message.session_id), f"Answer {number}. " * 20)
    return first.message


async def search_and_open(page, words):
    await page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search and commands")
    await page.keyboard.type(words)
    await expect(palette.locator("mark").first).to_have_text(words)
    await palette.get_by_role("link").filter(has=page.locator("mark")).first.click()


async def test_a_result_in_the_open_conversation_is_gone_to_and_marked(live, ada, long):
    async with open_page(live, ada) as page:
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            await page.goto("about:blank")
            await page.goto(f"/c/{long.session_id}")
            first, marked = page.locator(f"#message-{long.pk}"), page.locator("[data-marked]")
            await expect(first).to_have_count(0)
            await search_and_open(page, "Naxos")
            await expect(first).to_be_in_viewport()
            await expect(first).to_be_focused()
            await expect(marked).to_have_text(["Which tea grows on Naxos?"])
            # Another one, and the first one once more, although the address is then the same.
            await search_and_open(page, "Sage")
            await expect(marked).to_have_text(["Sage tea."])
            await page.locator("[data-scroller]").evaluate("s => s.scrollTop = s.scrollHeight")
            await expect(marked).not_to_be_in_viewport()
            await search_and_open(page, "Sage")
            await expect(marked).to_be_in_viewport()
        assert await violations_in_both_schemes(page) == ""
