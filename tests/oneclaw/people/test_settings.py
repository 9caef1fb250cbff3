"""What a person sets for themselves: language, look, timezone, and where they are signed in."""

import json

import pytest
from django.test import Client

from oneclaw.models import User
from oneclaw.people import devices

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1"


def signed_in(email: str, user_agent: str) -> Client:
    client = Client(headers={"User-Agent": user_agent})
    response = client.post("/accounts/login/", {"login": email, "password": "correct horse battery"})
    assert response.status_code == 302
    return client


def html(client: Client, path: str = "/settings/") -> str:
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def save(client: Client, **fields: str) -> None:
    kept = {"first_name": "Ada", "timezone": "Europe/Zurich", "language": "", "appearance": ""}
    assert client.post("/settings/", kept | fields).status_code == 302


def test_the_language_that_was_chosen_goes_before_the_browsers(client, ada):
    client.force_login(ada)
    german = {"Accept-Language": "de"}
    assert 'lang="de"' in client.get("/settings/", headers=german).content.decode()
    save(client, language="ja")
    assert 'lang="ja"' in client.get("/settings/", headers=german).content.decode()
    # And for nobody else.
    assert 'lang="de"' in Client().get("/accounts/login/", headers=german).content.decode()


def test_the_look_that_was_chosen_goes_before_the_devices(client, ada):
    client.force_login(ada)
    assert "data-appearance" not in html(client)
    save(client, appearance="dark")
    assert 'data-appearance="dark"' in html(client, "/")


@pytest.mark.parametrize("fields", [{"language": "tlh"}, {"appearance": "pink"}, {"timezone": "Mars/Olympus"}])
def test_what_there_is_not_cannot_be_chosen(client, ada, fields):
    client.force_login(ada)
    kept = {"first_name": "Ada", "timezone": "Europe/Zurich", "language": "", "appearance": ""}
    assert client.post("/settings/", kept | fields).status_code == 200
    ada.refresh_from_db()
    assert (ada.language, ada.appearance, ada.timezone) == ("", "", "Europe/Zurich")


def test_times_are_on_the_persons_own_clock(client, ada, admin_person):
    from tests.conversations import send, settle

    settle(send(ada), "Well.")
    ada.chat_sessions.update(active_at="2026-01-31T23:30:00Z")
    client.force_login(ada)
    assert "1 Feb 2026" in html(client, "/conversations")
    User.objects.filter(pk=ada.pk).update(timezone="America/New_York")
    assert "31 Jan 2026" in html(client, "/conversations")


def test_a_sign_in_elsewhere_is_listed_and_can_be_ended(ada):
    desk, phone = signed_in(ada.email, FIREFOX), signed_in(ada.email, IPHONE)
    page = html(desk)
    assert page.index("Firefox, Linux <strong>this device</strong>") < page.index("Safari, iOS")
    (elsewhere,) = [device for device in devices.devices_of(ada, desk.session.session_key) if not device.is_here]
    desk.post(f"/settings/devices/{elsewhere.sign_in.pk}/end")
    assert "Safari, iOS" not in html(desk)
    assert phone.get("/settings/").status_code == 302


def test_nobody_ends_the_sign_in_of_somebody_else(ada, stranger):
    desk, other = signed_in(ada.email, FIREFOX), signed_in(stranger.email, FIREFOX)
    (mine,) = devices.devices_of(ada, None)
    other.post(f"/settings/devices/{mine.sign_in.pk}/end")
    assert desk.get("/settings/").status_code == 200


def test_a_browser_can_install_it(client, db):
    response = client.get("/manifest.webmanifest")
    assert response["Content-Type"] == "application/manifest+json"
    manifest = json.loads(response.content)
    assert manifest["display"] == "standalone"
    assert {"192x192", "512x512"} <= {icon["sizes"] for icon in manifest["icons"]}


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (FIREFOX, "Firefox, Linux"),
        (IPHONE, "Safari, iOS"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140 Safari/537.36 Edg/140", "Edge, Windows"),
        ("curl/8", "An unknown browser"),
        ("", "An unknown browser"),
    ],
)
def test_a_device_has_a_name_in_plain_words(user_agent, name):
    assert devices.name_of(user_agent) == name


def test_what_a_signed_in_person_sees_is_kept_by_no_cache(client, ada):
    assert "Cache-Control" not in client.get("/healthz")
    client.force_login(ada)
    for path in ("/", "/settings/", "/sessions"):
        assert client.get(path)["Cache-Control"] == "private, no-store"
    assert client.get("/manifest.webmanifest")["Cache-Control"] == "max-age=86400"
