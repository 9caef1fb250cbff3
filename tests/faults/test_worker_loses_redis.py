"""A worker whose Redis is killed during a task waits and goes on, also without a service manager."""

import itertools
import sys
import time
import uuid
from pathlib import Path

import pytest
from celery import Celery
from kombu.exceptions import OperationalError

from oneclaw.config import broker
from tests.stage import House, free_port, house, start_redis, until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]

# The worker of the product with one more task; its database is away, which tasks report and no worker minds.
WORKER = """
import sys, time
import django
django.setup()
from celery import shared_task
from oneclaw.ops import roles

@shared_task(name="tests.slow")
def slow(file, seconds):
    with open(file, "a") as said:
        print("began", file=said, flush=True)
        time.sleep(seconds)
        print("ended", file=said, flush=True)

exec(sys.argv[1])
roles.worker()
"""
# What kombu does when the connection closes at a bad moment.
BREAKS = """
from kombu.transport.redis import QoS

def restore_unacked(self, client=None):
    raise AttributeError("'NoneType' object has no attribute 'client'")

QoS.restore_unacked = restore_unacked
"""


@pytest.fixture(params=["", BREAKS], ids=["killed at any moment", "killed at a bad moment"])
def place(request):
    with house(None, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nowhere") as found:
        port = free_port()
        found.environment["REDIS_URL"] = f"redis://127.0.0.1:{port}/0"
        start_redis(found, port)
        found.start("worker", [sys.executable, "-c", WORKER, request.param])
        yield found
        print(found["worker"].said()[-3000:])


def test_it_goes_on_after_redis_was_killed_during_a_task(place: House):
    worker = place["worker"]
    pid = worker.pid
    for number, delay in enumerate((0.05, 0.0, 0.2)):
        file = send(place, seconds=1.0)
        until(lambda file=file: said(file) == ["began"], 120, "a worker has the task")
        time.sleep(delay)
        place["redis"].kill()
        until(lambda file=file: said(file)[-1] == "ended", 30, "the task ends without Redis")
        time.sleep(delay)
        place["redis"].start()
        after = send(place, seconds=0)
        until(lambda after=after: said(after) == ["began", "ended"], 120, "the worker takes tasks again")
        assert worker.process.poll() is None, f"The worker has ended at kill {number}: {worker.said()[-3000:]}"
    assert worker.pid == pid
    assert worker.stop() == 0


@pytest.mark.parametrize("place", [""], ids=["whole"], indirect=True)
def test_it_ends_when_it_is_asked_to_while_redis_is_away(place: House):
    worker = place["worker"]
    file = send(place, seconds=0)
    until(lambda: said(file) == ["began", "ended"], 120, "the worker takes tasks")
    place["redis"].kill()
    time.sleep(2)
    worker.stop(seconds=20)


def send(place: House, seconds: float) -> Path:
    """Send a task, once Redis takes it; the file in which it says what it does."""
    file = place.folder / uuid.uuid4().hex
    with Celery(broker=place.environment["REDIS_URL"], set_as_current=False) as app:
        app.conf.broker_transport_options = broker.redis_options()
        for attempt in itertools.count():
            try:
                app.send_task("tests.slow", (str(file), seconds), retry=False)
                return file
            except OperationalError:
                assert attempt < 100, "Redis has not started."
            time.sleep(0.1)
    raise AssertionError(file)


def said(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []
