"""API keys: made and shown once, listed, revoked; what is kept of them opens nothing."""

import datetime as dt
import re

import pytest
from django.utils import timezone
from playwright.async_api import expect

from oneclaw.models import ApiKey, User
from oneclaw.people import keys
from oneclaw.threads import in_database
from tests.browser import open_page, violations_in_both_schemes

TOKEN = re.compile(r"oc_[\w-]{43}")


def sign_in(client, person):
    """Sign in now, so that a key may be made."""
    client.post("/accounts/login/", {"login": person.email, "password": "correct horse battery"})


def made(client, **fields):
    """The answer to the form of a new key."""
    return client.post("/settings/keys", {"name": "Backup", "period": "year"} | fields)


def test_a_new_key_is_shown_once_and_only_its_hash_is_kept(client, ada):
    sign_in(client, ada)
    response = made(client)
    (token,) = TOKEN.findall(response.content.decode())
    assert "no-store" in response["Cache-Control"]
    page = client.get("/settings/").content.decode()
    assert not TOKEN.search(page)
    assert f"Backup <code>…{token[-4:]}</code>" in page
    assert "never used" in page
    assert token not in str(ApiKey.objects.values())
    assert keys.grant_of(token).user == ada


@pytest.mark.parametrize("fields", [{"name": " "}, {"name": "x" * 61}, {"period": "ever"}])
def test_what_cannot_be_a_key_is_said_beside_the_form(client, ada, fields):
    sign_in(client, ada)
    response = made(client, **fields)
    assert response.status_code == 422
    page = response.content.decode()
    assert ("field__error" in page, page.count("autofocus")) == (True, 1)
    assert not ApiKey.objects.exists()


def test_there_is_an_end_to_the_keys_of_a_person(client, ada, monkeypatch):
    monkeypatch.setattr(keys, "MAX_KEYS", 1)
    sign_in(client, ada)
    assert made(client).status_code == 200
    refused = made(client)
    assert (refused.status_code, "Revoke one first" in refused.content.decode()) == (422, True)
    assert ApiKey.objects.count() == 1


def test_a_revoked_key_opens_nothing(client, ada):
    key, token = keys.make(ada, "Backup", "never")
    client.force_login(ada)
    response = client.post(f"/settings/keys/{key.pk}/revoke", follow=True)
    assert "The key was revoked." in response.content.decode()
    assert keys.grant_of(token) is None


def test_nobody_sees_or_revokes_the_key_of_somebody_else(client, ada, stranger):
    key, token = keys.make(ada, "Backup", "never")
    client.force_login(stranger)
    client.post(f"/settings/keys/{key.pk}/revoke")
    assert keys.grant_of(token).user == ada
    assert key.ending not in client.get("/settings/").content.decode()


def test_an_expired_key_and_that_of_a_closed_account_open_nothing(ada):
    key, token = keys.make(ada, "Backup", "month")
    assert keys.grant_of(token).user == ada
    assert keys.grant_of(token[:-1]) is None
    assert keys.grant_of(key.token_hash) is None
    User.objects.update(is_active=False)
    assert keys.grant_of(token) is None
    User.objects.update(is_active=True)
    ApiKey.objects.update(expires_at=timezone.now())
    assert keys.grant_of(token) is None


def test_that_a_key_was_used_is_written_down_once_a_minute(ada, django_assert_num_queries):
    key, token = keys.make(ada, "Backup", "never")
    keys.grant_of(token)
    key.refresh_from_db()
    assert timezone.now() - key.last_used_at < dt.timedelta(seconds=10)
    with django_assert_num_queries(1):
        keys.grant_of(token)
    before = key.last_used_at - keys.LAST_USED_INTERVAL
    ApiKey.objects.update(last_used_at=before)
    keys.grant_of(token)
    key.refresh_from_db()
    assert key.last_used_at > before


def test_admins_see_whose_keys_there_are_and_revoke_them(client, ada, admin_person):
    key, token = keys.make(ada, "Diary of a secret project", "never")
    client.force_login(admin_person)
    pages = [client.get(f"/admin/oneclaw/apikey/{path}").content.decode() for path in ("", f"{key.pk}/change/")]
    for page in pages:
        assert "ada@example.org" in page
        assert key.ending in page
        assert key.token_hash not in page
        assert "secret project" not in page
    assert client.get("/admin/oneclaw/apikey/add/").status_code == 403
    client.post(f"/admin/oneclaw/apikey/{key.pk}/delete/", {"post": "yes"})
    assert keys.grant_of(token) is None


@pytest.mark.browser
async def test_a_person_makes_copies_and_revokes_a_key(live, ada):
    async with open_page(live, ada, permissions=["clipboard-read", "clipboard-write"]) as page:
        await page.goto("/settings/")
        await page.get_by_label("Purpose").fill("Backup")
        await page.get_by_role("button", name="Create key").click()
        await page.get_by_label("Password").fill("correct horse battery")
        await page.get_by_role("button", name="Confirm").click()
        await expect(page.get_by_label("Your new key:")).to_be_focused()
        assert await violations_in_both_schemes(page) == ""
        await page.get_by_role("button", name="Copy").click()
        await expect(page.locator("[data-copy-notice]")).to_have_text("Copied.")
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert (await in_database(keys.grant_of, copied)).user == ada
        # The button is still what it was, and a browser that refuses is no silent one.
        await page.evaluate("() => { navigator.clipboard.write = () => Promise.reject(new Error()); }")
        await page.get_by_role("button", name="Copy").click()
        await expect(page.locator("[data-copy-notice]")).to_contain_text("Select the text and copy it yourself")
        await page.get_by_role("button", name="Revoke: Backup").click()
        await expect(page.get_by_text("The key was revoked.")).to_be_visible()
        assert await in_database(keys.grant_of, copied) is None


@pytest.mark.parametrize(("minutes", "valid"), [(1, True), (-1, False)])
def test_a_key_is_valid_until_it_expires_by_the_databases_clock(ada, wrong_clock, minutes, valid):
    _, token = keys.make(ada, "Backup", "year")
    ApiKey.objects.update(expires_at=timezone.now() + dt.timedelta(minutes=minutes))
    with wrong_clock():
        assert (keys.grant_of(token) is not None) == valid
