"""A device that is signed out from another one, and a closed account, lose their page at once."""

import pytest
from allauth.usersessions.models import UserSession
from playwright.async_api import expect

from oneclaw.threads import in_database
from tests.browser import open_page

pytestmark = pytest.mark.browser


def sign_out_everywhere(user):
    for sign_in in UserSession.objects.filter(user=user):
        sign_in.end()


def close_account(user):
    user.is_active = False
    user.save(update_fields=["is_active"])


async def sign_in(page):
    await page.goto("/accounts/login/")
    await page.get_by_label("Email").fill("ada@example.org")
    await page.get_by_label("Password").fill("correct horse battery")
    await page.keyboard.press("Enter")


@pytest.mark.parametrize("lose", [sign_out_everywhere, close_account])
async def test_the_page_is_lost_at_once(live, ada, scripted, ask, lose):
    async with open_page(live, expect=["already in CLOSING or CLOSED state"]) as page:
        await sign_in(page)
        await ask(page, "A secret tea")
        await in_database(lose, ada)
        await expect(page).to_have_title("Sign in – OneClaw", timeout=5000)
        await page.go_back(wait_until="commit")
        await expect(page.get_by_text("A secret tea")).to_have_count(0)
        await expect(page).to_have_title("Sign in – OneClaw")
