"""The front door: sign-in, sign-out, password, sign-up."""

import datetime as dt
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from oneclaw.models import SignInAttempt, User
from oneclaw.people.sign_in import attempts

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def forget_attempts(db):
    """Failed sign-ins are counted in the cache, which outlives a test."""
    cache.clear()


def sign_in(client, email="ada@example.org", password=PASSWORD, **fields):
    return client.post("/accounts/login/", {"login": email, "password": password, **fields})


def who(client):
    return client.session.get("_auth_user_id")


def test_email_and_password_open_the_chat(client, ada):
    response = sign_in(client, "Ada@Example.org")
    assert (response.status_code, response["Location"]) == (302, "/")
    assert who(client) == str(ada.pk)


@pytest.mark.parametrize(
    ("email", "password"), [("ada@example.org", "wrong"), ("nobody@example.org", PASSWORD), ("", ""), ("ada", PASSWORD)]
)
def test_anything_else_does_not(client, ada, email, password):
    assert sign_in(client, email, password).status_code == 200
    assert who(client) is None


def test_a_wrong_email_and_a_wrong_password_look_the_same(client, ada):
    errors = [
        sign_in(client, email, "wrong").context["form"].errors.as_text()
        for email in ("ada@example.org", "x@example.org")
    ]
    assert errors[0] == errors[1]


def test_guessing_is_slowed_down(client, ada):
    for _ in range(6):
        sign_in(client, password="wrong")
    told = sign_in(client).context["form"].errors.as_text()
    assert who(client) is None
    assert "wait 5 minutes, then try again" in told
    assert "ask your administrator for a new link" in told


def test_a_network_that_tries_too_often_is_told_to_wait(client, ada):
    for _ in range(301):
        response = sign_in(client)
    assert response.status_code == 429
    assert "Wait a minute, then try again" in response.content.decode()


def test_forty_colleagues_behind_one_address_sign_in_within_a_minute(client, ada):
    for number in range(40):
        User.objects.create_user(f"person{number}@example.org", PASSWORD)
        client.logout()
        assert sign_in(client, f"person{number}@example.org").status_code == 302


def test_the_mistakes_of_colleagues_hold_back_nobody_else_in_the_office(client, ada):
    for number in range(30):
        sign_in(client, f"person{number}@example.org", "wrong")
    assert sign_in(client).status_code == 302


@pytest.mark.parametrize(
    ("attempts", "last"),
    [
        # Many accounts from one address, and one account from many addresses.
        ([(f"person{number}@example.org", "10.1.1.1") for number in range(60)], ("ada@example.org", "10.1.1.1")),
        ([("ada@example.org", f"10.1.1.{number}") for number in range(50)], ("ada@example.org", "10.9.9.9")),
        (
            [("ada@example.org", f"2001:db8:1:2::{number:x}") for number in range(5)],
            ("ada@example.org", "2001:db8:1:2::99"),
        ),
    ],
    ids=["one address", "many addresses", "one network of IPv6"],
)
def test_brute_force_is_held(client, ada, attempts, last):
    for email, address in attempts:
        client.post("/accounts/login/", {"login": email, "password": "wrong"}, REMOTE_ADDR=address)
    told = client.post("/accounts/login/", {"login": last[0], "password": PASSWORD}, REMOTE_ADDR=last[1])
    assert "wait 5 minutes" in told.context["form"].errors.as_text()
    assert who(client) is None
    # Waiting is enough.
    SignInAttempt.objects.update(at=timezone.now() - dt.timedelta(hours=2))
    assert sign_in(client).status_code == 302


def test_ones_own_right_password_does_not_wash_away_guesses_at_others(client, ada, stranger):
    for _ in range(5):
        sign_in(client, password="wrong")
        assert sign_in(client, stranger.email).status_code == 302
        client.logout()
    assert "wait 5 minutes" in sign_in(client).context["form"].errors.as_text()


def test_thirty_guesses_at_the_same_moment_are_five(transactional_db):
    def guess(number):
        try:
            return bool(attempts.begin("ada@example.org", "10.1.1.1"))
        except attempts.TooManyAttemptsError:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        checked = sum(pool.map(guess, range(30)))
    assert checked <= attempts.PAIR_MAX_COUNT


def test_colleagues_who_mistype_twice_sign_in_at_the_same_moment_behind_one_address(transactional_db):
    def arrive(number):
        try:
            for _mistake in range(2 if number % 5 == 0 else 0):
                attempts.begin(f"person{number}@example.org", "10.1.1.1")
            attempts.succeed(attempts.begin(f"person{number}@example.org", "10.1.1.1"))
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(arrive, range(30)))
    assert not SignInAttempt.objects.exists()


def test_somebody_who_was_shut_out_stays_out(client, ada):
    User.objects.update(is_active=False)
    sign_in(client)
    assert who(client) is None


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
)
def test_sign_in_leads_to_no_other_site(client, ada, target):
    assert sign_in(client, next=target)["Location"] == "/"


def test_sign_in_leads_back_to_the_page_that_was_asked_for(client, ada):
    assert client.get("/settings/")["Location"] == "/accounts/login/?next=/settings/"
    assert sign_in(client, next="/settings/")["Location"] == "/settings/"


# The same in each process of tests.
NOBODYS = uuid.UUID(int=1)
PART = f"/c/{NOBODYS}"


@pytest.mark.parametrize("path", ["/sessions", "/search?q=tea", f"{PART}/menu", f"{PART}/rename", f"/import/{NOBODYS}"])
def test_a_page_whose_sign_in_has_ended_goes_to_sign_in_and_not_a_part_of_it(client, db, path):
    asked = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{PART}?a=b"}
    part = client.get(path, headers=asked)
    assert (part.status_code, part.content) == (200, b"")
    assert part["HX-Redirect"] == f"/accounts/login/?next={PART}%3Fa%3Db"
    elsewhere = client.get(path, headers=asked | {"HX-Current-URL": "https://evil.example/"})
    assert elsewhere["HX-Redirect"] == "/accounts/login/?next=/"
    whole = client.get(path)
    assert (whole.status_code, "HX-Redirect" in whole) == (302, False)
    assert client.post("/conversations/organise", headers=asked)["HX-Redirect"].endswith(f"next={PART}%3Fa%3Db")
    assert client.get("/api/v1/sessions", headers=asked).status_code == 401


def test_signing_out_takes_a_click_and_ends_the_session(client, ada):
    client.force_login(ada)
    assert client.get("/accounts/logout/").status_code == 200
    assert who(client)
    client.post("/accounts/logout/")
    assert who(client) is None


def test_the_admin_has_no_door_of_its_own(client, ada):
    response = client.get("/admin/login/?next=/admin/")
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")
    client.post("/admin/login/", {"username": "ada@example.org", "password": PASSWORD})
    assert who(client) is None


def test_somebody_without_the_right_gets_no_admin(client, ada):
    client.force_login(ada)
    assert client.get("/admin/", follow=True).status_code == 403


def test_the_password_changes_and_the_session_stays(client, ada):
    sign_in(client)
    new = "an entirely new sentence"
    response = client.post("/accounts/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    assert response["Location"] == "/settings/"
    html = client.get("/settings/").content.decode()
    assert "Password successfully changed." in html
    assert "signed in" not in html
    assert who(client)
    ada.refresh_from_db()
    assert ada.check_password(new)


def test_the_old_password_is_needed_for_a_new_one(client, ada):
    sign_in(client)
    new = "an entirely new sentence"
    client.post("/accounts/password/change/", {"oldpassword": "wrong", "password1": new, "password2": new})
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_who_forgot_the_password_is_sent_to_the_administrator(client, ada):
    page = client.get("/accounts/password/reset/")
    assert "administrator" in page.content.decode()
    client.post("/accounts/password/reset/", {"email": "ada@example.org"})
    from django.core import mail

    assert mail.outbox == []


# -- Sign-up -------------------------------------------------------------------------------------

NEW = {"email": "Grace@Example.org", "password1": PASSWORD, "password2": PASSWORD}


def test_sign_up_is_closed_and_says_so(client, db):
    assert "/accounts/signup/" not in client.get("/accounts/login/").content.decode()
    assert "closed" in client.get("/accounts/signup/").content.decode()
    client.post("/accounts/signup/", NEW)
    assert not User.objects.exists()


def test_an_open_sign_up_makes_an_ordinary_person(client, db, settings):
    settings.SIGN_UP = "open"
    assert "/accounts/signup/" in client.get("/accounts/login/").content.decode()
    assert client.post("/accounts/signup/", {**NEW, "timezone": "Asia/Tokyo"})["Location"] == "/"
    grace = User.objects.get()
    assert (grace.email, grace.is_staff, grace.is_superuser) == ("grace@example.org", False, False)
    assert grace.timezone == "Asia/Tokyo"


def test_an_email_signs_up_once_however_it_is_written(client, ada, settings):
    settings.SIGN_UP = "open"
    assert client.post("/accounts/signup/", {**NEW, "email": "ADA@example.org"}).status_code == 200
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "path",
    [
        "/accounts/email/",
        "/accounts/password/set/",
        "/accounts/password/reset/key/1-x/",
        "/accounts/confirm-email/x/",
        "/accounts/inactive/x/",
    ],
)
def test_doors_that_nobody_needs_are_not_there(client, ada, path):
    client.force_login(ada)
    assert client.get(path).status_code == 404
