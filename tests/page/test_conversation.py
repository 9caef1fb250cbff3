"""A conversation in a real browser: what streams in, what stays after a reload, what a failure looks like."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from chat.models import Message
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page

pytestmark = pytest.mark.browser

MARKDOWN = (
    "A **plan**:\n\n1. one\n2. two\n\n| Room | Boxes |\n|---|---|\n| Study | 21 |\n\n```python\nboxes = 21\n```\n\n"
    "- [x] The van\n- [ ] The lift\n"
)


async def test_an_answer_is_the_same_while_it_came_and_after_a_reload(live, ada, scripted, ask):
    scripted.script(model.answer(model.text(MARKDOWN, size=3, pace=0.002)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        answer = await ask(page, "A plan,\nplease <b>")
        assert await answer.locator("strong").inner_text() == "plan"
        assert await answer.locator("td").all_inner_texts() == ["Study", "21"]
        html = await answer.locator(".message__body").evaluate("body => [...body.children].map(b => b.innerHTML)")
        assert "/c/" in page.url
        await page.reload()
        again = await answer.locator(".message__body").evaluate("body => [...body.children].map(b => b.innerHTML)")
        assert again == html
        assert await page.locator("article[data-role=user]").inner_text() == "A plan,\nplease <b>"
        assert await page.title() == "A plan, – OneClaw"
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            await expect(answer.locator(".task-list-item")).to_have_text(["☑ The van", "☐ The lift"])
            await expect(answer.locator(".task").last).to_be_visible()
            await expect(answer.get_by_role("cell", name="Study")).to_be_in_viewport(ratio=1)
            number = answer.locator(".code-box pre span", has_text="21")
            await expect(number).to_be_in_viewport(ratio=1)
            plain = await answer.locator(".code-box pre").evaluate("pre => getComputedStyle(pre).color")
            assert await number.evaluate("span => getComputedStyle(span).color") != plain
            language = "box => getComputedStyle(box.querySelector('[data-language]'), '::before').content"
            assert await answer.locator(".code-box").evaluate(language) == '"python"'
            assert await fits(page)


async def test_the_text_shows_before_the_answer_is_whole(live, ada, scripted, write):
    scripted.script(model.answer(model.text(["Begins", " and", " ends."], pace=0.4)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Hello")
        await expect(page.locator("article[data-status=running]")).to_contain_text("Begins")
        await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        await expect(page.locator("article[data-role=assistant]")).to_have_text("Begins and ends.")
        await expect(page.get_by_role("button", name="Send")).to_be_visible()


MOVING_WHILE_NOTHING_HAS_COME = """() => {
    const waits = document.querySelector("article[data-status=running] .message__body:empty");
    return waits && { moving: document.getAnimations().filter((each) => each instanceof CSSAnimation).length };
}"""


async def test_what_moves_stands_still_for_whom_that_is_too_much(live, ada, scripted, ask):
    slowly = model.answer(model.text("Well.", pace=0.3))
    scripted.script(slowly, slowly)
    async with open_page(live, ada) as page:
        await page.goto("/")
        for motion in ("reduce", "no-preference"):
            await page.emulate_media(reduced_motion=motion)
            seen = asyncio.create_task(page.wait_for_function(MOVING_WHILE_NOTHING_HAS_COME))
            await ask(page, "Hello")
            moving = (await (await seen).json_value())["moving"]
            assert (moving > 0) == (motion == "no-preference")


@pytest.mark.parametrize("by", ["button", "Escape"])
async def test_stop_keeps_what_is_there(live, ada, scripted, write, by):
    scripted.script(model.answer(model.text(["One."] + [" more"] * 100, pace=0.1)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Count")
        await expect(page.locator("article[data-status=running]")).to_contain_text("One.")
        await (page.get_by_role("button", name="Stop").click() if by == "button" else page.keyboard.press(by))
        answer = page.locator("article[data-status=stopped]")
        await expect(answer).to_contain_text("Stopped.")
        await expect(answer).to_contain_text("One.")
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        await page.reload()
        await expect(page.locator("article[data-status=stopped]")).to_contain_text("One.")


async def test_a_stopped_answer_goes_on(live, ada, scripted, write):
    scripted.script(
        model.answer(model.text(["One."] + [" more"] * 100, pace=0.1)), model.answer(model.text("And the rest."))
    )
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Count")
        await expect(page.locator("article[data-status=running]")).to_contain_text("One.")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Continue").click()
        await expect(page.locator("article[data-role=assistant]")).to_have_count(2)
        rest = page.locator("article[data-role=assistant]").last
        await expect(rest.locator(".message__body")).to_have_text("And the rest.")
        await expect(rest.locator(".message__continued")).to_have_text("Continued")
        await expect(page.get_by_role("button", name="Continue")).to_have_count(0)


async def test_a_failure_is_a_sentence_and_retry_answers(live, ada, scripted, write):
    scripted.script(model.key_refused(), model.answer(model.text("Now it works.")))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Hello")
        failed = page.locator("article[data-status=failed]")
        await expect(failed).to_contain_text("refused the API key")
        # Whom to ask, and not to start the server again.
        await expect(failed).to_contain_text("your administrator")
        await expect(failed).not_to_contain_text("start OneClaw")
        await expect(page.locator("article[data-role=user]")).to_have_text("Hello")
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("article[data-status=failed]")).to_have_count(0)
        await expect(page.locator("article[data-role=assistant] .message__body")).to_have_text("Now it works.")
        # The one that failed is one version back.
        await expect(page.locator("article[data-role=assistant] .versions__place")).to_have_text("2 / 2")
        await expect(page.locator("article[data-role=user]")).to_have_count(1)


async def test_a_wait_for_the_model_is_told_and_then_forgotten(live, ada, scripted, write):
    scripted.script(model.rate_limited(retry_after=1), model.answer(model.text("There.")))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Hello")
        told = page.locator("[data-notices]")
        await expect(told).to_contain_text("Retrying in")
        await expect(page.locator("article[data-role=assistant]")).to_have_text("There.")
        await expect(told).to_be_empty()


async def test_an_answer_that_waits_for_others_says_so_until_it_begins_and_can_be_stopped(
    live, ada, scripted, write, settings
):
    settings.PERSON_TURNS = 1
    scripted.script(*[model.answer(model.text(["More. "] * 400, pace=0.05))] * 2)
    waits = "Yours begins as soon as one of them has ended."
    async with open_page(live, ada) as first, open_page(live, ada) as second:
        await first.goto("/")
        await write(first, "Hello")
        await expect(first.locator("article[data-role=assistant]")).to_contain_text("More.")
        await second.goto("/")
        await write(second, "Hello again")
        await expect(second.get_by_text(waits)).to_be_visible()
        await second.reload()
        await expect(second.get_by_text(waits)).to_be_visible()
        await second.get_by_role("button", name="Stop").click()
        await expect(second.get_by_text(waits)).to_have_count(0)
        await write(second, "Once more")
        await expect(second.get_by_text(waits)).to_be_visible()
        await first.get_by_role("button", name="Stop").click()
        await expect(second.locator("article[data-role=assistant]").last).to_contain_text("More.")
        await expect(second.get_by_text(waits)).to_have_count(0)
        await second.get_by_role("button", name="Stop").click()
        await expect(second.locator("article[data-status=stopped]")).to_have_count(2)


async def test_a_tool_shows_as_a_card_that_stays_open(live, ada, scripted, write):
    scripted.script(
        model.answer(model.text("I keep that."), model.tool_use("save_memory", {"content": "Ada likes <tea>."})),
        model.answer(model.text(["Saved", "."], pace=0.5)),
    )
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Remember that I like tea")
        card = page.get_by_role("group", name="Saved to memory")
        await expect(card).to_contain_text("Ada likes <tea>.")
        await card.locator("summary").first.click()
        await expect(page.locator("article[data-role=assistant] .message__body").last).to_have_text("Saved.")
        await expect(card.locator("dd").first).to_be_visible()
        await expect(card.locator("dd").first).to_have_text("Ada likes <tea>.")
        await expect(card.locator("pre").first).to_contain_text('"content": "Ada likes <tea>."')
        await page.reload()
        await expect(card).to_have_attribute("data-state", "done")


async def test_model_output_does_nothing_to_the_page(live, ada, scripted, ask):
    evil = (
        "<script>document.title = 'evil'</script> <img src=https://evil.example/x onerror=alert(1)>\n\n"
        "[link](javascript:alert(1)) ![pixel](https://evil.example/pixel.png)\n\n<style>body{display:none}</style>"
    )
    scripted.script(model.answer(model.text(evil)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        answer = await ask(page, "<script>document.title = 'evil'</script>")
        assert await answer.locator("script, img, style").count() == 0
        assert await answer.locator("a[href^='javascript']").count() == 0
        await expect(page).to_have_title(re.compile("evil'"))
        await page.reload()
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()


async def test_two_tabs_show_the_same(live, ada, scripted, ask, write):
    scripted.script(model.answer(model.text("First.")), model.answer(model.text(["Sec", "ond."], pace=0.3)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "One")
        # One of them as narrow as a phone's.
        other = await page.context.new_page()
        await other.set_viewport_size(PHONE)
        await other.goto(page.url)
        await write(page, "Two")
        await expect(other.locator("article[data-role=user]")).to_have_text(["One", "Two"])
        await expect(other.get_by_role("button", name="Stop")).to_be_visible()
        await expect(other.locator("article[data-role=assistant]")).to_have_text(["First.", "Second."])
        await expect(other.locator("article")).to_have_count(4)
        await ask(other, "Three")
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Two", "Three"])
        await expect(page.locator("article")).to_have_count(6)
        assert await fits(other)


async def test_it_scrolls_along_until_the_person_scrolls_up(live, ada, scripted, write):
    scripted.script(model.answer(model.text([f"Line {number}.\n\n" for number in range(120)], pace=0.02)))
    bottom = "s => s.scrollHeight - s.scrollTop - s.clientHeight"
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Count")
        scroller = page.locator("[data-scroller]")
        await expect(page.locator("article[data-role=assistant]")).to_contain_text("Line 40.")
        # It follows with the next picture that is drawn.
        await page.wait_for_function(f"s => ({bottom})(s) < 60", arg=await scroller.element_handle())
        await scroller.hover()
        await page.mouse.wheel(0, -600)
        await page.wait_for_timeout(200)
        top = await scroller.evaluate("s => s.scrollTop")
        await expect(page.locator("article[data-role=assistant]")).to_contain_text("Line 119.")
        assert abs(await scroller.evaluate("s => s.scrollTop") - top) < 5
        await page.get_by_role("button", name="Latest").click()
        assert await scroller.evaluate(bottom) < 2
        await expect(page.get_by_role("button", name="Latest")).to_be_hidden()


async def test_finished_blocks_are_told_to_screen_readers_and_not_each_word(live, ada, scripted, ask):
    words = ["One ", "two ", "three.", "\n\n", "Four ", "five."]
    scripted.script(model.answer(model.text(words, pace=0.1)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await page.evaluate(
            """() => {
                window.told = [];
                const region = document.querySelector("[data-announcer]");
                new MutationObserver((changes) => {
                    for (const change of changes) for (const node of change.addedNodes) told.push(node.textContent);
                }).observe(region, { childList: true });
            }"""
        )
        await ask(page, "Count")
        assert await page.evaluate("told") == ["One two three.", "Four five."]


async def test_a_selection_survives_the_end_of_the_answer(live, ada, scripted, write):
    scripted.script(model.answer(model.text(["Keep this.\n\n", "And ", "this."], pace=0.4)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Hello")
        await expect(page.locator("article[data-role=assistant] .block")).to_have_count(2)
        await page.locator("article[data-role=assistant] p").first.select_text()
        await expect(page.get_by_role("button", name="Send")).to_be_visible()
        assert await page.evaluate("getSelection().toString().trim()") == "Keep this."


async def test_a_deleted_conversation_says_so_in_the_other_tab(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "One")
        other = await page.context.new_page()
        await other.goto(page.url)
        await page.goto(f"{page.url}/menu")
        await page.get_by_role("button", name="Delete").click()
        await expect(other.locator("[data-notices]")).to_contain_text("deleted")


async def test_what_was_said_is_stored_once(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "One")
        await ask(page, "Two")
    said = await in_database(lambda: list(Message.objects.filter(role="user").values_list("text", flat=True)))
    assert sorted(said) == ["One", "Two"]
