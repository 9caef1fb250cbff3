"""Leaving in a browser: a person takes everything along and deletes the account, an admin removes somebody."""

import pytest
from playwright.async_api import expect

from oneclaw.leaving import offboard
from oneclaw.models import Offboarding, Space, User
from oneclaw.people import roles
from oneclaw.spaces import lifecycle, members
from oneclaw.threads import in_database
from tests.browser import PHONE, fits, open_page, violations_in_both_schemes
from tests.conversations import send, settle

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"


@pytest.fixture
def people_admin(transactional_db):
    person = User.objects.create_user("people@example.org", PASSWORD, first_name="Pia", timezone_chosen=True)
    roles.set_role(person, User.Role.PEOPLE)
    person.save()
    return person


@pytest.fixture
def team(ada, stranger) -> Space:
    settle(send(ada, "Which tea is good?"), "Mint.")
    space = lifecycle.create(ada, lifecycle.checked_draft("Engine room", kind="team"))
    members.add_by_email(space, stranger.email, "reader")
    return space


async def looks_right(page) -> None:
    """The page has nothing that axe finds, in both schemes, and fits a phone."""
    assert not await violations_in_both_schemes(page)
    await page.set_viewport_size(PHONE)
    assert await fits(page)
    await page.set_viewport_size({"width": 1280, "height": 720})


async def confirm(page) -> None:
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Confirm").click()


async def test_a_person_downloads_everything_and_deletes_the_account(live, ada, team, settings):
    settings.ORIGINS = [live.url]
    async with open_page(live, ada) as page:
        await page.goto("/settings/")
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download everything").click()
        assert (await download.value).suggested_filename.endswith("OneClaw.zip")
        await page.get_by_role("link", name="Import such a file").click()
        await page.get_by_label("File, at most").set_input_files(await (await download.value).path())
        await page.get_by_role("button", name="Import").click()
        await expect(page.get_by_text("It is being imported.")).to_be_visible()
        await looks_right(page)
        await page.goto("/settings/")
        await page.get_by_role("link", name="Delete your account").click()
        await confirm(page)
        await expect(page.get_by_text("1 conversation is deleted")).to_be_visible()
        await looks_right(page)
        await page.get_by_label("Only you own “Engine room”").select_option("Hand over to stranger@example.org")
        await page.get_by_role("button", name="Delete my account").click()
        await expect(page.get_by_role("heading", name="Your account is being deleted")).to_be_visible()
        await page.goto("/")
        await expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()


async def test_an_admin_removes_a_person_and_sees_the_receipt(live, people_admin, ada, stranger, team, settings):
    settings.ORIGINS = [live.url]
    async with open_page(live, ada) as theirs, open_page(live, people_admin, expect=["422"]) as page:
        await theirs.goto("/")
        await page.goto("/team/people/")
        await page.get_by_role("link", name="ada@example.org").click()
        await page.get_by_role("link", name="Remove").click()
        await confirm(page)
        await expect(page.get_by_text("They become the owner of: Engine room")).to_be_visible()
        await looks_right(page)
        await page.get_by_label("Email of the person who gets").fill(stranger.email)
        await page.get_by_role("button", name="Remove the person").click()
        await expect(page.get_by_text("A worker removes the rest")).to_be_visible()
        # The open page of the person is closed without a click.
        await expect(theirs.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
        job = await in_database(Offboarding.objects.get)
        assert await in_database(offboard.run, job.pk)
        await page.reload()
        await expect(page.get_by_text("Done:")).to_be_visible()
        await looks_right(page)
        await page.goto("/team/retention/")
        await page.get_by_label("Days").fill("90")
        await page.locator("section", has_text="How long things are kept").get_by_role("button", name="Save").click()
        await page.get_by_label("Email of a person").fill(stranger.email)
        await page.get_by_label("Why").fill("Case 7")
        await page.get_by_role("button", name="Hold", exact=True).click()
        await expect(page.get_by_text("Case 7")).to_be_visible()
        await looks_right(page)
