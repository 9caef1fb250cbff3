"""What tests of the page do again and again in a browser."""

import pytest

from tests.conversations import send, settle

ANSWER = "article[data-role=assistant]"


@pytest.fixture
def write():
    """await write(page, "Hello"): type it and press Enter, or the button on a touch screen."""

    async def write(page, text):
        await page.get_by_label("Message", exact=True).fill(text)
        if await page.evaluate("matchMedia('(pointer: coarse) and (hover: none)').matches"):
            await page.get_by_role("button", name="Send").tap()
        else:
            await page.keyboard.press("Enter")

    return write


@pytest.fixture
def paste():
    """await paste(page, "Hello"): paste it into the message at the caret, from the clipboard as if from elsewhere."""

    async def paste(page, text):
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.evaluate("text => navigator.clipboard.writeText(text)", text)
        await page.get_by_label("Message", exact=True).press("ControlOrMeta+v")

    return paste


@pytest.fixture
def listed():
    """await listed(page): the list of conversations, which on a phone is a drawer that is opened first."""

    async def listed(page):
        if not await page.locator("#sidebar").is_visible():
            await page.get_by_role("button", name="Show the list of conversations").click()
        return page.get_by_role("navigation", name="Conversations")

    return listed


@pytest.fixture
def ask(write):
    """await ask(page, "Hello"): write it and wait until its answer is finished; returns the answer's element."""

    async def ask(page, text):
        before = await page.locator(ANSWER).count()
        await write(page, text)
        answer = page.locator(ANSWER).nth(before)
        await answer.and_(page.locator(":not([data-status=running])")).wait_for()
        await page.get_by_role("button", name="Send").wait_for()
        return answer

    return ask


@pytest.fixture
def many(live, ada):
    """Thirty conversations of Ada's."""
    for number in range(30):
        settle(send(ada, f"Tea {number}"), "Yes.")
