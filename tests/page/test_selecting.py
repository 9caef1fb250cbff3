"""What is selected in a block that still grows stays selected, because what is complete in it stays the same nodes."""

import json

import pytest

from chat.rendering.incremental import GrowingText
from chat.rendering.messages import thinking_html, with_code_buttons
from tests.browser import open_page

pytestmark = pytest.mark.browser

RUNNING = (
    '<article id="message-900000" class="message message--assistant" data-seq="900000" data-role="assistant"'
    ' data-status="running"><div class="message__body prose"></div></article>'
)
# The beginning, whose word "early" is selected, and what comes after it.
KINDS = {
    "paragraph": ("The **first** early words ", ["go on", " and **on", "** with [a link](http://a.b)", " to the end."]),
    "list": ("- one early item\n- two", [" words\n", "- three\n", "  - inner\n", "\n- loose"]),
    "table": ("| a | b |\n|---|---|\n| early | 1 |\n| two", [" words | 2 |\n", "| three | 3 |\n", "| $x$ |"]),
    "quotation": ("> some early words\n> more", [" of **them**", "\n> - a list", "\n> - in it"]),
    "code": ("```python\nearly = 1\n", ["two = 2\n", "three = 3\n" * 40, "```\n"]),
    "formulas": ("so $x^2$ is early and", [" $y^2$", " is", " not $z"]),
}
SELECT = """block => {
    const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    let text = texts.nextNode();
    while (!text.data.includes("early")) text = texts.nextNode();
    const at = text.data.indexOf("early");
    getSelection().setBaseAndExtent(text, at, text, at + 5);
    window.selectedText = text;
}"""


def growing(kind):
    """Yield the HTML of the block as it grows."""
    begun, more = KINDS[kind]
    text = GrowingText()
    for delta in [begun, *more]:
        text.append(delta)
        yield with_code_buttons(text.blocks()[0])


async def test_a_selection_in_a_growing_block_is_kept(live, ada):
    sockets = []

    def to_server(socket):
        socket.connect_to_server()
        sockets.append(socket)

    async with open_page(live, ada) as page:
        await page.route_web_socket("**/ws/", to_server)
        await page.goto("/")
        await page.wait_for_function("() => document.querySelector('[data-connection]').textContent === ''")
        revision = 0

        async def show(index, html):
            nonlocal revision
            revision += 1
            frame = {"type": "block", "message": "900000", "index": index, "revision": revision, "html": html}
            sockets[-1].send(json.dumps(frame))
            await page.locator(f".block[data-revision='{revision}']").wait_for(state="attached")
            return page.locator(f".block[data-index='{index}']")

        sockets[-1].send(json.dumps({"type": "message", "seq": 900000, "id": "900000", "html": RUNNING}))
        await page.locator("#message-900000").wait_for(state="attached")
        for index, kind in enumerate(KINDS):
            states = list(growing(kind))
            block = await show(index, states[0])
            await block.evaluate(SELECT)
            for html in states[1:]:
                await show(index, html)
                assert await page.evaluate("getSelection().toString()") == "early", (kind, html)
                # Colours come with the end of a block of code, and replace its text.
                assert await page.evaluate("selectedText.isConnected") or 'class="n"' in html, (kind, html)
            await page.wait_for_function("() => !document.querySelector('.math:not(.math--set)')")
            # Made once more from nothing, the page has the same.
            shown = await block.evaluate("block => block.innerHTML")
            fresh = await show(index + 100, states[-1])
            await page.wait_for_function("() => !document.querySelector('.math:not(.math--set)')")
            assert shown == await fresh.evaluate("block => block.innerHTML"), kind

        block = await show(50, thinking_html("Some early thoughts"))
        await block.locator("summary").click()
        await block.evaluate(SELECT)
        await show(50, thinking_html("Some early thoughts, and more of them"))
        assert await page.evaluate("getSelection().toString()") == "early"
        assert await block.locator("details").evaluate("details => details.open")


async def test_a_selection_that_ends_in_the_growing_block_is_kept(live, ada):
    """It may begin in a block above, which is complete."""
    async with open_page(live, ada) as page:
        await page.goto("/")
        kept = await page.evaluate(
            """async () => {
            const { patch } = await import("/static/js/patching.js");
            const [above, block] = [document.createElement("p"), document.createElement("div")];
            above.textContent = "above";
            document.querySelector("#main").append(above, block);
            patch(block, "<p>early words</p>");
            getSelection().setBaseAndExtent(above.firstChild, 2, block.firstChild.firstChild, 5);
            const before = getSelection().toString();
            patch(block, "<blockquote>early words and more</blockquote>");
            return [before, getSelection().toString()];
        }"""
        )
        assert kept[0] == kept[1]
        assert kept[0].endswith("early")
