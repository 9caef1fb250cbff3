"""Hints between processes."""

import asyncio

import pytest
from django.db import connection, transaction

from oneclaw import pubsub, runtime_settings
from oneclaw.threads import in_database

pytestmark = pytest.mark.django_db(transaction=True)


class Heard(list):
    """What a subscriber was told, without what it hears at each connect."""

    def hear(self, payload):
        if payload != pubsub.MISSED:
            self.append(payload)

    async def wait_for(self, count):
        async with asyncio.timeout(5):
            while len(self) < count:
                await asyncio.sleep(0.01)


async def listening():
    await asyncio.wait_for(pubsub.Listener.of_this_loop().connected.wait(), 5)


async def test_a_subscriber_hears_its_topic_and_no_other():
    heard = Heard()
    pubsub.subscribe("session:1", heard.hear)
    await listening()
    await in_database(pubsub.notify, "session:2", {"kind": "stop"})
    await in_database(pubsub.notify, "session:1", {"kind": "stop", "turn": 7})
    await heard.wait_for(1)
    assert heard == [{"kind": "stop", "turn": 7}]


async def test_nothing_is_heard_after_the_end_of_a_subscription():
    first, second = Heard(), Heard()
    unsubscribe = pubsub.subscribe("topic", first.hear)
    pubsub.subscribe("topic", second.hear)
    await listening()
    unsubscribe()
    await in_database(pubsub.notify, "topic", {"kind": "stop"})
    await second.wait_for(1)
    assert first == []


async def test_a_hint_arrives_only_if_its_transaction_commits():
    heard = Heard()
    pubsub.subscribe("topic", heard.hear)
    await listening()

    def rolled_back():
        with transaction.atomic():
            pubsub.notify("topic", {"kind": "never"})
            transaction.set_rollback(True)

    await in_database(rolled_back)
    await in_database(pubsub.notify, "topic", {"kind": "then"})
    await heard.wait_for(1)
    assert heard == [{"kind": "then"}]


async def test_a_subscriber_that_fails_and_a_hint_that_is_none_keep_nobody_from_hearing(caplog):
    heard = Heard()

    def fail(payload):
        raise LookupError("no such room")

    def say_nonsense():
        with connection.cursor() as cursor:
            for text in ("no JSON", "5", '["topic"]'):
                cursor.execute("SELECT pg_notify(%s, %s)", [pubsub.CHANNEL, text])

    for hear in (fail, heard.hear):
        pubsub.subscribe("topic", hear)
    await listening()
    await in_database(say_nonsense)
    for turn in (1, 2):
        await in_database(pubsub.notify, "topic", {"kind": "stop", "turn": turn})
    await heard.wait_for(2)
    assert [payload["turn"] for payload in heard] == [1, 2]
    assert caplog.text.count("could not be followed") >= 2
    assert caplog.text.count("no hint of ours") == 3


def test_the_connection_for_hints_is_watched_and_keeps_what_the_database_was_given(monkeypatch):
    given = connection.get_connection_params() | {"keepalives_idle": 3, "sslcert": "mine.pem", "cursor_factory": object}
    monkeypatch.setattr(connection, "get_connection_params", lambda: given)
    parameters = pubsub.connection_parameters()
    assert (parameters["keepalives_idle"], parameters["keepalives_count"], parameters["sslcert"]) == (3, 3, "mine.pem")
    assert "cursor_factory" not in parameters


async def test_after_a_lost_connection_everybody_is_told_to_read_again():
    told = asyncio.Event()
    pubsub.subscribe("topic", lambda payload: told.set() if payload == pubsub.MISSED else None)
    await listening()
    told.clear()

    def cut():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE query LIKE 'LISTEN%%' AND datname = current_database()"
            )

    await in_database(cut)
    await asyncio.wait_for(told.wait(), 5)


def test_a_hint_carries_ids_and_nothing_long(db):
    with pytest.raises(ValueError, match="carry ids"):
        pubsub.notify("topic", {"text": "x" * 8000})


async def test_a_web_process_has_a_changed_setting_at_once(admin_person, monkeypatch):
    monkeypatch.setattr(runtime_settings.stored, "seconds", 1000)
    runtime_settings.follow()
    await listening()
    assert await in_database(runtime_settings.value, "announcement") == ""
    # As another process changes it.
    monkeypatch.setattr(runtime_settings.transaction, "on_commit", lambda forget: None)
    await in_database(runtime_settings.change, admin_person, "announcement", "Tea at four")
    async with asyncio.timeout(5):
        while await in_database(runtime_settings.value, "announcement") != "Tea at four":
            await asyncio.sleep(0.01)
