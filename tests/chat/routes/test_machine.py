"""Any history of messages, resets and sweeps of several workers: each route has one conversation, each reset happens
once, and nothing is lost."""

import datetime as dt
import itertools
import uuid
import zoneinfo
from unittest import mock

import pytest
from django.conf import settings
from django.db import transaction
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from chat.conversations import lifecycle, transcript
from chat.conversations.keys import Sender
from chat.invariants import INVARIANTS
from chat.models import ChatSession, Message, SessionRoute, Turn
from chat.routes import deliver, resets
from oneclaw.models import User
from tests.chat.routes.cast import Clock, incoming
from tests.conversations import send, settle

# The evening before clocks are put forward; the same person meets the other night after some months of pauses.
BEGIN = dt.datetime(2027, 3, 27, 20, 0, tzinfo=dt.UTC)
ZURICH = zoneinfo.ZoneInfo("Europe/Zurich")
HOUR, MINUTES = 2, 90
PEERS = st.sampled_from(["1", "2"])
pauses = st.one_of(st.integers(0, 5), st.integers(80, 100), st.integers(300, 2000)).map(
    lambda minutes: dt.timedelta(minutes=minutes)
)


def hour_of_zurich(after):
    """The next beginning of HOUR, looked for minute by minute."""
    moment = after.replace(second=0, microsecond=0) + dt.timedelta(minutes=1)
    while True:
        local, before = moment.astimezone(ZURICH), (moment - dt.timedelta(minutes=1)).astimezone(ZURICH)
        is_first = local.fold == 0 or before.fold == 1
        if is_first and local.replace(tzinfo=None) >= dt.datetime.combine(local.date(), dt.time(HOUR)) > before.replace(
            tzinfo=None
        ):
            return moment
        moment += dt.timedelta(minutes=1)


class Routes(RuleBasedStateMachine):
    """Two routes of one person, whose clock only this machine moves, and what is expected of each."""

    def __init__(self):
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.clock = Clock(BEGIN)
        self.time = self.clock.set()
        self.time.__enter__()
        self.user = User.objects.create_user(f"{uuid.uuid4()}@example.org", timezone="Europe/Zurich")
        # Of each peer: when it wrote first and last in the current conversation, and its conversation.
        self.began, self.wrote, self.current = {}, {}, {}
        self.running = {}
        self.sent, self.resets = [], 0
        self.numbers = itertools.count()

    def expected_cause(self, peer):
        if peer not in self.began:
            return None
        daily, idle = hour_of_zurich(self.began[peer]), self.wrote[peer] + dt.timedelta(minutes=MINUTES)
        if min(daily, idle) > self.clock.now:
            return None
        return "daily" if daily <= idle else "idle"

    def follow(self, peer):
        self.began.pop(peer, None)
        self.wrote.pop(peer, None)
        self.resets += 1
        followed = SessionRoute.objects.get(owner=self.user, peer=peer).session_id
        assert followed != self.current[peer]
        self.current[peer] = followed

    # -- What happens ------------------------------------------------------------------------------

    @rule(pause=pauses)
    def time_passes(self, pause):
        self.clock.now += pause
        # The processes of the running turns are alive.
        Turn.objects.running().update(lease_until=self.clock.now + dt.timedelta(minutes=1))

    @rule(peer=PEERS, ends=st.sampled_from(["", "", "", "new"]), answered=st.booleans())
    def write(self, peer, ends, answered):
        message = incoming(f"message {next(self.numbers)}", Sender("telegram", peer))
        cause = self.expected_cause(peer)
        if peer in self.running and not ends:
            with pytest.raises(transcript.SessionBusyError):
                deliver.accept(self.user, message)
            return
        accepted = deliver.accept(self.user, message, ends_by=ends)
        if (ends and peer in self.began) or cause:
            self.running.pop(peer, None)
            settle_running(self.user, self.current[peer])
            self.follow(peer)
        self.current.setdefault(peer, accepted.message.session_id)
        assert accepted.message.session_id == self.current[peer]
        self.sent.append((message, accepted.message.pk))
        self.count(peer)
        if answered:
            settle(accepted)
        else:
            self.running[peer] = accepted

    def count(self, peer):
        self.began.setdefault(peer, self.clock.now)
        self.wrote[peer] = self.clock.now

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def answer(self, data):
        settle(self.running.pop(data.draw(st.sampled_from(sorted(self.running)))))

    @rule(peer=PEERS)
    def write_on_the_page(self, peer):
        if peer in self.current and peer not in self.running:
            settle(send(self.user, "On the page", self.current[peer]))
            self.count(peer)

    @rule(peer=PEERS)
    def a_schedule_writes(self, peer):
        if peer in self.began and peer not in self.running:
            session = lifecycle.lock(self.user, self.current[peer])
            transcript.append(session, Message.Role.USER, text="By itself", meta={"by": "schedule"})

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def a_message_is_sent_again(self, data):
        message, stored = data.draw(st.sampled_from(self.sent))
        again = deliver.accept(self.user, message)
        assert (again.duplicate, again.message.pk) == (True, stored)

    @rule(workers=st.integers(1, 3))
    def workers_sweep(self, workers):
        due = [peer for peer in self.began if self.expected_cause(peer) and peer not in self.running]
        # A conversation with an answer that runs is looked at again a little later.
        SessionRoute.objects.filter(owner=self.user).check_now()
        # Each worker has read which routes it is to check before the first one begins.
        ids = list(SessionRoute.objects.to_check().filter(owner=self.user).values_list("pk", flat=True))
        causes = {peer: self.expected_cause(peer) for peer in due}
        with mock.patch.object(resets, "renew", wraps=resets.renew) as renew:
            checked = [resets.check(ids) for _ in range(workers)]
        assert sum(each.reset_count for each in checked) == len(due)
        renewed = [each.cause for call in renew.call_args_list for each in call.args[0]]
        assert sorted(renewed) == sorted(causes.values())
        for peer in due:
            self.follow(peer)

    # -- What holds --------------------------------------------------------------------------------

    @invariant()
    def each_route_has_its_conversation(self):
        routes = SessionRoute.objects.filter(owner=self.user)
        assert {route.peer: route.session_id for route in routes} == self.current
        assert {route.peer: route.started_at for route in routes if route.started_at} == self.began
        assert ChatSession.objects.filter(owner=self.user).count() == len(self.current) + self.resets

    @invariant()
    def each_message_is_stored_once(self):
        stored = Message.objects.filter(session__owner=self.user, client_id__isnull=False, text__startswith="message")
        assert sorted(stored.values_list("pk", flat=True)) == sorted(pk for _, pk in self.sent)

    def teardown(self):
        violations = [text for each in INVARIANTS if "route" in each.name for text in each.violations()]
        self.time.__exit__(None, None, None)
        self.atomic.__exit__(RuntimeError, RuntimeError(), None)
        assert violations == []


def settle_running(user, session_id):
    """End the turn that goes on in a conversation that its person has left by a command."""
    Turn.objects.running().filter(session=session_id).update(status="complete", finished_at=BEGIN)


@pytest.mark.django_db
def test_any_history(monkeypatch):
    monkeypatch.setattr(settings, "DM_SCOPE", "per-peer")
    monkeypatch.setattr(settings, "RESET", "both")
    monkeypatch.setattr(settings, "RESET_HOUR", HOUR)
    monkeypatch.setattr(settings, "RESET_MINUTES", MINUTES)
    run_state_machine_as_test(Routes, settings=hypothesis_settings(max_examples=15, stateful_step_count=20))
