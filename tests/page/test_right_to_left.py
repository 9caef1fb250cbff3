"""Read from right to left, every page stands mirrored and fits: for the day on which such a language is offered."""

import pytest
from playwright.async_api import expect

from tests import scripted as model
from tests.browser import open_page

pytestmark = pytest.mark.browser

ANSWER = "# Plan\n\n- one\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```python\nprint('a long line of code' * 20)\n```\n"
# The elements that stick out of the page, by their classes.
STICKING_OUT = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const out = (box) => box.width && (box.left < -1 || box.right > width + 1);
    return [...document.querySelectorAll("body *")].filter((each) => out(each.getBoundingClientRect()))
        .map((each) => `${each.tagName}.${each.className}`).concat("it scrolls");
}"""


async def test_every_page_fits_and_its_sides_are_swapped(live, ada, scripted, ask):
    scripted.script(
        model.answer(model.text("Yes."), model.tool_use("save_memory", {"content": "Ada likes tea."})),
        model.answer(model.text(ANSWER)),
    )
    async with open_page(live, ada, viewport={"width": 1280, "height": 800}) as page:
        await page.goto("/")
        await ask(page, "Remember that I like tea")
        places = ["/", page.url, "/conversations", "/search?q=tea", "/agents", "/prompts", "/shared", "/import"]
        places += ["/settings/", "/memory/", "/memory/switches", "/memory/forget", "/accounts/password/change/"]
        for place in places:
            assert (await page.goto(place)).status == 200, place
            await page.evaluate("document.documentElement.dir = 'rtl'")
            for width in (1280, 320):
                await page.set_viewport_size({"width": width, "height": 800})
                assert await page.evaluate(STICKING_OUT) == [], (place, width)
        await page.goto(places[1])
        await page.evaluate("document.documentElement.dir = 'rtl'")
        drawer = page.locator("#sidebar")
        await page.get_by_role("button", name="Show the list of conversations").click()
        await expect(drawer).to_be_visible()
        box = await drawer.bounding_box()
        assert box["x"] + box["width"] == pytest.approx(320, abs=1)
        await page.get_by_role("button", name="Close the list of conversations").click()
        await page.set_viewport_size({"width": 1280, "height": 800})
        assert (await drawer.bounding_box())["x"] > (await page.locator("main").bounding_box())["x"]
