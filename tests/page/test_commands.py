"""Commands of the composer, in a browser."""

import pytest
from playwright.async_api import expect

from chat.models import ChatSession
from oneclaw.threads import in_database
from tests.browser import open_page

pytestmark = pytest.mark.browser


async def test_new_ends_the_conversation_and_begins_an_empty_one(live, ada, scripted, ask, write):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Hello")
        old = page.url
        await write(page, "/new")
        await expect(page.locator("article")).to_have_count(0)
        assert page.url != old
        await ask(page, "Hello again")
        await page.goto(old)
        await expect(page.locator("article")).to_have_count(2)
    sessions = await in_database(lambda: list(ChatSession.objects.order_by("created_at")))
    assert [session.ended_at is not None for session in sessions] == [True, False]
