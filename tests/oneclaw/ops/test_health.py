"""Whether it lives, and whether it is ready."""

import datetime as dt
import json

import pytest
from celery import Celery
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from oneclaw import tasks
from oneclaw.config import broker
from oneclaw.models import Heartbeat


def test_a_living_process_needs_no_database_to_say_so(client):
    found = client.get("/healthz")
    assert (found.status_code, found.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_it_is_ready_once_a_worker_has_done_a_task(client):
    assert client.get("/readyz").status_code == 503
    tasks.heartbeat()
    found = client.get("/readyz")
    assert (found.status_code, found.json()) == (200, {"database": True, "migrations": True, "worker": True})


@pytest.mark.django_db
def test_a_worker_that_has_been_silent_for_a_minute_is_missing(client):
    tasks.heartbeat()
    Heartbeat.objects.update(at=timezone.now() - dt.timedelta(seconds=61))
    found = client.get("/readyz")
    assert (found.status_code, found.json()["worker"]) == (503, False)


@pytest.mark.django_db
def test_a_worker_that_starts_is_ready_only_once_a_message_has_reached_it(client, monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.heartbeat, "apply_async", lambda arguments, **how: sent.append(arguments))
    tasks.send_first_heartbeat()
    assert client.get("/readyz").json()["worker"] is False
    assert sent == [()]


def test_a_heartbeat_that_waited_for_a_minute_is_not_executed(tmp_path):
    app = Celery(broker=broker.FOLDER_URL, set_as_current=False)
    app.conf.broker_transport_options = broker.folder_options(tmp_path)
    tasks.heartbeat.apply_async(connection=app.connection_for_write())
    (message,) = tmp_path.glob("*.msg")
    expires = dt.datetime.fromisoformat(json.loads(message.read_text())["headers"]["expires"])
    assert expires - timezone.now() < dt.timedelta(seconds=60)
    app.close()


@pytest.mark.django_db
def test_workers_that_start_at_once_do_not_collide(django_assert_num_queries):
    for _ in range(2):
        # Nothing happens between a look and a write.
        with django_assert_num_queries(1):
            Heartbeat.objects.record(Heartbeat.WORKER)
    assert Heartbeat.objects.get().at <= timezone.now()


@pytest.mark.django_db
def test_a_migration_that_is_not_applied_is_missing(client):
    tasks.heartbeat()
    MigrationRecorder.Migration.objects.filter(app="oneclaw").order_by("name").last().delete()
    found = client.get("/readyz")
    assert (found.status_code, found.json()["migrations"]) == (503, False)


@pytest.mark.django_db
def test_two_heartbeats_are_one_row():
    Heartbeat.objects.record(Heartbeat.WORKER)
    Heartbeat.objects.record(Heartbeat.WORKER)
    assert Heartbeat.objects.count() == 1


def test_nothing_is_changed_by_looking(client):
    assert client.post("/healthz").status_code == 405
    assert client.post("/readyz").status_code == 405


@pytest.mark.django_db
def test_the_life_of_a_worker_is_measured_by_the_databases_clock(client, wrong_clock):
    with wrong_clock():
        tasks.heartbeat()
    assert client.get("/readyz").status_code == 200
    Heartbeat.objects.update(at=timezone.now() - dt.timedelta(seconds=61))
    with wrong_clock():
        assert client.get("/readyz").status_code == 503
