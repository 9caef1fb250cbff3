"""In a browser, an owner says who may use a model, and a person sees what that means for an answer."""

import pytest
from playwright.async_api import expect

from oneclaw.config.upstreams import Upstream
from oneclaw.llm.upstreams import access
from oneclaw.models import Group, User
from oneclaw.people import roles
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"


@pytest.fixture
def owner(ada, scripted, settings):
    """An owner of a team with a group of Ada's, and a model on a server to which no memory goes."""
    settings.MODEL, settings.MODELS = "usual", {"usual": "Usual", "great": "Great"}
    far = Upstream("far-away", scripted.url, models=("llama",), labels={"llama": "Llama"}, memory_stays_home=True)
    settings.UPSTREAMS = (far,)
    Group.objects.create(name="Research").members.create(user=ada)
    Group.objects.create(name="Sales")
    person = User.objects.create_user("owner@example.org", PASSWORD, timezone_chosen=True)
    roles.set_role(person, User.Role.OWNER)
    person.save()
    return person


async def test_a_limited_model_answers_without_memory_until_it_is_taken_away(live, ada, owner):
    async with open_page(live, owner) as page, open_page(live, ada) as adas:
        await limit(page, "Research", PASSWORD)
        await adas.goto("/")
        await adas.get_by_label("Model").select_option("Llama (without memory)")
        await say(adas, "Hello")
        await expect(adas.get_by_text("Answered without memory")).to_be_visible()
        await looks_well(adas)
        await limit(page, "Sales")
        await looks_well(page)
        # Her page still names it.
        await say(adas, "And now?")
        await expect(adas.get_by_text("Llama is not available to you, so Usual has answered.")).to_be_visible()
        await looks_well(adas)


async def limit(page, group, password=""):
    await page.goto("/team/models/")
    await page.get_by_role("link", name="Llama").click()
    await page.get_by_label("Only members of these groups").check()
    for name in ("Research", "Sales"):
        await page.get_by_label(name).set_checked(name == group)
    await looks_well(page)
    await page.get_by_role("button", name="Save").click()
    if password:
        await page.get_by_label("Password").fill(password)
        await page.get_by_role("button", name="Confirm").click()
    await expect(page.locator(".kept__row", has_text="Llama")).to_contain_text(group)
    await in_database(access.known_rules.forget)


async def say(page, words):
    await page.get_by_label("Message", exact=True).fill(words)
    await page.keyboard.press("Enter")


async def looks_well(page):
    """Check the page at both widths and in both schemes."""
    for size in (PHONE, DESKTOP):
        await page.set_viewport_size(size)
        assert await fits(page)
        assert not await violations_in_both_schemes(page)
