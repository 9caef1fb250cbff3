"""The limits of a team in a browser: an owner changes one, and the pages of others follow without a restart."""

import pytest
from playwright.async_api import expect

from oneclaw.models import User
from oneclaw.people import roles
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"
WAITS = "Yours begins as soon as one of them has ended."


def an_owner():
    person = User.objects.create_user("owner@example.org", PASSWORD, first_name="Olga", timezone_chosen=True)
    roles.set_role(person, User.Role.OWNER)
    person.save()
    return person


async def test_an_owner_changes_a_limit_and_what_waited_begins(live, ada, scripted, write, settings):
    settings.TITLES = False
    scripted.script(*[model.answer(model.text(["More. "] * 2000, pace=0.05))] * 2)
    owner = await in_database(an_owner)
    async with open_page(live, owner) as page, open_page(live, ada) as first, open_page(live, ada) as second:
        await page.goto("/team/settings/")
        await page.get_by_role("navigation", name="Team").get_by_role("link", name="Money").click()
        await page.get_by_role("navigation", name="Pages").get_by_role("link", name="Limits").click()
        for size in (PHONE, DESKTOP):
            await page.set_viewport_size(size)
            assert await fits(page)
            assert not await violations_in_both_schemes(page)
        await page.get_by_label("Answers at once", exact=True).fill("1")
        await page.get_by_role("button", name="Save: Answers at once", exact=True).click()
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Confirm").click()
        await expect(page.get_by_text("Saved. Everybody has it within seconds.")).to_be_visible()
        await expect(page.get_by_text("Changed by owner@example.org")).to_be_visible()
        await first.goto("/")
        await write(first, "Hello")
        await expect(first.locator("article[data-role=assistant]")).to_contain_text("More.")
        await second.goto("/")
        await write(second, "Hello again")
        await expect(second.get_by_text(WAITS)).to_be_visible()
        # Nothing is the default.
        await page.get_by_label("Answers at once", exact=True).fill("")
        await page.get_by_role("button", name="Save: Answers at once", exact=True).click()
        await expect(page.get_by_label("Answers at once", exact=True)).to_have_value("4")
        await expect(second.locator("article[data-role=assistant]")).to_contain_text("More.")
        for each in (first, second):
            await each.get_by_role("button", name="Stop").click()
            await expect(each.locator("article[data-status=stopped]")).to_have_count(1)
