"""The doors in a browser: the timezone is the browser's, and the first minute works."""

import pytest
from playwright.async_api import expect

from oneclaw.models import User
from oneclaw.people import invitations
from oneclaw.threads import in_database
from tests.browser import open_page

pytestmark = pytest.mark.browser
PASSWORD = "a long and quiet evening"


async def test_the_first_person_comes_in(live, transactional_db):
    link = await in_database(invitations.first_account_link, live.url)
    async with open_page(live, timezone_id="America/Lima") as page:
        await page.goto("/")
        await expect(page.get_by_text("There are no accounts yet")).to_be_visible()
        await page.goto(link)
        await expect(page.get_by_label("Email")).to_be_focused()
        await page.get_by_label("Email").fill("grace@example.org")
        await page.get_by_label("Your name").fill("Grace")
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_label("Confirm password").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        await page.get_by_title("Account").click()
        await expect(page.get_by_role("link", name="Team")).to_be_visible()
    grace = await in_database(User.objects.get)
    assert (str(grace), grace.timezone) == ("Grace", "America/Lima")


async def test_signing_in_and_out(live, ada):
    async with open_page(live, timezone_id="Asia/Tokyo") as page:
        await page.goto("/settings/")
        await expect(page.get_by_label("Email")).to_be_focused()
        await page.get_by_label("Email").fill("ada@example.org")
        await page.get_by_label("Password").fill("wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("not correct")
        await page.get_by_label("Password").fill("correct horse battery")
        await page.keyboard.press("Enter")
        await expect(
            page.get_by_text("Your timezone is still Europe/Zurich; this device is in Asia/Tokyo.")
        ).to_be_visible()
        await expect(page.get_by_label("Timezone")).to_have_value("Europe/Zurich")
        await page.get_by_label("Timezone").fill("Mars/Olympus")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("This is not a timezone.")).to_be_visible()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page).to_have_title("Sign in – OneClaw")
