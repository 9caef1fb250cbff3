"""Messages from outside for tests, and a database clock that a test moves."""

import contextlib
import datetime as dt
import uuid
from unittest import mock

from django.db.models import Value

from chat.conversations.keys import Sender
from chat.models import IdentityLink, SessionRoute
from chat.routes import deliver
from tests.conversations import settle

TELEGRAM, DISCORD = Sender("telegram", "123"), Sender("discord", "456")
# In the middle of a winter's day of Zurich.
BEGIN = dt.datetime(2027, 1, 11, 11, 0, tzinfo=dt.UTC)


def link_as_owner(user, *senders):
    """Link these peers as the person themselves."""
    rows = [
        IdentityLink(owner=user, canonical="Me", provider=each.channel, peer=each.peer, is_owner=True, proven_at=BEGIN)
        for each in senders
    ]
    IdentityLink.objects.bulk_create(rows)


class Clock:
    """The clock of the database, and of this process."""

    def __init__(self, now=BEGIN):
        self.now = now

    def advance(self, **parts):
        self.now += dt.timedelta(**parts)

    def read(self):
        return self.now

    def read_of_database(self):
        return Value(self.now)

    @contextlib.contextmanager
    def set(self):
        with (
            mock.patch("django.utils.timezone.now", self.read),
            mock.patch("oneclaw.models.clock.database_now", self.read_of_database),
        ):
            yield self


def incoming(text="Hello", sender=TELEGRAM, client_id=None, **fields):
    return deliver.Incoming(sender, client_id or uuid.uuid4(), text, **fields)


def written(user, text="Hello", sender=TELEGRAM, client_id=None, **fields):
    """Store a message from outside and end its turn; its conversation."""
    accepted = deliver.accept(user, incoming(text, sender, client_id), **fields)
    if accepted.turn:
        settle(accepted)
    return accepted.message.session


def route_of(user):
    return SessionRoute.objects.visible_to(user).get()
