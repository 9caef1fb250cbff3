"""Decide whether an admin may open the memory of others, and record each look (ONECLAW_CURATION).

Members of a space open it on its own pages. Here is what an admin does who is none: every look and change is an event
of the audit log, and the owners of the memory see it (memory/views/settings/looks.py). Commands in the shell of the
server that read memory out are recorded, too: the server does not know by whom, and no setting forbids them.
"""

import datetime as dt

from django.db.models import Q, QuerySet

from memory.models import MemoryDocument
from oneclaw import runtime_settings
from oneclaw.audit.record import record
from oneclaw.models import AuditEvent, AuditKind, Space, SpaceRole, User, clock

# How long a reason that an admin gave opens a space.
REASON_VALID = dt.timedelta(hours=1)
REASON_MAX_CHARS = 300
LOOKS = (AuditKind.MEMORY_LOOKED_AT, AuditKind.MEMORY_CURATED)


def is_of_others(admin: User, space: Space) -> bool:
    """Return whether `admin` has no role in `space`."""
    return not space.roles.filter(user=admin).exists()


def is_closed() -> bool:
    """Return whether no admin may open the memory of others."""
    return runtime_settings.value("curation") == "closed"


def open_to(admin: User) -> Q:
    """Return the spaces whose memory `admin` may open now, as a condition: those in which they have a role, and as far
    as the setting goes the others."""
    own = Q(pk__in=SpaceRole.objects.filter(user=admin).values("space"))
    if is_closed():
        return own
    return own | Q(pk__in=_reasons(admin).values("space")) if _asks_for_reasons() else Q()


def is_open_for(admin: User, space: Space) -> bool:
    """Return whether `admin` may open the memory of `space` now, and delete from it."""
    return not is_of_others(admin, space) or not (is_closed() or needs_reason(admin, space))


def needs_reason(admin: User, space: Space) -> bool:
    """Return whether `admin` must give a reason before the memory of `space` opens."""
    return _asks_for_reasons() and not _reasons(admin).filter(space=space.pk).exists()


def _asks_for_reasons() -> bool:
    return runtime_settings.value("curation") == "reason"


def _reasons(admin: User) -> QuerySet[AuditEvent]:
    """Return the looks of `admin` whose reasons still open a space."""
    looks = AuditEvent.objects.filter(kind=AuditKind.MEMORY_LOOKED_AT, actor=admin.pk)
    return looks.filter(details__has_key="reason", at__gt=clock.database_now() - REASON_VALID)


def record_look(admin: User, document: MemoryDocument, *, reason: str = "") -> None:
    """Record that `admin` opens `document` of others, with the `reason` that they gave."""
    _record(AuditKind.MEMORY_LOOKED_AT, admin, document, **({"reason": reason} if reason else {}))


def record_search(admin: User, space: Space) -> None:
    """Record that `admin` sees lines of several documents of `space`, which is of others."""
    record(AuditKind.MEMORY_LOOKED_AT, actor=admin, space=space)


def record_forgetting(admin: User, space: Space, forgetting_id: int) -> None:
    """Record that `admin` has forgotten lines in `space`, if it is a shared one of others."""
    if not space.is_private and is_of_others(admin, space):
        record(AuditKind.MEMORY_CURATED, actor=admin, space=space, forgetting=forgetting_id)


def record_change(admin: User, document: MemoryDocument, *, version: int) -> None:
    """Record that `admin` has changed `document` of others, which has `version` now."""
    _record(AuditKind.MEMORY_CURATED, admin, document, version=version)


def record_command(command: str, space: Space, *, exported: str = "") -> None:
    """Record that `command` in the shell of the server reads out the memory of `space`, or exports what `exported`
    names."""
    owner = space.owner_id if space.is_private else None
    if exported:
        record(AuditKind.EXPORTED, person=owner, space=space, of=exported, command=command)
    else:
        record(AuditKind.MEMORY_LOOKED_AT, person=owner, space=space, command=command)


def _record(kind: AuditKind, admin: User, document: MemoryDocument, **details: str | int) -> None:
    space = document.space
    owner = space.owner if space.is_private else None
    record(kind, actor=admin, person=owner, space=space, document=document.pk, path=document.path, **details)


def looks_at(user: User) -> QuerySet[AuditEvent]:
    """Return the looks of admins, and of the shell, at the memories that `user` owns, newest first."""
    owned = Space.objects.owned_by(user).values("pk")
    mine = Q(person=user.pk) | Q(space__in=owned)
    # Exports by a person are those of a member.
    by_command = Q(kind=AuditKind.EXPORTED, actor=None, details__has_key="command")
    # An admin who was shown the link could have read all of it.
    by_link = Q(kind=AuditKind.RESET_LINK_USED)
    return (
        AuditEvent.objects.filter(mine, Q(kind__in=LOOKS) | by_command | by_link)
        .exclude(actor=user.pk)
        .order_by("-at", "-pk")
    )
