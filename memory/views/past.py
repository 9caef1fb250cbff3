"""Serve a memory as it was on a past day, what changed since, and put lines back."""

import datetime as dt

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from memory.access.rights import may_edit, may_write
from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.models import MemoryDocument
from memory.overview import past
from memory.views.changes import form_number, writable_document
from memory.views.diary import asked_day
from memory.views.home import of_space, shown_space
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError


@require_GET
def past_page(request: SignedInRequest) -> HttpResponse:
    """Show memory at the end of `?day=`, and what changed from then until the end of `?until=` (today without one)."""
    space, today = shown_space(request), request.user.day()
    first = past.first_day(request.user, space) or today
    day = asked_day(request, "day", min(max(first, today - dt.timedelta(days=7)), today), first, today)
    until = asked_day(request, "until", today, day, today)
    found = past.documents_between(space, past.end_of(request.user, day), past.end_of(request.user, until))
    context = {
        "space": space,
        "first": first,
        "today": today,
        "day": day,
        "until": until,
        # The positions of the slider, in days after the first.
        "offset": (day - first).days,
        "span": (today - first).days,
        "documents": [each for each in found if each.version],
        "changed": [each for each in found if each.is_changed],
        "of_space": of_space(space),
        "may_write": may_write(request.user, space.pk),
    }
    return render(request, "memory/past.html", context)


@require_GET
def version_page(request: SignedInRequest, document_id: int, number: int) -> HttpResponse:
    """Show the lines of a document after revision `number`; those that it has no more can be put back."""
    document = get_object_or_404(MemoryDocument.objects.visible_to(request.user), pk=document_id)
    revision = get_object_or_404(document.revisions, number=number)
    context = {
        "document": document,
        "revision": revision,
        "day": request.user.day(revision.created_at),
        "lines": past.lines_at(document, number),
        "may_write": may_edit(request.user, document.space, document.path),
    }
    return render(request, "memory/version.html", context)


@require_POST
def put_back(request: SignedInRequest, document_id: int) -> HttpResponse:
    """Add one line of an earlier version at the end of the document, unless it is there, and go back to the version."""
    document = writable_document(request, document_id)
    number, line = form_number(request, "number"), form_number(request, "line")
    if not number or line is None or number > document.version:
        return HttpResponseBadRequest()
    lines = write.content_at(document, number).split("\n")
    if line >= len(lines) or not lines[line].strip():
        return HttpResponseBadRequest()
    author = Author(Source.UNDO, request.user, reason=Reason("change.restored", {"number": number}))
    try:
        made = write.apply(document.space, document.path, Append(lines[line], unless_there=lines[line]), author)
    except (write.DocumentError, InvalidTextError) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The line is in the file again.") if made else _("The line is already there."))
    return redirect("memory_version", document.pk, number)
