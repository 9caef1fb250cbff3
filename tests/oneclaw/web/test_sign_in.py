"""Who opens a WebSocket: the person whose valid session its cookie names, found in one crossing."""

import asyncio

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from oneclaw.web.sign_in import SignInMiddleware, session_of, user_of

pytestmark = pytest.mark.django_db(transaction=True)


def scope_with(cookie):
    return {"type": "websocket", "headers": [(b"cookie", cookie.encode())] if cookie else []}


def signed_in(user):
    browser = Browser()
    browser.force_login(user)
    return browser, f"other=1; sessionid={browser.session.session_key}"


def reached(cookie):
    """The user and the session key that the application behind the middleware is given."""
    found = []

    async def application(scope, receive, send):
        found.extend([scope["user"], scope["session"].session_key])

    asyncio.run(SignInMiddleware(application)(scope_with(cookie), None, None))
    return found


def test_the_person_of_the_cookie_is_signed_in(ada, stranger):
    browser, cookie = signed_in(ada)
    signed_in(stranger)
    assert reached(cookie) == [ada, browser.session.session_key]


@pytest.mark.parametrize("cookie", ["", "sessionid=", "sessionid=abcdefghijklmnopqrstuvwxyz012345", "x"])
def test_a_socket_without_a_session_is_of_nobody(ada, cookie):
    assert not reached(cookie)[0].is_authenticated


@pytest.mark.parametrize("change", [{"is_active": False}, {"password": "!new"}])
def test_a_closed_account_or_a_new_password_opens_nothing(ada, change):
    _, cookie = signed_in(ada)
    for name, value in change.items():
        setattr(ada, name, value)
    ada.save()
    assert not reached(cookie)[0].is_authenticated


def test_who_has_yet_to_set_up_the_required_second_factor_opens_nothing(ada, admin_person, settings):
    cookies = {person: signed_in(person)[1] for person in (ada, admin_person)}
    settings.SECOND_FACTOR = "admins"
    assert [reached(cookie)[0].is_authenticated for cookie in cookies.values()] == [True, False]
    settings.SECOND_FACTOR = "everyone"
    assert not reached(cookies[ada])[0].is_authenticated
    TOTP.activate(ada, generate_totp_secret())
    assert reached(cookies[ada])[0] == ada


def test_who_signed_out_opens_nothing(ada):
    browser, cookie = signed_in(ada)
    browser.logout()
    assert not reached(cookie)[0].is_authenticated


def test_two_statements_find_the_person(ada):
    _, cookie = signed_in(ada)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert user_of(session_of(scope_with(cookie))) == ada
    assert len(queries) == 2
