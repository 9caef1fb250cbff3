"""Serve the diary: a day of a memory with its notes, what was remembered on it, and its conversations."""

import datetime as dt
from collections import Counter

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.dateparse import parse_date
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET

from chat.rendering.incremental import blocks
from memory.models import MemoryDocument
from memory.notes import coverage
from memory.overview import diary, home
from memory.overview.days import calendar_of, logs_of
from memory.views.documents import RENDERED_MAX_CHARS
from memory.views.home import days_url, of_space, overview_if_compiled, shown_space
from oneclaw.people.requests import SignedInRequest


@require_GET
def diary_page(request: SignedInRequest) -> HttpResponse:
    """Show the day `?day=`; without one the newest that has something."""
    space, today = shown_space(request), request.user.day()
    document = home.curated_of(space)
    remembered = diary.remembered_in(overview_if_compiled(document), request.user)
    logs = {day: notes for day, (_, notes) in logs_of(space).items()}
    written = Counter(
        remembered.days[entry.revision] for entry in remembered.entries if entry.revision in remembered.days
    )
    known = {*logs, *written}
    first = min((*known, diary.first_conversation_on(request.user, space) or today, today))
    day = asked_day(request, "day", max((each for each in known if each <= today), default=today), first, today)
    log = diary.log_of(space, day)
    entries = remembered.on(day)
    before, after = diary.neighbours_of(request.user, space, day, known, today)
    calendar = calendar_of(logs, written, today)
    context = {
        "space": space,
        "day": day,
        "today": today,
        "first": first,
        "before": before,
        "after": after,
        # The positions of the slider, in days after the first.
        "offset": (day - first).days,
        "span": (today - first).days,
        "log": log,
        "notes": rendered(log),
        "coverage": coverage.of_document(log) if log else None,
        "remembered": home.shown_entries(document, entries[: diary.DAY_MAX_ENTRIES], request.user) if document else [],
        "remembered_count": len(entries),
        "conversations": diary.conversations_on(request.user, space, day),
        "document": document,
        "calendar": calendar,
        "marked": calendar.corner_of(day),
        "days_url": days_url("memory_diary", space),
        "of_space": of_space(space),
    }
    return render(request, "memory/diary.html", context)


def rendered(log: MemoryDocument | None) -> list[SafeString] | None:
    """Return the notes of `log` as HTML, without the heading that names its day; None when they are too long."""
    if log is None:
        return []
    content = log.content.partition("\n")[2] if log.content.startswith("# ") else log.content
    # Sanitised by the renderer.
    return [mark_safe(block) for block in blocks(content)] if len(content) <= RENDERED_MAX_CHARS else None  # noqa: S308


def asked_day(request: SignedInRequest, name: str, otherwise: dt.date, first: dt.date, last: dt.date) -> dt.date:
    """Return the day of the query `name`, between `first` and `last`; `otherwise` when it is none."""
    try:
        found = parse_date(request.GET.get(name, ""))
    except ValueError:
        found = None
    return min(max(found or otherwise, first), last)
