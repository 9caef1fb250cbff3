"""The first account of all: made by a link, by one person, once."""

import threading

import pytest
from django.core import signing
from django.db import connection
from django.test import Client

from oneclaw.models import User
from oneclaw.people import invitations

BASE = "http://127.0.0.1:8000"
PASSWORD = "a long and quiet evening"


@pytest.fixture
def link(db):
    return invitations.first_account_link(BASE)


def make(client, link, email="grace@example.org"):
    fields = {"email": email, "name": "Grace", "password1": PASSWORD, "password2": PASSWORD, "timezone": "Asia/Tokyo"}
    return client.post(link.removeprefix(BASE), fields)


def test_the_link_makes_an_administrator_who_is_signed_in(client, link):
    assert client.get(link.removeprefix(BASE)).status_code == 200
    assert make(client, link, "Grace@Example.org").status_code == 302
    grace = User.objects.get()
    assert (grace.email, grace.is_staff, grace.is_superuser, grace.timezone) == (
        "grace@example.org",
        True,
        True,
        "Asia/Tokyo",
    )
    assert client.session["_auth_user_id"] == str(grace.pk)


def test_there_is_no_link_once_there_is_somebody(ada):
    assert invitations.first_account_link(BASE) is None


def test_an_old_link_makes_no_second_account(client, link):
    make(client, link)
    other = Client()
    assert other.get(link.removeprefix(BASE)).status_code == 410
    assert make(other, link, "mallory@example.org").status_code == 410
    assert User.objects.count() == 1


def test_a_link_ends_after_the_days_of_the_setting(client, link, settings):
    settings.INVITATION_DAYS = 0
    assert client.get(link.removeprefix(BASE)).status_code == 410


@pytest.mark.parametrize(
    "token",
    ["first", signing.dumps("first"), signing.dumps("first", key="other")],
    ids=["unsigned", "signed for something else", "signed by somebody else"],
)
def test_a_made_up_link_makes_nothing(client, db, token):
    assert make(client, f"{BASE}/first/{token}/").status_code == 410
    assert User.objects.count() == 0


def test_of_two_at_once_one_wins(transactional_db):
    link = invitations.first_account_link(BASE)
    barrier, statuses = threading.Barrier(2), []

    def use(email):
        client = Client()
        client.get(link.removeprefix(BASE))
        barrier.wait()
        statuses.append(make(client, link, email).status_code)
        connection.close()

    threads = [threading.Thread(target=use, args=[f"{name}@example.org"]) for name in ("grace", "mallory")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [302, 410]
    assert User.objects.count() == 1
