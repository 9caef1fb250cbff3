"""The person's timezone: from the browser at the first sign-in, and from then on changed by nobody but them."""

import pytest
from django.core.cache import cache

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def forget_attempts(db):
    cache.clear()


def sign_in(client, zone):
    client.post("/accounts/logout/")
    client.post("/accounts/login/", {"login": "ada@example.org", "password": PASSWORD, "timezone": zone})


def zone_of(person):
    person.refresh_from_db()
    return person.timezone


@pytest.fixture
def new(ada):
    ada.timezone = "UTC"
    ada.save()
    return ada


def test_the_first_sign_in_takes_the_zone_of_the_browser(client, new):
    sign_in(client, "America/Lima")
    assert zone_of(new) == "America/Lima"


@pytest.mark.parametrize("first", ["America/Lima", "UTC"])
def test_signing_in_elsewhere_changes_nothing_and_says_so(client, new, first):
    sign_in(client, first)
    assert "Your timezone is" not in client.get("/").content.decode()
    sign_in(client, "Asia/Tokyo")
    assert zone_of(new) == first
    assert f"Your timezone is still {first}; this device is in Asia/Tokyo." in client.get("/").content.decode()


def test_a_chosen_zone_is_not_overridden(client, new, ada):
    sign_in(client, "America/Lima")
    client.post("/settings/", {"first_name": "Ada", "timezone": "UTC"})
    assert zone_of(ada) == "UTC"
    sign_in(client, "Asia/Tokyo")
    assert zone_of(ada) == "UTC"


def test_saving_the_settings_without_touching_the_zone_is_no_choice(client, new, ada):
    client.force_login(ada)
    client.post("/settings/", {"first_name": "Ada", "timezone": "UTC"})
    ada.refresh_from_db()
    assert str(ada) == "Ada"
    sign_in(client, "Asia/Tokyo")
    assert zone_of(ada) == "Asia/Tokyo"


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "Europe/Zurich\x00", "x" * 5000])
def test_nonsense_from_a_browser_changes_nothing(client, ada, zone):
    sign_in(client, zone)
    assert client.session["_auth_user_id"] == str(ada.pk)
    assert zone_of(ada) == "Europe/Zurich"


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "x" * 5000, "Europe/Zurich\x00"])
def test_the_settings_refuse_what_is_no_zone(client, ada, zone):
    client.force_login(ada)
    response = client.post("/settings/", {"first_name": "Ada", "timezone": zone})
    assert response.status_code == 200
    assert zone_of(ada) == "Europe/Zurich"


def test_nobody_changes_the_settings_of_another(client, ada, stranger):
    client.force_login(stranger)
    client.post("/settings/", {"first_name": "Mallory", "timezone": "Asia/Tokyo", "id": ada.pk, "pk": ada.pk})
    assert zone_of(ada) == "Europe/Zurich"
    assert zone_of(stranger) == "Asia/Tokyo"
