"""The composer: keys, length, drafts."""

import re

import pytest
from playwright.async_api import expect

from tests import scripted as model
from tests.browser import PHONE, fits, open_page

pytestmark = pytest.mark.browser


def text_of(page):
    return page.get_by_label("Message", exact=True)


async def test_keys(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        text = text_of(page)
        await expect(text).to_be_focused()
        await page.keyboard.press("Enter")
        await text.press_sequentially("   ")
        await page.keyboard.press("Enter")
        await expect(page.locator("article")).to_have_count(0)
        await text.fill("One")
        await page.keyboard.press("Shift+Enter")
        await page.keyboard.type("two")
        await expect(text).to_have_value("One\ntwo")
        # An input method takes Enter for itself.
        await text.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
        await text.dispatch_event("keydown", {"key": "Enter", "keyCode": 229})
        await expect(page.locator("article")).to_have_count(0)
        await page.keyboard.press("Enter")
        await expect(page.locator("article[data-role=user]")).to_have_text("One\ntwo")
        await expect(text).to_be_focused()
        await expect(text).to_have_value("")


async def test_it_grows_with_the_text_and_the_page_stays(live, ada):
    async with open_page(live, ada) as page:
        await page.goto("/")
        small = (await text_of(page).bounding_box())["height"]
        await text_of(page).fill("line\n" * 60)
        large = (await text_of(page).bounding_box())["height"]
        assert small * 3 < large < 800 * 0.5
        assert await page.evaluate("document.documentElement.scrollHeight <= innerHeight")


async def test_the_length_is_counted_as_the_server_counts(live, ada, scripted, settings):
    settings.MESSAGE_LENGTH = 100
    async with open_page(live, ada) as page:
        await page.goto("/")
        count = page.locator("#main [data-count]")
        await text_of(page).fill("a" * 80)
        await expect(count).to_be_hidden()
        await text_of(page).fill("😀" * 99 + "e\u0301")
        await expect(count).to_have_text("101 of 100 characters")
        await page.keyboard.press("Enter")
        await expect(page.locator("article")).to_have_count(0)
        await expect(text_of(page)).to_have_attribute("aria-invalid", "true")
        await text_of(page).fill("😀" * 98 + "e\u0301")
        await expect(count).to_have_text("100 of 100 characters")
        await page.keyboard.press("Enter")
        await expect(page.locator("article[data-role=assistant]")).to_have_count(1)


async def test_what_is_sent_while_an_answer_runs_is_queued_and_can_be_taken_back(live, ada, scripted, write):
    scripted.script(model.answer(model.text(["One"] + [" more"] * 200, pace=0.1)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Count")
        await expect(page.locator("article[data-status=running]")).to_contain_text("One")
        for text in "Second", "Thrid", "Never":
            await write(page, text)
            await expect(text_of(page)).to_have_value("")
        queued = page.locator(".message--pending")
        await expect(queued).to_have_count(3)
        await expect(queued.first).to_contain_text("Queued")
        # A reload keeps them, and the answer goes on.
        await page.reload()
        await expect(queued.last).to_contain_text("Queued")
        await queued.filter(has_text="Never").get_by_role("button", name="Remove").click()
        await queued.filter(has_text="Thrid").get_by_role("button", name="Edit").click()
        await expect(text_of(page)).to_have_value("Thrid")
        await expect(queued).to_have_count(1)
        await write(page, "Third")
        await expect(page.get_by_role("button", name="Send")).to_be_hidden()
        await page.keyboard.press("Escape")
        # One after the other, each with its answer.
        said = page.locator("article:not(.message--pending) .message__body")
        hello = "Hello from the scripted model."
        await expect(said).to_have_text(["Count", re.compile("One more"), "Second", hello, "Third", hello])


async def test_each_conversation_keeps_its_draft(live, ada, scripted, ask, listed):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "One")
        address = page.url
        await text_of(page).fill("A draft for one")
        await page.get_by_role("link", name="New conversation").click()
        await expect(text_of(page)).to_have_value("")
        await text_of(page).fill("A draft for the next")
        await page.goto(address)
        await expect(text_of(page)).to_have_value("A draft for one")
        await page.reload()
        await expect(text_of(page)).to_have_value("A draft for one")
        await page.goto("/")
        await expect(text_of(page)).to_have_value("A draft for the next")
        await page.set_viewport_size(PHONE)
        await (await listed(page)).get_by_role("link", name="One", exact=True).click()
        await expect(text_of(page)).to_have_value("A draft for one")
        await text_of(page).fill("By thumb")
        await listed(page)
        await page.get_by_role("link", name="New conversation").click()
        await expect(text_of(page)).to_have_value("A draft for the next")
        await page.go_back(wait_until="commit")
        await expect(text_of(page)).to_have_value("By thumb")
        assert await fits(page)


async def test_nobody_finds_the_draft_of_another_person(live, ada, stranger):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await text_of(page).fill("Ada's own")
        await page.get_by_title("Account").click()
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_label("Email").fill("stranger@example.org")
        await page.get_by_label("Password").fill("correct horse battery")
        await page.keyboard.press("Enter")
        await expect(text_of(page)).to_have_value("")


async def test_a_starter_fills_the_composer(live, ada):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await page.get_by_role("button", name="What do you remember about me?").click()
        await expect(text_of(page)).to_have_value("What do you remember about me?")
        await expect(text_of(page)).to_be_focused()
