"""Text that is read from right to left stands so, also beside other text; and read so, every page stands mirrored and
fits: for the day on which such a language is offered."""

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


ENGLISH = "Tea is drunk here."
ARABIC = "نشرب الشاي هنا."
# The side at which the text of an element stands, measured by what is free beside it.
SIDE = """element => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const [text, box] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
    const { paddingLeft, paddingRight } = getComputedStyle(element);
    const left = text.left - box.left - parseFloat(paddingLeft);
    const right = box.right - text.right - parseFloat(paddingRight);
    return Math.abs(left - right) < 2 ? "both" : left < right ? "left" : "right";
}"""


def mixed(first, second):
    """An answer with each kind of block in two directions."""
    arabic_table = "| اسم | عدد |\n|---|--:|\n| شاي | 12 |"
    return (
        f"{first}\n\n{second}\n\n## {ARABIC}\n\n- {ARABIC}\n- {ENGLISH}\n\n1. {ENGLISH}\n\n"
        f"> {ARABIC}\n\n{arabic_table}\n\n"
        "| Name | Count |\n|---|--:|\n| شاي | 12 |\n\nاكتب `a-b (c)` هنا.\n\n```\nx = 1  # شاي\n```\n"
    )


@pytest.mark.parametrize("words", [(ENGLISH, ARABIC), (ARABIC, ENGLISH)])
async def test_each_block_has_the_direction_of_its_first_letter(live, ada, scripted, ask, words):
    scripted.script(model.answer(mixed(*words)))
    async with open_page(live, ada, viewport={"width": 1280, "height": 800}) as page:
        await page.goto("/")
        field = page.get_by_label("Message", exact=True)
        for text, direction in ((ARABIC, "rtl"), (ENGLISH, "ltr")):
            await field.fill(text)
            assert await field.evaluate("field => getComputedStyle(field).direction") == direction
        answer = await ask(page, "\n".join(words))

        async def sides(selector):
            return [await element.evaluate(SIDE) for element in await answer.locator(selector).all()]

        side = {ENGLISH: "left", ARABIC: "right"}
        assert await sides(".block > p") == [*(side[each] for each in words), "right"]
        assert await sides("h3") == ["right"]
        assert await sides("blockquote p") == ["right"]
        assert await sides("li") == ["right", "left", "left"]
        # The column of the first head, and its cells at the same side.
        first, second = (answer.locator("table").nth(index) for index in (0, 1))
        for table, at in ((first, "right"), (second, "left")):
            boxes = [await table.locator("th").nth(index).bounding_box() for index in (0, 1)]
            assert (boxes[0]["x"] > boxes[1]["x"]) == (at == "right")
            cells = table.locator("tr > :first-child")
            assert {await cell.evaluate(SIDE) for cell in await cells.all()} <= {at, "both"}
        directions = "each => getComputedStyle(each).direction"
        items = [await item.evaluate(directions) for item in await answer.locator("ul li").all()]
        assert items == ["rtl", "ltr"]
        # There is room for the marker at its side.
        padding = await answer.locator("ul").evaluate(
            "list => [getComputedStyle(list).paddingLeft, getComputedStyle(list).paddingRight]"
        )
        assert padding[0] == padding[1] != "0px"
        assert await answer.locator("blockquote").evaluate(directions) == "rtl"
        assert await answer.locator("ol li").evaluate(directions) == "ltr"
        assert await answer.locator("p code").evaluate("code => getComputedStyle(code).unicodeBidi") == "isolate"
        assert await sides("pre.code") == ["left"]
        said = page.locator("article[data-role=user] .said")
        assert await said.evaluate("said => getComputedStyle(said).unicodeBidi") == "plaintext"


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
