"""Chain the events of the audit log by hashes, and find what was changed afterwards.

Each link is SHA-256 of the link before it and of its event. Events are linked some seconds after they were committed,
by one process at a time: to link them at once, every transaction with an event would wait for the one before it. Who
can change the database can recompute the chain as well: compare its newest link with a copy of it
(`manage.py audit verify --expect`, or what the collector was sent).
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection, transaction

from oneclaw.locks import hold
from oneclaw.models import AuditDelivery, AuditEvent, AuditLink, clock

# The hash before the first link.
START_HASH = bytes(32)
# Events that one transaction links, and that are read at once.
BATCH_EVENTS = 500
# Events without a link that are named.
SHOWN_EVENTS = 100
# After this time an event should be linked, if a worker runs.
LATE = dt.timedelta(minutes=5)
LINK = """
    UPDATE oneclaw_auditlink link SET position = made.position, hash = made.hash
    FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[]) AS made (event, position, hash)
    WHERE link.event_id = made.event
"""


@dataclass(frozen=True)
class Newest:
    """The newest link: its position, from 1 (0: there is none yet), and its hash."""

    position: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.position}:{self.hash.hex()}"


def newest() -> Newest:
    """Return the newest link of the chain."""
    link = AuditLink.objects.exclude(position=None).order_by("-position").first()
    return Newest(0, START_HASH) if link is None else Newest(link.position or 0, bytes(link.hash or b""))


def link_all() -> int:
    """Link all events that are committed, and return how many they were."""
    count = 0
    while linked := link_some():
        count += linked
    return count


@transaction.atomic
def link_some() -> int:
    """Link up to BATCH_EVENTS committed events in the order of their ids, and return how many they were."""
    hold("audit chain")
    events = list(AuditEvent.objects.filter(link__position=None, link__isnull=False).order_by("pk")[:BATCH_EVENTS])
    last = newest()
    position, before, rows = last.position, last.hash, []
    for event in events:
        position, before = position + 1, event.chained(before)
        rows.append((event.pk, position, before))
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(LINK, [list(column) for column in zip(*rows, strict=True)])
    return len(rows)


def faults(expected: Newest | None = None) -> Iterator[str]:
    """Yield a sentence for each fault of the chain: events that were changed, removed, added or never linked.

    `expected` is a copy of an earlier newest link: the chain must still contain it.
    """
    position, before, found = 0, START_HASH, expected is None
    for link in _links():
        position += 1
        if link.position != position:
            yield f"The links {position} to {link.position - 1} are missing."
            position = link.position
        if link.chained_event is None:
            yield f"Event {link.event_id}, link {position}, is missing."
        elif link.chained_event.chained(before) != link.hash:
            yield f"Event {link.event_id}, link {position}, was changed, or the link before it."
        before = link.hash
        found = found or expected == Newest(position, before)
    if not found:
        yield f"The chain does not contain the link {expected}."
    sent = AuditDelivery.objects.filter(position__gt=position).first()
    if sent is not None:
        yield f"The collector has {sent.position} links, and the chain ends with link {position}."
    removed = AuditLink.objects.filter(position=None).exclude(event__in=AuditEvent.objects.values("pk"))
    for pk in removed.values_list("event_id", flat=True)[:SHOWN_EVENTS]:
        yield f"Event {pk} was removed before it was linked."
    for pk in AuditEvent.objects.filter(link=None).values_list("pk", flat=True)[:SHOWN_EVENTS]:
        yield f"Event {pk} has lost its link."
    waiting = AuditEvent.objects.filter(link__isnull=False, link__position=None)
    for pk in waiting.filter(at__lt=clock.database_now() - LATE).values_list("pk", flat=True)[:SHOWN_EVENTS]:
        yield f"Event {pk} is not linked yet: is a worker running?"


@dataclass(frozen=True)
class _Link:
    """A link as it is in the database, with its event; None when that is missing."""

    position: int
    hash: bytes
    event_id: int
    chained_event: AuditEvent | None


def _links() -> Iterator[_Link]:
    after = 0
    while True:
        links = list(AuditLink.objects.filter(position__gt=after).order_by("position")[:BATCH_EVENTS])
        events = AuditEvent.objects.in_bulk([link.event_id for link in links])
        for link in links:
            after = link.position or 0
            yield _Link(after, bytes(link.hash or b""), link.event_id, events.get(link.event_id))
        if not links:
            return
