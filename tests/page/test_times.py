"""The times of messages: seen on hover, and read by screen readers, in the person's timezone."""

import datetime as dt
import re

import pytest
from playwright.async_api import expect

from chat.models import Message
from tests.browser import open_page, violations
from tests.conversations import send, settle

pytestmark = pytest.mark.browser

OPACITY = "e => Number(getComputedStyle(e).opacity)"
# As the browser draws it.
DRAWN = "e => getComputedStyle(e, '::before').content"


@pytest.fixture
def old(live, ada):
    first = send(ada, "Tea?")
    settle(first, "Yes.")
    settle(send(ada, "Now?", session_id=first.message.session_id), "Now.")
    at = dt.datetime(2026, 11, 3, 13, 5, tzinfo=dt.UTC)
    Message.objects.filter(pk=first.message.pk).update(created_at=at)
    return first.message


async def test_times_are_shown_on_hover(live, ada, old, scripted, ask):
    async with open_page(live, ada, timezone_id="America/Lima") as page:
        await page.goto(f"/c/{old.session_id}")
        message = page.locator(f"#message-{old.pk}")
        time = message.locator("time")
        # Ada's timezone is Europe/Zurich, wherever the device is.
        await expect(time).to_have_attribute("data-time", re.compile(r"^Nov 3, 2026, 14:05$"))
        await expect(time).to_have_attribute("title", re.compile(r"^Tuesday, November 3, 2026 at 14:05:00$"))
        await expect(time).to_have_attribute("datetime", "2026-11-03T13:05:00+00:00")
        assert await time.evaluate(OPACITY) == 0
        await message.hover()
        assert await time.evaluate(OPACITY) == 1
        assert "Nov 3" in await time.evaluate(DRAWN)
        assert await violations(page) == ""
        # A screen reader reads it without hovering, and what is copied or searched is the text alone.
        await page.mouse.move(0, 0)
        await expect(message).to_have_text("Tea?")
        answer = await ask(page, "And now?")
        await expect(answer.locator("time")).to_have_attribute("data-time", re.compile(r"^\d+:\d\d"))
