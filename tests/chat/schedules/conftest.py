"""A clock that only the test moves, HEARTBEAT.md, and workers."""

import datetime as dt
from unittest import mock

import pytest
from django.db.models import Value

from chat.models import Beat
from chat.schedules import beat as beats
from chat.schedules import changes, planning
from memory.documents.write import Append, Author, Replace, Source, apply
from memory.models import MemoryDocument
from oneclaw.models import Space

# A Monday, 08:45 in Zurich.
BEGIN = dt.datetime(2027, 3, 22, 7, 45, tzinfo=dt.UTC)


class Clock:
    """The database's time, which stands still between two steps."""

    def __init__(self):
        self.now = BEGIN

    def pass_by(self, **delta):
        self.now += dt.timedelta(**delta)

    def work(self, **delta):
        """Let time pass, and do what a sweep and a worker do; return the newest beat."""
        self.pass_by(**delta)
        planning.sweep()
        for beat_id in Beat.objects.to_send():
            beats.run(beat_id)
        return Beat.objects.order_by("pk").last()


@pytest.fixture
def clock():
    moved = Clock()
    with (
        mock.patch("oneclaw.models.clock.database_now", side_effect=lambda: Value(moved.now)),
        mock.patch("django.utils.timezone.now", side_effect=lambda: moved.now),
    ):
        yield moved


@pytest.fixture
def put():
    """put(user, path, text): the file has this text now."""

    def put(user, path, text):
        space = Space.objects.own_of(user)
        known = MemoryDocument.objects.present().filter(space=space, path=path).first()
        change = Replace(text, known.version) if known else Append(text)
        apply(space, path, change, Author(Source.PAGE, user))

    return put


@pytest.fixture
def heartbeat(ada, clock, scripted, put):
    """Ada's heartbeat, switched on, with a task in HEARTBEAT.md."""
    put(ada, "HEARTBEAT.md", "- [ ] Watch the oven\n")
    schedule = planning.heartbeat_of(ada)
    changes.set_enabled(schedule, True)
    return schedule
