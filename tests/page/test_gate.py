"""The gate in a browser: invitations by a people admin, the second factor with a real passkey, single sign-on."""

import re
import time
from dataclasses import replace
from functools import partial

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from playwright.async_api import expect

from oneclaw.models import Group, Invitation, User
from oneclaw.people import roles
from oneclaw.threads import in_database
from tests.browser import PHONE, fits, open_page, violations, violations_in_both_schemes
from tests.oidc_provider import OidcProvider
from tests.saml_provider import SamlProvider

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"


@pytest.fixture
def people_admin(transactional_db):
    person = User.objects.create_user("people@example.org", PASSWORD, first_name="Pia", timezone_chosen=True)
    roles.set_role(person, User.Role.PEOPLE)
    person.save()
    return person


async def sign_in(page, email):
    await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def test_a_people_admin_invites_approves_and_disables(live, people_admin, ada, settings):
    settings.ORIGINS = [live.url]
    research = await in_database(Group.objects.create, name="Research")
    # An admin of people gives the groups that they are in.
    await in_database(research.members.create, user=people_admin)
    await in_database(User.objects.create_user, "late@example.org", PASSWORD, is_active=False, awaits_approval=True)
    async with open_page(live, people_admin, expect=["403"]) as page:
        await page.goto("/")
        await page.get_by_title("Account").click()
        await page.get_by_role("link", name="Team").click()
        await page.get_by_role("link", name="Invitations").click()
        await expect(page.get_by_role("heading", name="Waiting for approval")).to_be_visible()
        await page.get_by_label("Email", exact=True).fill("grace@example.org")
        await page.get_by_label("Research").check()
        # The sign-in of this session is old: the password is asked for, and the invitation is then made.
        await page.get_by_role("button", name="Invite", exact=True).click()
        await expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
        assert not await violations(page)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Confirm").click()
        link = await page.get_by_label("The link for grace@example.org:").input_value()
        assert not await violations_in_both_schemes(page)
        await page.set_viewport_size(PHONE)
        assert await fits(page)
        await page.get_by_role("button", name="Approve: late@example.org").click()
        await expect(page.get_by_text("late@example.org can sign in now.")).to_be_visible()
        await page.get_by_role("link", name="People").click()
        assert await fits(page)
        await page.get_by_role("link", name="ada@example.org").click()
        assert await fits(page)
        assert not await violations(page)
        # Roles are an owner's to give.
        await expect(page.get_by_role("combobox")).to_have_count(0)
        await page.get_by_role("button", name="Disable").click()
        await expect(page.get_by_role("button", name="Enable")).to_be_visible()
        assert (await page.goto("/admin/")).status == 403
    async with open_page(live) as guest:
        await guest.goto(link)
        await guest.get_by_label("Password", exact=True).fill(PASSWORD)
        await guest.get_by_label("Confirm password").fill(PASSWORD)
        await guest.get_by_role("button", name="Get started").click()
        await expect(guest.get_by_label("Message", exact=True)).to_be_visible()
    grace = await in_database(User.objects.get, email="grace@example.org")
    assert await in_database(grace.group_memberships.filter(group__name="Research").exists)
    assert (await in_database(Invitation.objects.get)).accepted_at


async def test_the_links_of_many_invitations_are_copied_one_by_one_or_all_at_once(live, people_admin, settings):
    settings.ORIGINS = [live.url]
    async with open_page(live, people_admin) as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.goto("/team/invitations/")
        await page.get_by_text("Invite many").click()
        await page.get_by_role("textbox", name="One person in each line").fill("ben@example.org\ncara@example.org")
        await page.get_by_role("button", name="Invite all").click()
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Confirm").click()
        links = [await page.get_by_label(f"The link for {name}@example.org:").input_value() for name in ("ben", "cara")]
        await page.get_by_role("button", name="Copy", exact=True).nth(1).click()
        await expect(page.get_by_text("Copied.")).to_be_visible()
        copied = "navigator.clipboard.readText()"
        assert await page.evaluate(copied) == links[1]
        await page.get_by_role("button", name="Copy all").click()
        table = f"ben@example.org\t{links[0]}\ncara@example.org\t{links[1]}"
        await page.wait_for_function(
            "table => navigator.clipboard.readText().then((text) => text === table)", arg=table
        )
        assert not await violations_in_both_schemes(page)
        await page.set_viewport_size(PHONE)
        assert await fits(page)


async def test_an_app_and_a_passkey_are_second_factors_and_a_passkey_signs_in_alone(live, ada):
    # A browser has passkeys for names only, and not for 127.0.0.1.
    here = live.url.replace("127.0.0.1", "localhost")
    async with open_page(live, base_url=here, expect=["//localhost:"]) as page:
        devtools = await page.context.new_cdp_session(page)
        await devtools.send("WebAuthn.enable")
        device = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True}
        device |= {"hasUserVerification": True, "isUserVerified": True, "automaticPresenceSimulation": True}
        await devtools.send("WebAuthn.addVirtualAuthenticator", {"options": device})
        await page.goto("/settings/")
        await sign_in(page, "ada@example.org")
        await page.get_by_role("link", name="Second factor and passkeys").click()
        assert not await violations_in_both_schemes(page)
        await page.get_by_role("link", name="Set up an app").click()
        # A sign-in is fresh only when it was confirmed in this session.
        if await page.get_by_role("heading", name="Confirm that it is you").is_visible():
            await page.get_by_label("Password").fill(PASSWORD)
            await page.get_by_role("button", name="Confirm").click()
        await expect(page.get_by_alt_text("The picture for your app")).to_be_visible()
        assert not await violations_in_both_schemes(page)
        await page.get_by_text("Enter the key by hand instead").click()
        secret = await page.locator(".qr__key").inner_text()
        await page.get_by_label("Code").fill(code_of(secret))
        await page.get_by_role("button", name="Set up").click()
        await expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
        assert not await violations(page)
        recovery = await page.locator(".codes code").first.inner_text()
        await page.get_by_role("link", name="Done").click()
        await page.get_by_role("link", name="Add a passkey").click()
        await page.get_by_label("Name").fill("This laptop")
        assert not await violations(page)
        await page.get_by_role("button", name="Add").click()
        await expect(page.get_by_text("This laptop")).to_be_visible()
        assert await in_database(Authenticator.objects.filter(user=ada).count) == 3
        # The password alone opens nothing now; a recovery code replaces the app.
        await sign_out(page)
        await sign_in(page, "ada@example.org")
        await expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
        assert not await violations_in_both_schemes(page)
        await page.get_by_label("Code").fill("000000")
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await expect(page.get_by_text("Incorrect code")).to_be_visible()
        await page.get_by_label("Code").fill(recovery)
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        await sign_out(page)
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()


def code_of(secret):
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


async def sign_out(page):
    await page.goto("/accounts/logout/")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page).to_have_title(re.compile("Sign in"))


async def test_a_person_comes_in_by_single_sign_on(live, ada, settings):
    with OidcProvider() as provider:
        settings.SOCIALACCOUNT_PROVIDERS = provider.settings()
        settings.OIDC = replace(settings.OIDC, issuer=provider.url, name="Example")
        provider.person(sub="g1", email="grace@example.org", email_verified=True, name="Grace Hopper")
        async with open_page(live, expect=["403"]) as page:
            await page.goto("/settings/")
            assert not await violations_in_both_schemes(page)
            await page.get_by_role("link", name="Sign in with Example").click()
            await expect(page.get_by_label("Name", exact=True)).to_have_value("Grace")
            await expect(page.get_by_text("Connected with Example.")).to_be_visible()
            await expect(page.get_by_role("link", name="Change password")).to_have_count(0)
            grace = await in_database(User.objects.get, email="grace@example.org")
            roles.set_role(grace, User.Role.PEOPLE)
            await in_database(grace.save)
            # Only the provider can ask her again, which it does, and the invitation is then made.
            await in_database(provider.session, 3600)
            await page.goto("/team/invitations/")
            await page.get_by_label("Email", exact=True).fill("hopper@example.org")
            await page.get_by_role("button", name="Invite", exact=True).click()
            await expect(page.get_by_label("The link for hopper@example.org:")).to_be_visible()
            # It does not ask, and the next change is not made.
            await in_database(partial(provider.fault, never_asks_again=True))
            await in_database(provider.session, 3600)
            await page.context.clear_cookies()
            await page.goto("/team/people/")
            await page.get_by_role("link", name="Sign in with Example").click()
            await page.get_by_role("link", name="ada@example.org").click()
            await page.get_by_role("button", name="Disable").click()
            await expect(page.get_by_role("heading", name="Not confirmed")).to_be_visible()
            assert not await violations_in_both_schemes(page)
            await page.set_viewport_size(PHONE)
            assert await fits(page)
            assert await in_database(User.objects.filter(email="ada@example.org", is_active=True).exists)


async def test_an_answer_of_saml_comes_from_another_site_and_a_form_leads_there(live, ada, settings):
    with SamlProvider() as provider:
        provider.configure(settings)
        provider.person("g1", email="grace@example.org", displayName="Grace Hopper")
        async with open_page(live) as page:
            await page.goto("/settings/")
            await page.get_by_role("link", name="Sign in with Example").click()
            await expect(page.get_by_label("Name", exact=True)).to_have_value("Grace")
            await expect(page.get_by_text("Connected with Example.")).to_be_visible()
        provider.person("a1", email="ada@elsewhere.example")
        async with open_page(live, ada, expect=["/sso?"]) as page:
            await page.goto("/settings/")
            await page.get_by_role("button", name="Connect with Example").click()
            await page.get_by_label("Password").fill(PASSWORD)
            await page.get_by_role("button", name="Confirm").click()
            await expect(page.get_by_text("Connected with Example.")).to_be_visible()
            # Where a form leads, while the identity provider does not answer.
            await page.route("**/sso?*", lambda route: route.fulfill(status=204))
            await page.goto("/accounts/saml/?prompt=login")
            await expect(page.get_by_role("heading", name="Sign in with Example")).to_be_visible()
            assert not await violations_in_both_schemes(page)
