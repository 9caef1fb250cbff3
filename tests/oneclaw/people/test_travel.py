"""Whose device is in another timezone is asked; what a browser says and nobody knows is said, too."""

import pytest
from django.contrib.messages import get_messages

from oneclaw.models import User

PASSWORD = "correct horse battery"


@pytest.fixture
def grace(db):
    return User.objects.create_user("grace@example.org", PASSWORD)


def sign_in(client, zone):
    fields = {"login": "grace@example.org", "password": PASSWORD, "timezone": zone}
    response = client.post("/accounts/login/", fields)
    return " ".join(str(each) for each in get_messages(response.wsgi_request) if "timezone" in str(each))


def test_an_old_name_of_a_browser_is_taken_at_the_first_sign_in(client, grace):
    assert sign_in(client, "Asia/Calcutta") == ""
    grace.refresh_from_db()
    assert (grace.timezone, grace.timezone_chosen) == ("Asia/Calcutta", True)
    assert grace.zone.utcoffset(None) is None or grace.local().utcoffset().total_seconds() == 5.5 * 3600


def test_a_timezone_that_is_not_known_is_said(client, grace):
    said = sign_in(client, "Mars/Olympus")
    assert "Mars/Olympus of this device is unknown" in said
    grace.refresh_from_db()
    assert (grace.timezone, grace.timezone_chosen) == ("UTC", False)


@pytest.mark.parametrize("zone", ["Europe/Kyiv", "Europe/Kiev", "Mars/Olympus", ""])
def test_nobody_is_nagged_about_their_own_timezone(client, grace, zone):
    User.objects.update(timezone="Europe/Kiev", timezone_chosen=True)
    assert sign_in(client, zone) == ""


def test_the_question_is_about_another_timezone_alone(client, grace):
    User.objects.update(timezone="Europe/Kiev", timezone_chosen=True)
    client.force_login(grace)
    for same in ("Europe/Kyiv", "Europe/Kiev", "Mars/Olympus", ""):
        assert client.get("/settings/timezone", {"here": same}).status_code == 204
    page = client.get("/settings/timezone", {"here": "Asia/Tokyo"}).content.decode()
    assert "This device is in Asia/Tokyo; your days begin in Europe/Kiev." in page


def test_it_is_changed_by_a_yes_and_by_nothing_else(client, grace):
    client.force_login(grace)
    for answer, zone in (("keep", "Asia/Tokyo"), ("change", "Mars/Olympus"), ("", "Asia/Tokyo")):
        client.post("/settings/timezone", {"here": zone, "answer": answer})
        grace.refresh_from_db()
        assert grace.timezone == "UTC"
    there = {"here": "Asia/Tokyo", "answer": "change"}
    response = client.post("/settings/timezone", there, headers={"HX-Request": "true"})
    assert response["HX-Refresh"] == "true"
    grace.refresh_from_db()
    assert (grace.timezone, grace.timezone_chosen) == ("Asia/Tokyo", True)
    assert client.post("/settings/timezone", there).status_code == 302
