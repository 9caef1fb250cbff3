"""Import a zip file in two steps: show a plan of the changes, and apply exactly that plan when it is confirmed.

An upload is stored in the database, one per person, so that any web process can continue the import.
"""

import datetime as dt
import hashlib
import json
import uuid
from dataclasses import dataclass

from django.db import transaction

from memory.documents import write
from memory.documents.diff import Hunk, diff
from memory.documents.write import Author, Replace, Source
from memory.models import Upload
from memory.policy.suggested import INSTRUCTION_FILES
from memory.signals import together
from memory.transfer import archive
from memory.trust import instructions
from oneclaw.models import Space, User, clock
from oneclaw.reasons import Reason

# The time in which an upload can be confirmed.
UPLOAD_LIFETIME = dt.timedelta(hours=1)


class UploadMissingError(Exception):
    """The upload does not exist: it was imported, replaced by another one, or has expired."""


class ImportPlanChangedError(Exception):
    """Memory or the upload has changed since the plan was shown."""


@dataclass(frozen=True)
class PlannedChange:
    """The change of one document by an import. `base_version` is 0 when there never was such a document."""

    path: str
    content: str
    base_version: int
    hunks: list[Hunk]
    is_new: bool

    @property
    def instructs(self) -> bool:
        """Return whether the file instructs the assistant, so that it is used after a yes."""
        return self.path in INSTRUCTION_FILES and bool(self.content.strip())


@dataclass(frozen=True)
class ImportPlan:
    """Everything that an import would do."""

    upload: Upload
    changes: list[PlannedChange]
    unchanged: list[str]
    skipped: list[str]
    refused: dict[str, str]

    @property
    def digest(self) -> str:
        """Return a hash that differs when any of the changes differs."""
        values = [[change.path, change.base_version, change.content] for change in self.changes]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def upload(user: User, name: str, data: bytes) -> ImportPlan:
    """Store the zip file `data` in place of any earlier upload of `user`, and return its plan.

    Raise UnusableArchiveError when nothing can be imported from it.
    """
    archive.read_archive(data)
    kept, _ = Upload.objects.update_or_create(
        owner=user,
        defaults={"name": name[:200], "data": data, "token": uuid.uuid4(), "created_at": clock.database_now()},
    )
    return plan(kept)


def pending_upload(user: User, token: uuid.UUID) -> Upload:
    """Return the upload of `user` with this `token`. Raise UploadMissingError without one, or when it has expired."""
    found = Upload.objects.filter(
        owner=user, token=token, created_at__gte=clock.database_now() - UPLOAD_LIFETIME
    ).first()
    if found is None:
        raise UploadMissingError
    return found


def plan(kept: Upload) -> ImportPlan:
    """Return what the upload would change in its owner's memory at present."""
    contents = archive.read_archive(bytes(kept.data))
    present = Space.objects.own_of(kept.owner).documents.filter(path__in=contents.texts)
    held = {document.path: document for document in present}
    changes, unchanged = [], []
    for path, content in sorted(contents.texts.items()):
        document = held.get(path)
        if document is not None and not document.is_deleted and document.content == content:
            unchanged.append(path)
        else:
            before, version = ("", 0) if document is None else (document.content, document.version)
            is_new = document is None or document.is_deleted
            changes.append(PlannedChange(path, content, version, diff(before, content), is_new))
    return ImportPlan(kept, changes, unchanged, contents.skipped, contents.refused)


def confirm(user: User, token: uuid.UUID, digest: str) -> ImportPlan:
    """Apply the plan with this `digest` in one transaction, once, and return it. Nothing is deleted.

    Raise UploadMissingError without such an upload, ImportPlanChangedError when the plan has changed, and DocumentError
    when a document cannot be written.
    """
    # The documents are indexed together.
    with together(), transaction.atomic():
        return _confirm(user, token, digest)


def _confirm(user: User, token: uuid.UUID, digest: str) -> ImportPlan:
    kept = Upload.objects.select_for_update().filter(pk=pending_upload(user, token).pk, token=token).first()
    if kept is None:
        raise UploadMissingError
    planned = plan(kept)
    if planned.digest != digest:
        raise ImportPlanChangedError
    space = Space.objects.own_of(user)
    author = Author(Source.IMPORT, user, reason=Reason("change.imported", {"name": kept.name}))
    for change in planned.changes:
        try:
            write.apply(space, change.path, Replace(change.content, change.base_version), author)
            instructions.ask_about(space, change.path, change.content, kept.name)
        except write.StaleVersionError as stale:
            raise ImportPlanChangedError from stale
    kept.delete()
    return planned


def delete_expired() -> None:
    """Delete uploads that were not confirmed in time."""
    Upload.objects.filter(created_at__lt=clock.database_now() - UPLOAD_LIFETIME).delete()
