"""Versions, forks, and what can be done with a message, in a real browser."""

import pytest
from playwright.async_api import expect

from tests import scripted as model
from tests.browser import PHONE, open_page, violations

pytestmark = pytest.mark.browser

USER, ANSWER = "article[data-role=user] .message__body", "article[data-role=assistant] .message__body"


async def test_a_message_is_said_anew_and_every_version_comes_back_in_every_tab(live, ada, scripted, ask):
    scripted.script(*(model.answer(model.text(text)) for text in ("First.", "Second.", "Third.", "Fourth.")))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "One")
        await ask(page, "Two")
        other = await page.context.new_page()
        await other.goto(page.url)
        # A message before others is edited: what followed it leaves.
        first = page.locator("article[data-role=user]").first
        await first.hover()
        await first.get_by_role("link", name="Edit").click()
        field = page.get_by_label("Edit your message")
        await expect(field).to_have_value("One")
        await field.fill("Uno")
        await page.keyboard.press("Enter")
        for tab in page, other:
            await expect(tab.locator(USER)).to_have_text(["Uno"])
            await expect(tab.locator(ANSWER)).to_have_text(["Third."])
            await expect(tab.locator(".versions__place")).to_have_text(["2 / 2"])
        # The whole answer is tried again.
        last = page.locator("article[data-role=assistant]")
        await last.hover()
        await last.get_by_role("button", name="Regenerate").click()
        for tab in page, other:
            await expect(tab.locator(ANSWER)).to_have_text(["Fourth."])
            await expect(tab.locator(".versions__place")).to_have_text(["2 / 2", "2 / 2"])
        assert await violations(page) == ""
        await last.get_by_role("button", name="Earlier version").click()
        for tab in page, other:
            await expect(tab.locator(ANSWER)).to_have_text(["Third."])
        await page.locator("article[data-role=user]").get_by_role("button", name="Earlier version").click()
        for tab in page, other:
            await expect(tab.locator(USER)).to_have_text(["One", "Two"])
            await expect(tab.locator(ANSWER)).to_have_text(["First.", "Second."])
        # The conversation goes on where it is.
        await ask(page, "Three")
        await expect(other.locator(USER)).to_have_text(["One", "Two", "Three"])
        await page.reload()
        await expect(page.locator(USER)).to_have_text(["One", "Two", "Three"])
        await expect(page.get_by_role("button", name="Later version")).to_be_enabled()


COPIED = "async (start) => (await navigator.clipboard.readText()).startsWith(start)"
LONG = "```python\n" + "".join(f"line_{number} = {number}\n" for number in range(60)) + "```\n"


@pytest.mark.parametrize("viewport", [None, PHONE])
async def test_what_can_be_done_with_a_message(live, ada, scripted, ask, viewport):
    scripted.script(
        model.answer(
            model.thinking("Hm, **tea**."),
            model.text("I keep that."),
            model.tool_use("save_memory", {"content": "Tea."}),
        ),
        model.answer(model.text(f"# Done\n\n{LONG}")),
    )
    options = {"viewport": viewport, "has_touch": True} if viewport else {}
    async with open_page(live, ada, permissions=["clipboard-read", "clipboard-write"], **options) as page:
        await page.goto("/")
        answer = await ask(page, "Remember that I like tea")
        # Thinking is folded; the card says what was asked, what came back and how long it took.
        await expect(answer.get_by_text("Hm, **tea**.")).to_be_hidden()
        await answer.get_by_text("Thinking").click()
        await expect(answer.get_by_text("Hm, **tea**.")).to_be_visible()
        card = page.get_by_role("group", name="Saved to memory")
        await expect(card.locator(".card__seconds")).to_contain_text(" s")
        await expect(card.locator("summary").first).to_contain_text("Saved to memory Tea.")
        await card.locator("summary").first.click()
        await expect(card.locator("dd").first).to_have_text("Tea.")
        await expect(card.locator("pre").last).to_be_hidden()
        await card.get_by_text("Details", exact=True).click()
        await expect(card.locator("pre").last).to_be_visible()
        # The last answer of the turn has the row.
        last = page.locator("article[data-role=assistant]").last
        await expect(last.locator("h3")).to_have_text("Done")
        box = last.locator(".code-box")
        assert (await box.locator("pre").bounding_box())["height"] < 400
        await box.get_by_text("Show all 60 lines").click()
        assert (await box.locator("pre").bounding_box())["height"] > 900
        await expect(box.get_by_text("Show less")).to_be_visible()
        await box.get_by_role("button", name="Copy this code").click()
        await page.wait_for_function(COPIED, arg="line_0 = 0\nline_1")
        await last.get_by_role("button", name="Copy", exact=True).click()
        await page.wait_for_function(COPIED, arg="I keep that.\n\n# Done\n\n```python")
        await expect(page.locator("[data-announcer]")).to_contain_text("Copied.")
        await last.get_by_role("link", name="Show source").click()
        await expect(last.locator(".written")).to_contain_text("I keep that.\n\n# Done")
        await expect(last.locator("h3")).to_be_hidden()
        assert await violations(page) == ""
        await last.get_by_role("link", name="Show formatted").click()
        await expect(last.locator("h3")).to_be_visible()
        await last.get_by_role("link", name="Details").click()
        details = page.get_by_role("dialog", name="Answer")
        await expect(details).to_contain_text("Output tokens")
        assert await violations(page) == ""
        await page.keyboard.press("Escape")
        await expect(details).to_be_hidden()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await last.get_by_role("button", name="Fork").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Remember that I like tea (fork)")
        await expect(page.locator("h3")).to_have_text("Done")
        await ask(page, "And now?")
        await expect(page.locator("article[data-role=user]")).to_have_count(2)
