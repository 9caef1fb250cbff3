"""Several people in one conversation at once: they see the same, know of each other, and take turns."""

import os

import pytest
from playwright.async_api import expect

from chat.conversations.shared import share
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, open_page, violations, violations_in_both_schemes
from tests.chat.shared.cast import shared_conversation, take_role

pytestmark = pytest.mark.browser

SHOTS = os.environ.get("SHOTS_SHARED")


async def shot(page, name):
    if SHOTS:
        await page.screenshot(path=f"{SHOTS}/{name}.png")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_three_people_follow_one_conversation(live, ada, scripted, write, size):
    cast = await in_database(shared_conversation, ada)
    address = f"/c/{cast.session.pk}"
    scripted.script(
        model.answer(model.text(["By the", " old **oak**", ", at", " noon", "."], pace=0.8)),
        model.answer(model.text("Olga brings tea.")),
    )
    async with (
        open_page(live, cast.ed, viewport=size) as ed,
        open_page(live, cast.olga, viewport=size) as olga,
        open_page(live, cast.rita, viewport=size, expect=["404"]) as rita,
    ):
        for page in (ed, olga, rita):
            await page.goto(address)
            await expect(page.locator(".conversation__space")).to_be_visible()
        await expect(rita.get_by_text("You can read this conversation.")).to_be_visible()
        await expect(rita.get_by_label("Message", exact=True)).to_be_hidden()
        await expect(rita.get_by_role("list", name="Who is here").get_by_text("Olga", exact=True)).to_have_count(1)
        await olga.get_by_label("Message", exact=True).press_sequentially("Who brings")
        await expect(ed.get_by_text("Olga is writing …")).to_be_visible()
        await shot(ed, f"writing-{size['width']}")
        await write(ed, "Where exactly?")
        await expect(rita.locator("strong", has_text="oak")).to_be_visible()
        await write(olga, "Who brings tea?")
        await expect(rita.get_by_text("Next in this conversation")).to_be_visible()
        await shot(olga, f"queue-{size['width']}")
        await shot(rita, f"reader-{size['width']}")
        assert await violations(olga) == ""
        for page in (ed, olga, rita):
            await expect(page.locator("article", has_text="Olga brings tea.")).to_have_count(1)
            await expect(page.locator(".message__author")).to_have_text(["Aada@example.org", "EEd", "OOlga"])
            await expect(page.get_by_text("Next in this conversation")).to_be_hidden()
        await expect(ed.locator(".act--edit:visible")).to_have_count(1)
        await expect(rita.locator(".act--edit:visible")).to_have_count(0)
        assert await violations_in_both_schemes(rita) == ""
        await shot(ed, f"ended-{size['width']}")
        await in_database(take_role, cast.space, cast.rita)
        await expect(rita.locator("article", has_text="Olga brings tea.")).to_have_count(0)


async def test_a_person_reads_what_becomes_visible_shares_and_takes_it_back(live, ada, scripted):
    cast = await in_database(shared_conversation, ada)
    await in_database(share.unshare, ada, cast.session)
    async with open_page(live, ada, viewport=PHONE, color_scheme="dark") as page:
        await page.goto(f"/c/{cast.session.pk}")
        await page.get_by_role("link", name="More for this conversation").click()
        await page.locator("#head-menu").get_by_text("Share …").click()
        await page.get_by_role("link", name="Share with a space").click()
        await expect(page.get_by_text("2 messages so far")).to_be_visible()
        await expect(
            page.get_by_text("3 other members of Lighthouse, and whoever becomes one: Ed, Olga, Rita")
        ).to_be_visible()
        await shot(page, "dialog-dark")
        assert await violations_in_both_schemes(page) == ""
        await page.get_by_role("button", name="Share with Lighthouse").click()
        await expect(page.get_by_text("Shared with Lighthouse.")).to_be_visible()
        await page.get_by_role("link", name="More for this conversation").click()
        await page.locator("#head-menu").get_by_text("Share …").click()
        await page.locator("#head-menu").get_by_role("link", name="Shared with Lighthouse").click()
        await shot(page, "shared-dark")
        await page.get_by_role("button", name="Make private again").click()
        await expect(page.get_by_text("The conversation is private again.")).to_be_visible()
