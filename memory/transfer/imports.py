"""A zip file becomes memory in two steps: what it would change is shown, and that, exactly, is done once confirmed.

What was uploaded waits in the database, one upload a person, so that any web process can take it up.
"""

import datetime as dt
import hashlib
import json
import uuid
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from memory.documents import write
from memory.documents.diff import Hunk, diff
from memory.documents.write import Author, Replace, Source
from memory.models import Upload
from memory.transfer import archive
from oneclaw.models import Space, User
from oneclaw.reasons import Reason

# How long an upload waits to be confirmed.
PATIENCE = dt.timedelta(hours=1)


class NothingWaits(Exception):
    """There is no such upload to confirm: it was imported, replaced by another one, or has expired."""


class Changed(Exception):
    """Memory, or the upload, is not what it was when the plan was shown."""


@dataclass(frozen=True)
class Change:
    """What becomes of one document: `base_version` 0 when there never was one."""

    path: str
    content: str
    base_version: int
    hunks: list[Hunk]
    is_new: bool


@dataclass(frozen=True)
class Plan:
    """All that an import would do. `digest` is another one as soon as anything of it is."""

    upload: Upload
    changes: list[Change]
    unchanged: list[str]
    skipped: list[str]
    refused: dict[str, str]

    @property
    def digest(self) -> str:
        told = [[change.path, change.base_version, change.content] for change in self.changes]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def upload(user: User, name: str, data: bytes) -> Plan:
    """Keep it until it is confirmed, and say what it would do. Unusable when nothing of it can be taken."""
    archive.opened(data)
    kept, _ = Upload.objects.update_or_create(
        owner=user,
        defaults={"name": name[:200], "data": data, "token": uuid.uuid4(), "created_at": timezone.now()},
    )
    return plan(kept)


def waiting(user: User, token: uuid.UUID) -> Upload:
    """The person's upload; NothingWaits when it is not there any more."""
    found = Upload.objects.filter(owner=user, token=token, created_at__gte=timezone.now() - PATIENCE).first()
    if found is None:
        raise NothingWaits
    return found


def plan(kept: Upload) -> Plan:
    """What the upload would change in the person's own memory as it is now."""
    opened = archive.opened(bytes(kept.data))
    held = {
        document.path: document for document in Space.objects.own_of(kept.owner).documents.filter(path__in=opened.texts)
    }
    changes, unchanged = [], []
    for path, content in sorted(opened.texts.items()):
        document = held.get(path)
        if document is not None and not document.is_deleted and document.content == content:
            unchanged.append(path)
        else:
            before, version = ("", 0) if document is None else (document.content, document.version)
            is_new = document is None or document.is_deleted
            changes.append(Change(path, content, version, diff(before, content), is_new))
    return Plan(kept, changes, unchanged, opened.skipped, opened.refused)


@transaction.atomic
def confirm(user: User, token: uuid.UUID, digest: str) -> Plan:
    """Do exactly what the plan with this digest said, all or nothing, and once. Nothing is deleted.

    NothingWaits, or Changed; a DocumentError when a document cannot be written.
    """
    kept = Upload.objects.select_for_update().filter(pk=waiting(user, token).pk, token=token).first()
    if kept is None:
        raise NothingWaits
    planned = plan(kept)
    if planned.digest != digest:
        raise Changed
    space, author = (
        Space.objects.own_of(user),
        Author(Source.IMPORT, user, reason=Reason("change.imported", {"name": kept.name})),
    )
    for change in planned.changes:
        try:
            write.apply(space, change.path, Replace(change.content, change.base_version), author)
        except write.StaleVersionError as stale:
            raise Changed from stale
    kept.delete()
    return planned


def forget_old() -> None:
    """Uploads that nobody confirmed in time go."""
    Upload.objects.filter(created_at__lt=timezone.now() - PATIENCE).delete()
