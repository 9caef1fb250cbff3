"""The page of the audit log: its newest events, by person, kind and day, and its export as JSON lines."""

import datetime as dt
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import groupby

from django import forms
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.db import models
from django.db.models import Q, QuerySet
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from oneclaw.audit.record import record
from oneclaw.audit.sentences import by_server, removed_person, rest_of, sentence_of
from oneclaw.models import AuditDelivery, AuditEvent, AuditKind, Space, User
from oneclaw.people.named import named
from oneclaw.people.requests import SignedInRequest
from oneclaw.spaces.names import SpaceNames
from oneclaw.threads import in_database

PAGE_EVENTS, PART_EVENTS = 50, 1000
sees_audit = permission_required("oneclaw.view_audit", raise_exception=True)


class AuditFilter(forms.Form):
    """Which events to show; an empty field filters nothing."""

    person = forms.CharField(label=_("Person"), required=False, max_length=254)
    kind = forms.ChoiceField(label=_("What"), required=False, choices=[("", _("Everything")), *AuditKind.choices])
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def events(self) -> QuerySet[AuditEvent]:
        """Return the events that the filter lets through, newest first; all while a field is not valid."""
        events = AuditEvent.objects.order_by("-at", "-pk")
        data = self.cleaned_data if self.is_valid() else {}
        if name := data.get("person"):
            people = User.objects.filter(named(name)).values("pk")
            events = events.filter(Q(actor__in=people) | Q(person__in=people))
        if kind := data.get("kind"):
            events = events.filter(kind=kind)
        if since := data.get("since"):
            events = events.filter(at__gte=midnight(since))
        if until := data.get("until"):
            events = events.filter(at__lt=midnight(until + dt.timedelta(days=1)))
        return events


@dataclass(frozen=True)
class AuditRow:
    """An event as a sentence, with the addresses of its people, its space, and the details that the sentence lacks."""

    event: AuditEvent
    sentence: str
    emails: str
    space: str
    rest: str


def midnight(day: dt.date) -> dt.datetime:
    """Return the beginning of `day` in the active timezone."""
    return timezone.make_aware(dt.datetime.combine(day, dt.time.min))


@require_GET
@sees_audit
def audit_page(request: SignedInRequest) -> HttpResponse:
    """Show the events of the filter, page by page."""
    form = AuditFilter(request.GET or None)
    page = Paginator(form.events(), PAGE_EVENTS).get_page(request.GET.get("page"))
    people = User.objects.in_bulk({pk for event in page for pk in (event.actor, event.person) if pk})
    spaces = Space.objects.in_bulk({event.space for event in page if event.space})
    names = SpaceNames.for_reader(request.user)
    rows = [row_of(event, people, spaces, names) for event in page]
    filters = request.GET.copy()
    filters.pop("page", None)
    context = {
        "form": form,
        "page": page,
        "days": [(day, list(rows)) for day, rows in groupby(rows, day_of)],
        "filters": filters.urlencode(),
        "delivery": AuditDelivery.objects.exclude(failures=0).first(),
    }
    return render(request, "team/audit.html", context)


def day_of(row: AuditRow) -> dt.date:
    """Return the day of `row` in the active timezone."""
    return timezone.localdate(row.event.at)


def row_of(event: AuditEvent, people: dict[int, User], spaces: dict[int, Space], names: SpaceNames) -> AuditRow:
    """Return `event` as the page shows it, with the people and the space that still exist."""
    actor, person = people.get(event.actor or 0), people.get(event.person or 0)
    who, whom = name_of(actor, event.actor) or by_server(), name_of(person, event.person)
    space = spaces.get(event.space or 0)
    addresses = " → ".join(each.email for each in (actor, person) if each)
    about = "" if space is None else names.of(space)
    return AuditRow(event, sentence_of(event, who, whom), addresses, about, rest_of(event))


def name_of(person: User | None, number: int | None) -> str:
    """Return the name of `person`, who has the id `number`; "" without one."""
    return str(person) if person else removed_person(number) if number else ""


@require_GET
@sees_audit
async def audit_export(request: SignedInRequest) -> StreamingHttpResponse:
    """Send the events of the filter as JSON lines, newest first."""
    events = await in_database(begun_export, await request.auser(), request.GET)
    headers = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingHttpResponse(lines_of(events), content_type="application/jsonl", headers=headers)


def begun_export(user: User, query: QueryDict) -> QuerySet[AuditEvent]:
    """Record that `user` exports the audit log, and return the events that the filter `query` lets through."""
    record(AuditKind.EXPORTED, actor=user, of="audit log")
    return AuditFilter(query or None).events().order_by("-pk")


async def lines_of(events: QuerySet[AuditEvent]) -> AsyncIterator[str]:
    """Yield `events` as JSON lines, newest first, in parts of PART_EVENTS."""

    def part() -> list[AuditEvent]:
        return list(events.filter(pk__lt=before)[:PART_EVENTS])

    before = models.BigIntegerField.MAX_BIGINT
    while found := await in_database(part):
        before = found[-1].pk
        yield "".join(json.dumps(event.as_json, ensure_ascii=False) + "\n" for event in found)
