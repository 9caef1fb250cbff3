"""Settings that owners change without a restart: sign-up, curation, an announcement, maintenance."""

import time

import pytest
from django.test import Client

from oneclaw import runtime_settings
from oneclaw.models import AuditEvent, AuditKind, RuntimeSetting, User
from oneclaw.people import roles

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture
def owner(admin_person, monkeypatch, django_capture_on_commit_callbacks):
    """set("announcement", "Tea at four") changes a setting as an owner on the page."""
    monkeypatch.delenv("ONECLAW_SIGN_UP", raising=False)
    client = Client()
    client.post("/accounts/login/", {"login": admin_person.email, "password": PASSWORD})

    def change(name, value):
        with django_capture_on_commit_callbacks(execute=True):
            return client.post(f"/team/settings/{name}", {"value": value}, follow=True)

    change.client = client
    return change


def test_a_change_counts_at_once_and_is_recorded(owner, admin_person, client):
    assert client.get("/accounts/signup/").status_code == 200
    assert "Sign up" not in client.get("/accounts/login/").content.decode()
    owner("sign_up", "approval")
    client.post("/accounts/signup/", {"email": "g@example.org", "password1": PASSWORD, "password2": PASSWORD})
    assert User.objects.get(email="g@example.org").awaits_approval
    event = AuditEvent.objects.get(kind=AuditKind.SETTING_CHANGED)
    assert (event.actor, event.details) == (
        admin_person.pk,
        {"setting": "sign_up", "before": "closed", "now": "approval"},
    )
    page = owner.client.get("/team/settings/").content.decode()
    assert "Changed by root@example.org" in page
    assert "cannot be changed so" in owner("sign_up", "nonsense").content.decode()
    assert runtime_settings.value("sign_up") == "approval"


def test_the_environment_wins_and_is_shown_so(owner, monkeypatch, settings):
    RuntimeSetting.objects.create(name="curation", value="recorded")
    runtime_settings.stored.forget()
    monkeypatch.setenv("ONECLAW_CURATION", "closed")
    settings.CURATION = "closed"
    assert runtime_settings.value("curation") == "closed"
    page = owner("curation", "reason").content.decode()
    assert "cannot be changed so" in page
    assert "Set by ONECLAW_CURATION in the environment." in page


def test_other_processes_have_a_change_within_seconds(db, monkeypatch):
    runtime_settings.stored.forget()
    assert runtime_settings.value("announcement") == ""
    # As another process changes it.
    RuntimeSetting.objects.create(name="announcement", value="Tea at four")
    assert runtime_settings.value("announcement") == ""
    now = time.monotonic() + runtime_settings.KNOWN_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert runtime_settings.value("announcement") == "Tea at four"


def test_a_change_back_counts_although_this_process_has_not_read_the_change(owner):
    assert runtime_settings.value("sign_up") == "closed"
    # As another process changes it.
    RuntimeSetting.objects.create(name="sign_up", value="open")
    assert runtime_settings.value("sign_up") == "closed"
    owner("sign_up", "closed")
    assert RuntimeSetting.objects.get().value == "closed"
    assert AuditEvent.objects.get(kind=AuditKind.SETTING_CHANGED).details["before"] == "open"


def test_an_announcement_is_shown_to_all_until_each_dismisses_it(owner, ada):
    owner("announcement", "Tea at <four>")
    adas = Client()
    adas.force_login(ada)
    shown = "Tea at &lt;four&gt;"
    for address in ("/", "/settings/"):
        assert shown in adas.get(address).content.decode()
    assert shown not in Client().get("/accounts/login/").content.decode()
    mark = runtime_settings.fingerprint("Tea at <four>")
    assert (
        adas.post("/team/announcement/dismiss", {"text": mark}, headers={"Referer": "https://evil.example/"})[
            "Location"
        ]
        == "/"
    )
    assert shown not in adas.get("/").content.decode()
    # On another device, too.
    other = Client()
    other.force_login(ada)
    assert shown not in other.get("/settings/").content.decode()
    assert shown in owner.client.get("/settings/").content.decode()
    owner("announcement", "Tea at five")
    assert "Tea at five" in adas.get("/").content.decode()


@pytest.mark.parametrize("role", [role for role in User.Role.values if role != "owner"])
def test_only_owners_change_settings(ada, role):
    roles.set_role(ada, role)
    ada.save()
    client = Client()
    client.post("/accounts/login/", {"login": ada.email, "password": PASSWORD})
    assert client.get("/team/settings/").status_code == 403
    assert client.post("/team/settings/maintenance", {"value": "Closed"}).status_code == 403
    assert not RuntimeSetting.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_during_maintenance_only_owners_send_messages(adas, admin_person, scripted, settings):
    from tests.programs import Program

    settings.TITLES = False
    RuntimeSetting.objects.create(name="maintenance", value="New disks until three.")
    runtime_settings.stored.forget()
    refused = adas.post("/messages", text="Hello")
    assert (refused.status_code, refused.json()["code"]) == (429, "maintenance")
    assert refused.json()["text"] == "Maintenance: New disks until three."
    assert adas.get("/sessions").json()["items"] == []
    assert Program(admin_person).post("/messages?wait=10", text="Hello").status_code == 200
