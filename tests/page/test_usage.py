"""What was spent, and what a used-up budget says, in a browser."""

import datetime as dt
import os

import pytest
from django.contrib.auth.models import Permission
from playwright.async_api import expect

from chat.models import Message
from oneclaw.models import Budget, Group, Spend
from oneclaw.spend.calls import Payer, Spending
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes

pytestmark = pytest.mark.browser


def spent(ada):
    Group.objects.create(name="Research").members.create(user=ada)
    ada.user_permissions.add(Permission.objects.get(codename="view_spend"))
    for day in range(1, 29):
        for purpose, model, tokens in (("answer", "claude-sonnet-5-5", 9_000), ("notes", "claude-haiku-5-5", 4_000)):
            spending = Spending(Payer(Spend.Purpose(purpose), ada.pk))
            spending.add(model, {"input_tokens": tokens * (day % 7), "output_tokens": 500})
            spending.rows[0].at = dt.datetime(2026, 6, day, 12, tzinfo=dt.UTC)
            spending.store()
    Budget.objects.create(user=ada, period="month", max_cost=20, max_tokens=2_000_000)
    Budget.objects.create(group=Group.objects.get(), period="day", max_tokens=500_000)


async def test_a_person_and_an_admin_see_what_was_spent(live, ada, settings):
    settings.PRICES = {"claude-sonnet": (2.0, 10.0, 0.2, 2.5), "claude-haiku": (0.1, 0.5, 0.01, 0.125)}
    await in_database(spent, ada)
    async with open_page(live, ada) as page:
        for viewport in (DESKTOP, PHONE):
            await page.set_viewport_size(viewport)
            await page.goto("/settings/")
            await page.get_by_role("link", name="What your conversations and your memory cost").click()
            await page.goto("/settings/usage/?month=2026-06")
            await expect(page.get_by_role("img", name="US dollars by day")).to_be_visible()
            await page.get_by_text("Show the numbers").click()
            await expect(page.get_by_role("row", name="Notes of conversations")).to_be_visible()
            assert await fits(page)
            if folder := os.environ.get("SHOTS"):
                await page.screenshot(path=f"{folder}/own-{viewport['width']}.png", full_page=True)
            assert await violations_in_both_schemes(page) == ""
            await page.goto("/settings/")
            await page.get_by_role("link", name="Usage of everybody").click()
            await page.goto("/team/usage/?month=2026-06")
            await expect(page.get_by_role("row", name="ada@example.org")).to_be_visible()
            await expect(page.get_by_role("row", name="Research")).to_be_visible()
            assert await fits(page)
            if folder:
                await page.screenshot(path=f"{folder}/team-{viewport['width']}.png", full_page=True)
                await page.emulate_media(color_scheme="dark")
                await page.screenshot(path=f"{folder}/dark-{viewport['width']}.png", full_page=True)
                await page.emulate_media(color_scheme="light")
            assert await violations_in_both_schemes(page) == ""
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download as CSV").click()
        assert (await download.value).suggested_filename == "usage-2026-06.csv"


async def test_a_used_up_budget_is_said_above_the_message_which_stays(live, ada, scripted, write):
    await in_database(Budget.objects.create, user=ada, period="day", max_tokens=0)
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "What is left?")
        refusal = page.get_by_text("Your budget for today is used up. You can go on from ")
        await expect(refusal.first).to_be_visible()
        # By her clock.
        await expect(refusal.first).to_contain_text("00:00")
        await expect(page.get_by_text("What is left?")).to_be_visible()
        if folder := os.environ.get("SHOTS"):
            await page.screenshot(path=f"{folder}/refused.png")
    assert not await in_database(Message.objects.exists)
