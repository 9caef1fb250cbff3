"""The page of limits: owners change them within their bounds, the environment wins, and all processes follow."""

import asyncio
import json
import os
import runpy
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client

from oneclaw import pubsub, runtime_settings
from oneclaw.models import AuditEvent, AuditKind, RuntimeSetting, User
from oneclaw.people import roles
from oneclaw.runtime_settings import limit
from oneclaw.runtime_settings.limits import LIMITS
from oneclaw.threads import in_database
from oneclaw.web import rate_limit
from tests.stage import ROOT

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


def signed_in(person):
    client = Client()
    client.post("/accounts/login/", {"login": person.email, "password": PASSWORD})
    return client


@pytest.fixture
def owner(admin_person, django_capture_on_commit_callbacks):
    """owner("person_turns", "2") changes a limit as an owner on the page."""
    client = signed_in(admin_person)

    def change(name, value):
        with django_capture_on_commit_callbacks(execute=True):
            return client.post(f"/team/limits/{name}", {"value": value}, follow=True)

    change.client = client
    return change


def changes():
    return list(AuditEvent.objects.filter(kind=AuditKind.SETTING_CHANGED).order_by("pk").values_list("details", flat=1))


def test_a_change_is_shown_with_its_author_and_recorded_and_nothing_is_the_default(owner, admin_person):
    page = owner.client.get("/team/limits/").content.decode()
    assert "From 1 to 1,000; the default is 4." in page
    assert page.count("Never changed here.") == len(LIMITS)
    page = owner("person_turns", " 07 ").content.decode()
    assert "Changed by root@example.org" in page
    assert 'value="7"' in page
    owner("person_turns", "7")
    owner("messages_per_minute", "2")
    # Nothing, and the default itself, are the default.
    owner("person_turns", "")
    owner("person_turns", str(django_settings.PERSON_TURNS))
    assert 'value="4"' in owner.client.get("/team/limits/").content.decode()
    assert changes() == [
        {"setting": "person_turns", "before": 4, "now": 7},
        {"setting": "messages_per_minute", "before": 0, "now": 2},
        {"setting": "person_turns", "before": 7, "now": 4},
    ]
    assert set(AuditEvent.objects.filter(kind=AuditKind.SETTING_CHANGED).values_list("actor", flat=True)) == {
        admin_person.pk
    }


@pytest.mark.parametrize("text", ["0", "1001", "-1", "2.5", "1e2", "four", "1_0", "٣", "9" * 5000, "\x00", "<b>2"])
def test_what_is_no_number_within_the_bounds_is_refused_at_its_field(owner, text):
    refused = owner("person_turns", text)
    assert refused.status_code == 422
    page = refused.content.decode()
    assert "Write a whole number from 1 to 1,000, or nothing for the default." in page
    assert 'aria-describedby="person_turns_help person_turns_error" aria-invalid="true"' in page
    assert "<b>2" not in page
    assert not RuntimeSetting.objects.exists()
    assert changes() == []


def test_the_bounds_are_those_of_the_environment(owner, monkeypatch):
    for name, each in LIMITS.items():
        for number in each.bounds:
            assert owner(name, str(number)).status_code == 200
            runtime_settings.stored.read()
            assert limit(name) == number
        assert owner(name, str(each.most + 1)).status_code == 422
        assert owner(name, str(each.least - 1)).status_code == 422
    # Those of a start with the variable are the same.
    for each in LIMITS.values():
        with monkeypatch.context() as started:
            for number in each.bounds:
                started.setenv(each.variables[0], str(number))
                assert runpy.run_path(str(ROOT / "oneclaw/settings.py"))[each.default_from] == number
            for number in (each.least - 1, each.most + 1):
                started.setenv(each.variables[0], str(number))
                with pytest.raises(ImproperlyConfigured):
                    runpy.run_path(str(ROOT / "oneclaw/settings.py"))


def test_the_environment_wins_and_its_limit_cannot_be_changed_here(owner, monkeypatch, settings):
    owner("person_turns", "9")
    monkeypatch.setenv("ONECLAW_PERSON_TURNS", "2")
    settings.PERSON_TURNS = 2
    runtime_settings.stored.read()
    assert limit("person_turns") == 2
    refused = owner("person_turns", "5")
    page = refused.content.decode()
    assert refused.status_code == 422
    assert "This setting cannot be changed so." in page
    assert "Set by ONECLAW_PERSON_TURNS in the environment." in page
    assert "Save: Answers at once" not in page
    assert "Save: Searches at once" in page
    # What the default is without the variable is not known here.
    assert page.count("the default is") == len(LIMITS) - 1
    assert RuntimeSetting.objects.get().value == "9"
    assert 'type="number" inputmode="numeric" min="1" max="1000" step="1" value="2"' in (
        owner.client.get("/team/limits/").content.decode()
    )


@pytest.mark.parametrize("stored", ["nonsense", "", "0", "1001", "-3"])
def test_a_row_of_another_release_that_is_no_limit_here_counts_as_none(stored, settings):
    RuntimeSetting.objects.create(name="person_turns", value=stored)
    runtime_settings.stored.read()
    assert limit("person_turns") == settings.PERSON_TURNS


@pytest.mark.parametrize("role", [role for role in User.Role.values if role != "owner"])
def test_only_owners_see_and_change_limits(ada, role):
    roles.set_role(ada, role)
    ada.save()
    client = signed_in(ada)
    assert client.get("/team/limits/").status_code == 403
    assert client.post("/team/limits/person_turns", {"value": "2"}).status_code == 403
    assert not RuntimeSetting.objects.exists()
    assert "/team/limits/" not in client.get("/settings/").content.decode()


def test_a_change_needs_a_fresh_sign_in(admin_person):
    client = Client()
    client.force_login(admin_person)
    asked = client.post("/team/limits/person_turns", {"value": "2"})
    assert asked.status_code == 302
    assert "reauthenticate" in asked["Location"]
    assert not RuntimeSetting.objects.exists()


def test_a_setting_is_no_limit_and_a_limit_is_no_setting(owner):
    assert owner("announcement", "2").status_code == 404
    assert owner.client.post("/team/settings/person_turns", {"value": "2"}).status_code == 404
    assert not RuntimeSetting.objects.exists()


def test_asking_for_a_limit_is_no_statement(django_assert_num_queries):
    runtime_settings.stored.forget()
    with django_assert_num_queries(0):
        for name in LIMITS:
            limit(name)


def test_the_newest_read_counts_even_when_an_older_one_ends_later(admin_person, monkeypatch):
    late = RuntimeSetting.objects.values_list

    def read_meanwhile(*columns):
        found = list(late(*columns))
        monkeypatch.undo()
        RuntimeSetting.objects.create(name="person_turns", value="9")
        runtime_settings.stored.read()
        return found

    monkeypatch.setattr(RuntimeSetting.objects, "values_list", read_meanwhile)
    runtime_settings.stored.read()
    assert limit("person_turns") == 9


@pytest.mark.django_db(transaction=True)
async def test_a_raised_limit_begins_what_waits_in_another_process_at_once(admin_person, settings, monkeypatch):
    from chat.turns.slots import TurnSlots

    settings.PERSON_TURNS = 1
    slots = TurnSlots()
    runtime_settings.follow(slots.give_free)
    await asyncio.wait_for(pubsub.Listener.of_this_loop().connected.wait(), 5)
    await slots.take(1)
    waiting = asyncio.create_task(slots.take(1))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    # As another process changes it: this one hears of it by the hint alone.
    monkeypatch.setattr(runtime_settings.transaction, "on_commit", lambda forget: None)
    await in_database(runtime_settings.change, admin_person, "person_turns", "2")
    await asyncio.wait_for(waiting, 5)


# A process that reads nothing itself: it waits for the hint.
FOLLOW = """
import asyncio, django
django.setup()
from oneclaw import pubsub, runtime_settings
async def follow():
    runtime_settings.follow()
    await pubsub.Listener.of_this_loop().connected.wait()
    before = runtime_settings.limit("person_turns")
    print("follows", flush=True)
    async with asyncio.timeout(60):
        while runtime_settings.limit("person_turns") == before:
            await asyncio.sleep(0.01)
    print(before, runtime_settings.limit("person_turns"))
asyncio.run(follow())
"""


@pytest.mark.django_db(transaction=True)
def test_another_process_follows_without_a_restart(owner):
    database = connection.settings_dict
    own = {
        "DJANGO_SETTINGS_MODULE": "tests.acceptance.subprocess_settings",
        "TEST_DATABASE": json.dumps({name: database[name] for name in ("NAME", "HOST", "PORT", "USER", "PASSWORD")}),
    }
    command = [sys.executable, "-c", FOLLOW]
    with subprocess.Popen(command, env=os.environ | own, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "follows\n"
        owner("person_turns", "9")
        assert other.communicate(timeout=60)[0] == "4 9\n"


@pytest.mark.django_db(transaction=True)
def test_who_was_refused_for_a_minute_is_let_through_when_the_limit_is_raised(live, owner, adas, monkeypatch):
    monkeypatch.setattr(rate_limit.api_requests, "_buckets", {})
    asked = urllib.request.Request(f"{live.url}/api/v1/me", headers={"Authorization": f"Bearer {adas.token}"})

    def status():
        try:
            with urllib.request.urlopen(asked, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code

    def until(wanted):
        for _ in range(400):
            if status() == wanted:
                return
            time.sleep(0.02)
        raise AssertionError(f"It never was {wanted}.")

    assert status() == 200
    owner("api_requests_per_minute", "1")
    until(429)
    assert status() == 429
    owner("api_requests_per_minute", "0")
    until(200)


@pytest.mark.django_db(transaction=True)
async def test_a_process_reads_again_when_the_database_was_away(admin_person, monkeypatch, caplog):
    monkeypatch.setattr(runtime_settings.stored, "seconds", 0.05)
    there, failures, reads = runtime_settings.stored.read, [], []

    def read():
        reads.append(1)
        if failures:
            raise failures.pop()
        there()

    monkeypatch.setattr(runtime_settings.stored, "read", read)
    runtime_settings.follow()
    await asyncio.wait_for(pubsub.Listener.of_this_loop().connected.wait(), 5)
    # The first read, and that after the connection.
    async with asyncio.timeout(5):
        while len(reads) < 2:
            await asyncio.sleep(0.01)
    failures.append(runtime_settings.DatabaseFailure("away"))
    await in_database(runtime_settings.change, admin_person, "person_searches", "9")
    async with asyncio.timeout(5):
        while limit("person_searches") != 9:
            await asyncio.sleep(0.01)
    assert "could not be read" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_lower_limit_refuses_the_next_message_of_whoever_has_sent_more(owner, adas, scripted, settings, monkeypatch):
    settings.TITLES = False
    monkeypatch.setattr(rate_limit.messages, "_buckets", {})
    assert [adas.post("/messages", text="Hello").status_code for _ in range(2)] == [202, 202]
    owner("messages_per_minute", "1")
    runtime_settings.stored.read()
    assert [adas.post("/messages", text="Hello").status_code for _ in range(2)] == [202, 429]
    owner("messages_per_minute", "0")
    runtime_settings.stored.read()
    assert adas.post("/messages", text="Hello").status_code == 202
