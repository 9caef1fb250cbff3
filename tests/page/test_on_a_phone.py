"""What is done at a desk with a pointer, done by touch on a phone."""

import pytest
from playwright.async_api import expect

from chat.models import Agent
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import PHONE, fits, open_page, violations

pytestmark = pytest.mark.browser

USER, ANSWER = "article[data-role=user] .message__body", "article[data-role=assistant] .message__body"
BOTTOM = "s => s.scrollHeight - s.scrollTop - s.clientHeight"


async def reads_well(page):
    assert await fits(page)
    assert await violations(page) == ""


async def test_say_it_differently_follow_queue_stop_and_try_again(live, ada, scripted, ask, write, listed):
    scripted.script(
        *(model.answer(model.text(text)) for text in ("First.", "Second.", "Third.")),
        # What one taps while it comes must not move: its end is one long line.
        model.answer(
            model.text([f"Line {number}.\n\n" for number in range(120)], pace=0.02),
            model.text(["Long"] + [" words"] * 400, pace=0.1),
        ),
        model.answer(model.text(" and the rest.")),
        model.key_refused(),
        model.answer(model.text("Now it works.")),
    )
    async with open_page(live, ada, viewport=PHONE, has_touch=True) as page:
        await page.goto("/")
        await ask(page, "One")
        mine, answer = page.locator("article[data-role=user]"), page.locator("article[data-role=assistant]")
        await mine.get_by_role("link", name="Edit").tap()
        await page.get_by_label("Edit your message").fill("Uno")
        await reads_well(page)
        await page.locator(".editing").get_by_role("button", name="Send").tap()
        await expect(page.locator(ANSWER)).to_have_text(["Second."])
        await expect(mine.locator(".versions__place")).to_have_text("2 / 2")
        await answer.get_by_role("button", name="Regenerate").tap()
        await expect(page.locator(ANSWER)).to_have_text(["Third."])
        await answer.get_by_role("button", name="Earlier version").tap()
        await expect(page.locator(ANSWER)).to_have_text(["Second."])
        await mine.get_by_role("button", name="Earlier version").tap()
        await expect(page.locator(USER)).to_have_text(["One"])
        await reads_well(page)
        # It follows the answer, but not while one reads further up.
        await write(page, "Count")
        await expect(answer.last).to_contain_text("Line 40.")
        scroller, latest = page.locator("[data-scroller]"), page.get_by_role("button", name="Latest")
        await page.wait_for_function(f"s => ({BOTTOM})(s) < 60", arg=await scroller.element_handle())
        await scroller.hover()
        await page.mouse.wheel(0, -600)
        await page.wait_for_timeout(200)
        top = await scroller.evaluate("s => s.scrollTop")
        await expect(answer.last).to_contain_text("Long words")
        assert abs(await scroller.evaluate("s => s.scrollTop") - top) < 5
        await latest.tap()
        assert await scroller.evaluate(BOTTOM) < 60
        await expect(latest).to_be_hidden()
        # What is sent meanwhile waits, can be changed, and can be taken out again.
        await write(page, "Never mind")
        queued = page.locator(".message--pending")
        await queued.get_by_role("button", name="Edit").tap()
        await expect(page.get_by_label("Message", exact=True)).to_have_value("Never mind")
        await write(page, "Do not mind")
        await expect(queued).to_contain_text("Do not mind")
        assert await fits(page)
        await page.get_by_role("button", name="Remove").tap()
        await page.get_by_role("button", name="Stop").tap()
        await expect(answer.last).to_have_attribute("data-status", "stopped")
        await page.get_by_role("button", name="Continue").tap()
        await expect(answer.last).to_contain_text("and the rest.")
        await expect(page.locator(USER)).to_have_text(["One", "Count"])
        # A failure, and another try.
        await write(page, "And now?")
        await expect(answer.last).to_contain_text("refused the API key")
        assert await fits(page)
        await page.get_by_role("button", name="Retry").tap()
        await expect(page.locator(ANSWER).last).to_have_text("Now it works.")
        # Help stands among the commands.
        await listed(page)
        await page.get_by_role("link", name="Search").tap()
        await page.get_by_role("link", name="Keyboard shortcuts").tap()
        help_sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
        await expect(help_sheet).to_be_visible()
        assert await fits(page)
        await help_sheet.get_by_role("button", name="Close").tap()
        await expect(help_sheet).to_be_hidden()


SMALL = """() => [...document.querySelectorAll("a, button, select, summary, input, textarea")]
    .filter((e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
    // Links inside of text are exempt (WCAG 2.5.8), and check boxes have the row of their label.
    .filter((e) => !e.closest(".visually-hidden, .skip-link, .prose, .page p a, .chosen__name, [type=checkbox]"))
    .map((e) => [e, (e.closest("label") ?? e).getBoundingClientRect()])
    .filter(([, { width, height }]) => width && (width < 44 || height < 44))
    .map(([e, { width, height }]) => `${e.className || e.tagName} ${e.textContent.trim()} ${width} × ${height}`)"""


async def test_what_is_tapped_is_large_enough_and_the_choices_are_one_row(live, ada, scripted, ask, listed, settings):
    settings.MODEL, settings.MODELS = (
        "server-model",
        {"great-model": "A great model with a long name", "small": "Small"},
    )
    await in_database(lambda: Agent.objects.create(owner=ada, slug="rhymer", name="Rhymer", instructions="Rhyme."))
    async with open_page(live, ada, viewport=PHONE, has_touch=True, is_mobile=True) as page:
        await page.goto("/")
        tops = await page.locator(".composer__choices select").evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect().top)"
        )
        assert len(tops) == 3
        assert len(set(tops)) == 1
        assert await fits(page)
        assert await page.evaluate(SMALL) == []
        # Enter breaks the line; the button sends.
        text = page.get_by_label("Message", exact=True)
        await text.fill("One")
        await page.keyboard.press("Enter")
        await page.keyboard.type("two")
        await expect(text).to_have_value("One\ntwo")
        await expect(text).to_have_attribute("enterkeyhint", "enter")
        await page.get_by_role("button", name="Send").tap()
        await expect(page.locator(USER)).to_have_text("One\ntwo")
        await expect(page.get_by_role("button", name="Regenerate")).to_be_visible()
        assert await page.evaluate(SMALL) == []
        await listed(page)
        assert await page.evaluate(SMALL) == []
        await page.get_by_title("Account").tap()
        await reads_well(page)
        assert await page.evaluate(SMALL) == []
        for path in "/conversations", "/settings/", "/memory/":
            await page.goto(path)
            assert await page.evaluate(SMALL) == [], path
            assert await fits(page)


async def test_a_phone_on_its_side_shows_conversations(live, ada, many):
    async with open_page(live, ada, viewport={"width": 844, "height": 390}, has_touch=True, is_mobile=True) as page:
        await page.goto("/")
        rows = page.get_by_role("navigation", name="Conversations").get_by_role("listitem")
        for number in range(3):
            await expect(rows.nth(number)).to_be_in_viewport(ratio=1)
        await expect(page.get_by_label("Message", exact=True)).to_be_in_viewport()
        await reads_well(page)
