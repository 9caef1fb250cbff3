"""A printed conversation is all of it: messages that were not fetched yet and folded code, without what one presses."""

import io

import pypdf
import pytest

from tests.browser import open_page
from tests.conversations import send, settle

pytestmark = pytest.mark.browser

CODE = "\n".join(["```python", *(f"value_{number} = {number}" for number in range(120)), "```"])


@pytest.fixture
def long(live, ada):
    """A hundred and twenty messages, the last of them with long code."""
    first = send(ada, "Question 0.")
    settle(first, "Answer 0.")
    for number in range(1, 59):
        settle(send(ada, f"Question {number}.", session_id=first.message.session_id), f"Answer {number}.")
    settle(send(ada, "Question 59.", session_id=first.message.session_id), CODE)
    return first.message


async def printed(page):
    """Return the text of the page on paper."""
    return " ".join(each.extract_text() for each in pypdf.PdfReader(io.BytesIO(await page.pdf())).pages)


async def test_a_conversation_prints_whole_without_furniture(live, ada, long):
    async with open_page(live, ada, color_scheme="dark") as page:
        await page.goto(f"/c/{long.session_id}")
        await page.locator("article").nth(49).wait_for()
        assert await page.locator("article").count() == 50
        text = await printed(page)
        missing = [number for number in range(60) if f"Question {number}." not in text]
        missing += [number for number in range(59) if f"Answer {number}." not in text]
        missing += [f"value_{number}" for number in range(120) if f"value_{number} " not in text]
        assert missing == []
        for furniture in ("New conversation", "to send", "Earlier messages", "Show all", "Conversations"):
            assert furniture not in text
        await page.emulate_media(media="print")
        assert await page.locator("button:visible").count() == 0
        assert await page.evaluate("getComputedStyle(document.body).colorScheme") == "light"
