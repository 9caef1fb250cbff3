"""Triggers in any order, workers that fail, die or come back late, days and timezones that change: every complete
message is in exactly one flush, each flush in one local day, and no note stands in the logs twice."""

import collections
import datetime as dt
import itertools
import json
import re
from unittest import mock

import pytest
from django.db import transaction
from django.db.models import Value
from django.utils import timezone
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from chat.models import ChatSession, Message, Turn, default_agent
from memory.invariants import INVARIANTS
from memory.models import Flush, MemoryDocument
from memory.notes import claims, flush
from oneclaw.invariants import broken_jobs
from oneclaw.jobs import ClaimLostError
from oneclaw.models import Space, User
from tests.scripted import answer, overloaded

REASONS = ("switched", "day_changed", "ended", "left", "idle")
# In the night in which clocks change, and far enough ahead that the database's own clock calls no lease late.
BEGIN = dt.datetime(2027, 3, 27, 20, 0, tzinfo=dt.UTC)
ZONES = ("Europe/Zurich", "America/Los_Angeles", "Pacific/Kiritimati", "UTC")
MARK = re.compile(r"mark\d+\b")
sessions = st.integers(0, 1)


class Flushes(RuleBasedStateMachine):
    """Two conversations of one person, whose clock only this machine moves."""

    model: object  # the scripted model, which answers as `self.mood` says

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.now, self.mood, self.marks = BEGIN, "notes", itertools.count(1)
        # The clock of this process, and the database's, which jobs go by.
        self.clocks = [
            mock.patch("django.utils.timezone.now", self.read_clock),
            mock.patch("oneclaw.models.clock.database_now", self.read_database_clock),
        ]
        for clock in self.clocks:
            clock.start()
        self.user = User.objects.create_user(f"flushes{User.objects.count()}@example.org", timezone=ZONES[0])
        self.sessions = [
            ChatSession.objects.create(key=f"{self.user.pk}:{number}", owner=self.user, agent=default_agent())
            for number in range(2)
        ]
        # Workers that were cut off after the model had answered: their claims, which they may still try to finish.
        self.cut_off: list[claims.Claim] = []
        # The person's timezone when each flush was last claimed.
        self.zones: dict[int, str] = {}
        self.model.default = self.reply

    def read_clock(self):
        return self.now

    def read_database_clock(self):
        return Value(self.now)

    def reply(self, body):
        if self.mood == "down":
            return overloaded()
        return answer(notes(json.dumps(body["messages"])) if self.mood == "notes" else "NO_REPLY")

    # -- What happens ------------------------------------------------------------------------------

    @rule(number=sessions, minutes=st.integers(1, 900), answered=st.booleans())
    def say(self, number, minutes, answered):
        self.now += dt.timedelta(minutes=minutes)
        self.complete(number)
        prompt = self.write(number, "user", "complete")
        self.write(number, "assistant", "complete" if answered else "running")
        if not answered:
            Turn.objects.create(session=self.sessions[number], prompt=prompt, lease_until=self.now)

    @rule(number=sessions)
    def complete(self, number):
        self.sessions[number].messages.filter(status="running").update(status="complete")
        self.sessions[number].turns.update(status="complete")

    @rule(number=sessions, reason=st.sampled_from(REASONS), times=st.integers(1, 3))
    def trigger(self, number, reason, times):
        for _ in range(times):
            flush.request(self.sessions[number], reason)

    @rule(mood=st.sampled_from(["notes", "nothing", "down"]))
    def work(self, mood):
        self.mood = mood
        for pk in self.due():
            self.zones[pk] = self.user.timezone
            flush.run(pk)

    @rule()
    def a_worker_is_killed(self):
        for pk in self.due():
            self.zones[pk] = self.user.timezone
            claim = claims.claim_flush(pk)
            if claim is not None:
                self.cut_off.append(claim)

    @rule()
    def leases_run_out(self):
        self.now += dt.timedelta(hours=2)

    @rule()
    def a_worker_comes_back(self):
        if self.cut_off:
            claim = self.cut_off.pop(0)
            said = " ".join(message.text for message in claim.messages)
            try:
                flush.finish(claim, notes(said))
            except ClaimLostError:
                pass

    @rule(zone=st.sampled_from(ZONES))
    def travel(self, zone):
        self.user.timezone = zone
        self.user.save(update_fields=["timezone"])

    # -- What holds --------------------------------------------------------------------------------

    @invariant()
    def memory_is_sound(self):
        # Commits are not followed here, so there are no files.
        checked = [promise for promise in INVARIANTS if "file" not in promise.name]
        assert [line for promise in checked for line in promise.violations()] == list(broken_jobs()) == []

    @invariant()
    def each_flush_is_of_one_day_of_its_claim(self):
        for done in Flush.objects.filter(owner=self.user).finished():
            self.user.timezone = self.zones[done.pk]
            messages = Message.objects.filter(
                session=done.session_id, seq__gt=done.after_seq, seq__lte=done.through_seq
            )
            assert {self.user.day(message.created_at) for message in messages} == {done.day}
        self.user.refresh_from_db()

    @invariant()
    def nothing_is_noted_twice(self):
        noted = collections.Counter(self.noted())
        assert [mark for mark, times in noted.items() if times > 1] == []

    def teardown(self):
        try:
            for number in range(2):
                self.complete(number)
            self.cut_off.clear()
            for _ in range(60):
                self.now += dt.timedelta(hours=2)
                for session in self.sessions:
                    flush.request(session, "idle")
                self.work("notes")
                if not Flush.objects.filter(owner=self.user).open().exists():
                    break
            self.memory_is_sound()
            self.each_flush_is_of_one_day_of_its_claim()
            self.nothing_is_noted_twice()
            noted = set(self.noted())
            for session in self.sessions:
                assert claims.covered_through(session) == session.messages.count()
                for done in session.flushes.finished():
                    covered = session.messages.filter(seq__gt=done.after_seq, seq__lte=done.through_seq)
                    marks = {message.text for message in covered}
                    assert not marks & noted if done.status == Flush.Status.NOTHING else marks <= noted
        finally:
            for clock in self.clocks:
                clock.stop()
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)

    # -- How it is done ----------------------------------------------------------------------------

    def write(self, number, role, status):
        session = self.sessions[number]
        session.refresh_from_db()
        session.last_seq += 1
        session.active_at = self.now
        session.save(update_fields=["last_seq", "active_at"])
        text = f"mark{next(self.marks)}"
        fields = {"content": [{"type": "text", "text": text}], "text": text, "status": status}
        return Message.objects.create(session=session, seq=session.last_seq, role=role, created_at=self.now, **fields)

    def due(self):
        return list(Flush.objects.filter(owner=self.user).due().values_list("pk", flat=True))

    def noted(self):
        logs = MemoryDocument.objects.filter(space=Space.objects.own_of(self.user), path__startswith="memory/")
        return [mark for log in logs for mark in MARK.findall(log.content)]


def notes(text: str) -> str:
    return "\n".join(f"- {mark}" for mark in MARK.findall(text))


@pytest.mark.django_db
def test_every_complete_message_is_in_exactly_one_flush(scripted, monkeypatch):
    # What waits between two tries at the model is not of interest here.
    monkeypatch.setattr("oneclaw.llm.client.RETRY_FIRST_SECONDS", 0)
    quick = hypothesis_settings(
        max_examples=8,
        stateful_step_count=20,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    assert timezone.now() < BEGIN
    run_state_machine_as_test(type("FlushesOfAda", (Flushes,), {"model": scripted}), settings=quick)
