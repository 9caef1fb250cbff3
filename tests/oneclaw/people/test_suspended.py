"""A change that is made with an old sign-in waits for the confirmation: it is made once, or the person is told."""

import time
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test import Client, RequestFactory

from oneclaw.leaving import offboard
from oneclaw.models import Invitation, Offboarding, User
from oneclaw.people.sign_in import suspended

PASSWORD = "correct horse battery"
PAGE = "http://testserver/team/invitations/"


@pytest.fixture
def client(admin_person):
    client = Client()
    client.force_login(admin_person)
    return client


def invite(client, email="grace@example.org"):
    fields = {"email": email, "days": "7", "role": "", "groups": []}
    return client.post("/team/invitations/new?page=2", fields, headers={"referer": PAGE})


def confirm(client, asked):
    return client.post(asked["Location"], {"password": PASSWORD})


def test_a_form_is_sent_once_and_its_page_shows_what_came_of_it(client):
    asked = invite(client)
    assert not Invitation.objects.exists()
    back = confirm(client, asked)["Location"]
    assert "/invited/" in client.get(back).content.decode()
    assert Invitation.objects.get().email == "grace@example.org"
    again = client.get(back)
    assert (again.status_code, "made already" in again.content.decode()) == (410, True)
    assert Invitation.objects.count() == 1


def test_nothing_is_sent_without_the_confirmation_or_in_another_sign_in(client, admin_person):
    asked = invite(client)
    waiting = client.session[suspended.SESSION_KEY]["id"]
    # Who knows the address, but has confirmed nothing, is asked again.
    assert client.get(f"/confirmed/{waiting}/")["Location"].startswith("/accounts/reauthenticate/")
    assert confirm(client, asked)["Location"] == f"/confirmed/{waiting}/"
    # Asking again has made it another one.
    assert client.get(f"/confirmed/{waiting}/").status_code == 410
    other = Client()
    other.force_login(admin_person)
    invite(other)
    assert client.get(f"/confirmed/{other.session[suspended.SESSION_KEY]['id']}/").status_code == 410
    assert Client().get(f"/confirmed/{waiting}/")["Location"].startswith("/accounts/login/")
    assert client.post(f"/confirmed/{waiting}/").status_code == 405
    assert not Invitation.objects.exists()


def test_two_clicks_on_confirm_make_one_change(transactional_db, client, ada):
    asked = client.post(f"/team/people/{ada.pk}/sign-out")
    back = confirm(client, asked)["Location"]
    requests = [RequestFactory().get(back) for _ in range(2)]
    for request in requests:
        # Both have read the session before one of them takes the change.
        request.session = SessionStore(client.session.session_key)
        assert request.session[suspended.SESSION_KEY]
    suspended_id = back.strip("/").rpartition("/")[2]

    def take(request):
        try:
            return bool(suspended.taken(request, suspended_id))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            Session.objects.select_for_update().get(session_key=client.session.session_key)
            taking = [pool.submit(take, request) for request in requests]
            # Both wait for the row of the session.
            assert not wait(taking, timeout=0.5).done
        results = [each.result() for each in taking]
    assert sorted(results) == [False, True]
    assert client.get(back).status_code == 410


def test_a_change_whose_confirmation_came_late_is_not_made_and_its_form_is_shown_with_a_sentence(client, monkeypatch):
    asked = invite(client)
    now = time.time()
    monkeypatch.setattr(suspended, "time", type("Later", (), {"time": staticmethod(lambda: now + 700)}))
    back = client.get(confirm(client, asked)["Location"])
    assert back["Location"] == PAGE
    assert "Your change was not made, because the confirmation came late." in client.get(PAGE).content.decode()
    assert not Invitation.objects.exists()


def test_a_file_is_chosen_again(client):
    upload = SimpleUploadedFile("people.csv", b"grace@example.org")
    asked = client.post("/team/invitations/many", {"many-file": upload, "many-days": "7"}, headers={"referer": PAGE})
    back = client.get(confirm(client, asked)["Location"])
    assert back["Location"] == PAGE
    assert "because it had a file" in client.get(PAGE).content.decode()
    assert not Invitation.objects.exists()


def test_a_page_of_another_site_is_not_led_back_to(client):
    asked = client.post(
        "/team/invitations/many",
        {"many-file": SimpleUploadedFile("people.csv", b"x@example.org"), "many-days": "7"},
        headers={"referer": "https://evil.example/"},
    )
    assert client.get(confirm(client, asked)["Location"])["Location"] == "/"


def test_a_removal_that_was_given_up_does_not_happen_when_its_page_is_opened_later(ada):
    client = Client()
    client.force_login(ada)
    client.post("/settings/delete/")
    # Without confirming it, the person goes away, and later only looks at the page.
    asked = client.get("/settings/delete/")
    page = client.get(confirm(client, asked)["Location"])
    assert (page.status_code, "Delete" in page.content.decode()) == (200, True)
    assert not Offboarding.objects.exists()
    assert User.objects.filter(pk=ada.pk, is_active=True).exists()
    assert offboard.plan(ada)
