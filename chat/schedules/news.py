"""What is new for a beat: conversations since the last one, and everything that a heartbeat would be asked about."""

import datetime as dt
from collections.abc import Iterable

from chat import extensions
from chat.extensions import ContextItem
from chat.models import Beat, ChatSession, ChatSessionQuerySet, MemoryChoice, Schedule
from chat.schedules import quiet
from oneclaw.models import User

# Titles of conversations that a beat is sent, and the characters of each.
MAX_TITLES, TITLE_MAX_CHARS = 10, 60
# How far back the first beat looks.
FIRST_LOOK = dt.timedelta(days=1)
# Notes of earlier beats that a beat is sent.
MAX_NOTES = 3
# The conversations that are compared with those at the last quiet beat.
COMPARED_MAX_SESSIONS = 50


def titles_since(session: ChatSession, moment: dt.datetime) -> list[str]:
    """Return the titles of the person's conversations with messages since `moment`, newest first."""
    found = (
        _conversations(session)
        .exclude(memory=MemoryChoice.NONE)
        .filter(active_at__gte=moment)
        .only("title")[:MAX_TITLES]
    )
    clean = extensions.memory().cleaner(session)
    return [clean(each.title)[:TITLE_MAX_CHARS] for each in found.only("title")[:MAX_TITLES] if each.title]


def last_asked_at(beat: Beat) -> dt.datetime:
    """Return when a model was asked for an earlier beat of the schedule; a day before `beat` when it was not."""
    earlier = beat.schedule.beats.filter(asked_at__isnull=False).exclude(pk=beat.pk).order_by("-asked_at")
    return earlier.values_list("asked_at", flat=True).first() or beat.planned_at - FIRST_LOOK


def notes_before(beat: Beat, session: ChatSession) -> list[str]:
    """Return the notes of the last beats before `beat` for which a model was asked, oldest first, without secrets and
    without what the owner of `session` had forgotten since."""
    earlier = beat.schedule.beats.exclude(pk=beat.pk).exclude(note="").order_by("-planned_at")
    clean = extensions.memory().cleaner(session)
    return [clean(note) for note in earlier.values_list("note", flat=True)[:MAX_NOTES]][::-1]


def fingerprint_of(user: User, session: ChatSession, checklist: str, items: Iterable[ContextItem]) -> str:
    """Return a text that identifies all that a heartbeat would be asked about now.

    Besides the files these are the day, because a checklist may speak of days, the person's conversations as far as
    they have messages, what waits for their answer, and their tasks.
    """
    sessions = _conversations(session).values_list("pk", "last_seq")[:COMPARED_MAX_SESSIONS]
    waiting = extensions.memory().waiting_for(user)
    tasks = Schedule.objects.visible_to(user).tasks().order_by("pk").values_list("pk", "text", "enabled")
    return quiet.fingerprint(
        user.day(session.created_at).isoformat(),
        checklist,
        [[item["path"], item["text"]] for item in items],
        [[str(pk), seq] for pk, seq in sessions],
        waiting.count if waiting else 0,
        [list(task) for task in tasks],
    )


def _conversations(session: ChatSession) -> ChatSessionQuerySet:
    """Return the conversations that the agent of `session` may know of, newest activity first."""
    found = ChatSession.objects.private_to(session.owner).listed()
    return found.filter(agent=session.agent) if session.agent.own_memory else found.exclude(agent__own_memory=True)
