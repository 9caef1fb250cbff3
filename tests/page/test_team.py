"""The pages of a team in a browser: an owner makes a budget, signs a person out, and looks at what is behind."""

import pytest
from allauth.usersessions.models import UserSession
from playwright.async_api import expect

from oneclaw.models import Group, User
from oneclaw.people import roles
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"


def an_owner():
    person = User.objects.create_user("owner@example.org", PASSWORD, first_name="Olga", timezone_chosen=True)
    roles.set_role(person, User.Role.OWNER)
    person.save()
    return person


async def test_an_owner_looks_after_the_team(live, ada, settings):
    settings.PRICES = {settings.MODEL: (2.0, 10.0, 0.2, 2.5)}
    owner = await in_database(an_owner)
    group = await in_database(Group.objects.create, name="Research")
    await in_database(group.members.create, user=ada)
    async with open_page(live, ada) as adas, open_page(live, owner) as page:
        await adas.goto("/")
        [cookie] = [each for each in await adas.context.cookies() if each["name"] == "sessionid"]
        device = {"user": ada, "ip": "192.0.2.1", "user_agent": "Firefox Linux", "session_key": cookie["value"]}
        await in_database(UserSession.objects.create, **device)
        await page.goto("/team/budgets/")
        await page.get_by_role("textbox", name="Person").fill("ada@example.org")
        await page.get_by_label("US dollars").fill("20")
        await page.get_by_role("button", name="Add budget").click()
        await expect(page.get_by_text("0.00 of 20.00 US dollars")).to_be_visible()
        await looks_well(page)
        await page.get_by_role("link", name="ada@example.org, Month").click()
        await looks_well(page)
        await page.get_by_role("link", name="People").click()
        await expect(page.get_by_role("navigation", name="Team").get_by_role("link")).to_have_count(5)
        await looks_well(page)
        for size in (PHONE, DESKTOP):
            # The whole row leads to the person.
            await page.set_viewport_size(size)
            row = page.get_by_role("row").filter(has_text="ada@example.org")
            box = await row.bounding_box()
            await row.click(position={"x": box["width"] - 8, "y": box["height"] - 8})
            await expect(page.get_by_role("heading", name="ada@example.org")).to_be_visible()
            await page.go_back()
        await page.get_by_role("link", name="ada@example.org", exact=True).click()
        await looks_well(page)
        await page.get_by_role("button", name="Sign out everywhere").click()
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Confirm").click()
        await expect(page.get_by_text("Signed out on 1 device.")).to_be_visible()
        # Her page notices at once that its sign-in has ended.
        await adas.wait_for_url("**/accounts/login/**")
        await page.get_by_role("link", name="Research").click()
        await expect(page.get_by_role("heading", name="Research")).to_be_visible()
        await page.get_by_role("navigation", name="Team").get_by_role("link", name="System").click()
        await page.get_by_role("link", name="Health").click()
        await expect(page.get_by_text("Start a worker")).to_be_visible()
        await looks_well(page)
        await page.get_by_role("link", name="Settings").click()
        await page.get_by_role("textbox", name="Announcement").fill("Tea at four.")
        await page.get_by_role("button", name="Save: Announcement").click()
        await expect(page.get_by_role("form", name="Announcement")).to_contain_text("Tea at four.")
        await page.get_by_role("textbox", name="Maintenance").fill("New disks until three.")
        await page.get_by_role("button", name="Save: Maintenance").click()
        await looks_well(page)
        await page.goto("/")
        await looks_well(page)
        await page.get_by_role("button", name="Dismiss").click()
        await expect(page.get_by_text("New disks until three.")).to_be_visible()
        await expect(page.get_by_text("Tea at four.")).to_be_hidden()


async def looks_well(page):
    """Check the page at both widths and in both schemes."""
    for size in (PHONE, DESKTOP):
        await page.set_viewport_size(size)
        assert await fits(page)
        assert not await violations_in_both_schemes(page)
