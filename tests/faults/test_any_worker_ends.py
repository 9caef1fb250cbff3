"""Three workers at once are killed at any step, under a simulated clock: nothing happens twice, and nothing is lost."""

import datetime as dt
import itertools
import uuid
from dataclasses import replace

import pytest

from chat.conversations.keys import Sender
from chat.models import Beat, ChatSession, Message, Schedule, SessionRoute
from chat.schedules import changes, planning
from memory.documents.write import Append, Author, Source, apply
from memory.models import Flush, MemoryDocument
from oneclaw import invariants
from oneclaw.models import Space, User
from tests.chat.routes.cast import Clock, link_as_owner, written
from tests.faults.workers import carry_out_beats, follow_routes, stage_at, work_at_once
from tests.scripted import answer, tool_use

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180), pytest.mark.django_db(transaction=True)]

# A Monday, 08:45 in Zurich.
MONDAY = dt.datetime(2027, 3, 22, 7, 45, tzinfo=dt.UTC)
# Longer than the leases of turns, beats and notes.
LEASES = {"minutes": 2}


def somebody(number):
    return User.objects.create_user(f"person{number}@example.org", timezone="Europe/Zurich")


def test_no_time_of_a_schedule_is_carried_out_twice(scripted, settings):
    scripted.default = lambda body: answer(tool_use("heartbeat_respond", {"tell": True, "text": "Call Ada."}))
    clock = Clock(MONDAY)
    with clock.set():
        for step in itertools.count(1):
            user = somebody(step)
            apply(
                Space.objects.own_of(user), "HEARTBEAT.md", Append("- [ ] Watch the oven\n"), Author(Source.PAGE, user)
            )
            schedule = planning.heartbeat_of(user)
            changes.set_enabled(schedule, True)
            clock.now = Schedule.objects.get(pk=schedule.pk).next_at
            stage = stage_at(clock.now, scripted.url, settings.WORKSPACES)
            died = work_at_once(carry_out_beats, stage, step)
            clock.advance(**LEASES)
            assert work_at_once(carry_out_beats, replace(stage, now=clock.now)) == 0
            assert [(beat.outcome, beat.status) for beat in Beat.objects.filter(owner=user)] == [("sent", "done")], step
            assert Message.objects.filter(text="Call Ada.", session__owner=user, session__kind="").count() == 1, step
            Schedule.objects.filter(owner=user).update(enabled=False)
            if not died:
                break
        assert step > 6
        assert list(invariants.check()) == []


def test_no_conversation_begins_twice_and_nothing_is_noted_twice(scripted, settings):
    def think(body):
        shown = str(body["messages"])
        return answer("- Noted: the tea of yesterday." if "<transcript" in shown else "Morning")

    scripted.default = think
    settings.DM_SCOPE, settings.RESET, settings.EMBEDDINGS = "per-peer", "daily", "none"
    changed = {"DM_SCOPE": "per-peer", "RESET": "daily", "EMBEDDINGS": "none"}
    clock = Clock(MONDAY)
    with clock.set():
        for step in itertools.count(1):
            user = somebody(step)
            # What another person says is not noted without a yes.
            known = Sender("telegram", f"known{step}")
            link_as_owner(user, known)
            yesterday = written(user, "The tea of yesterday", known)
            clock.advance(days=1)
            incoming = tuple((peer, uuid.uuid4(), "Good morning") for peer in (known.peer, "new"))
            stage = stage_at(clock.now, scripted.url, settings.WORKSPACES, user.pk, incoming, **changed)
            died = work_at_once(follow_routes, stage, step)
            clock.advance(**LEASES)
            assert work_at_once(follow_routes, replace(stage, now=clock.now)) == 0
            check_routes(user, yesterday, incoming, step)
            SessionRoute.objects.filter(owner=user).update(reset="none")
            if not died:
                break
        assert step > 10
        assert list(invariants.check()) == []


def check_routes(user, yesterday, incoming, step):
    """Each message is stored once, in the one conversation that its route has today."""
    yesterday.refresh_from_db()
    assert yesterday.ended_at is not None, step
    routes = {route.peer: route.session_id for route in SessionRoute.objects.filter(owner=user)}
    sessions = set(ChatSession.objects.filter(owner=user).values_list("pk", flat=True))
    assert sessions == {yesterday.pk, *routes.values()}, step
    for peer, client_id, _ in incoming:
        stored = Message.objects.filter(session__owner=user, client_id=client_id)
        assert list(stored.values_list("session", flat=True)) == [routes[peer]], step
    notes = MemoryDocument.objects.filter(space=Space.objects.own_of(user), path__regex=r"^memory/\d{4}-\d\d-\d\d\.md$")
    assert "".join(notes.values_list("content", flat=True)).count("Noted: the tea") == 1, step
    done = Flush.objects.filter(session=yesterday).values_list("status", "after_seq", "through_seq")
    assert list(done) == [("done", 0, 2)], step
    assert yesterday.document_jobs.filter(kind="last_messages", status="done").count() == 1, step
