"""The life of files in libraries: added as the first or the next version of a name, and removed with all versions.

The row is authoritative. The bytes are stored before it and removed after it, so a row always has its file, and a file
without a row is swept.
"""

import hashlib
import logging
import uuid
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from chat.attachments.examine import FileRefusedError, kind_of
from chat.attachments.store import clean_name, not_stored_error
from memory.library import storage, vectors
from memory.models import FileVersion, LibraryFile, LineFeedback
from oneclaw.audit import holds
from oneclaw.audit.record import record
from oneclaw.locks import hold
from oneclaw.models import AuditKind, Space, User
from oneclaw.tasks import hint
from oneclaw.text import file_size

logger = logging.getLogger(__name__)

# The age at which a stored file without a row is removed.
ROWLESS_AGE_SECONDS = 3600.0


def add(space: Space, user: User, name: str, data: bytes) -> FileVersion:
    """Store `data` as the newest version of the file `name` of `space`, and enqueue its reading.

    Without a change since the newest version, that one is returned; if it could not be read, it is read again. The
    caller has checked that `user` may write there. Raise FileRefusedError when it is not accepted.
    """
    name = clean_name(name)
    _check(name, data)
    version = FileVersion(owner=user, size=len(data), sha256=hash_of(data))
    is_written = False
    try:
        with transaction.atomic():
            # Two uploads of the same name at once become two versions, in some order.
            hold(lock_of(space.pk))
            file = LibraryFile.objects.filter(space=space, name=name).first()
            newest = file.versions.order_by("number").last() if file else None
            if newest is not None and newest.sha256 == version.sha256:
                if newest.status == FileVersion.Status.FAILED:
                    _queue_again(newest)
                return newest
            _refuse_without_room(space, len(data), is_new=file is None)
            storage.write(space.pk, str(version.pk), data)
            is_written = True
            version.file = file or LibraryFile.objects.create(space=space, name=name)
            version.number = newest.number + 1 if newest else 1
            version.save(force_insert=True)
            hint(FileVersion.TASK, version.pk)
    except OSError:
        logger.exception("A file of a library could not be stored.")
        raise not_stored_error(name) from None
    except Exception:
        # Whatever it is that keeps the row from being stored: it is raised, and bytes without a row are not kept.
        if is_written:
            storage.remove(space.pk, str(version.pk))
        raise
    return version


def hash_of(data: bytes) -> str:
    """Return the hash by which a version is known."""
    return hashlib.sha256(data).hexdigest()


def remove(file: LibraryFile, by: User) -> None:
    """Delete `file` with its versions, chunks and vectors, and what people said about its lines. The caller has checked
    that `by` may. Raise HeldError when a legal hold keeps it."""
    adders = User.objects.filter(pk__in=file.versions.values("owner"))
    holds.refuse_if_held(people=adders, spaces=[file.space])
    delete(file, actor=by)


@transaction.atomic
def delete(file: LibraryFile, *, actor: User | None = None, **details: Any) -> None:
    """Delete what `remove` deletes, without asking for holds; the event of the audit log gets `actor` and `details`."""
    space = file.space
    hold(lock_of(space.pk))
    ids = list(FileVersion.objects.filter(file=file).values_list("pk", flat=True))
    with vectors.without_unused(file):
        record(AuditKind.DELETED, actor=actor, space=space, of="library_file", file=file.pk, **details)
        # The database removes index and chunks with the file.
        file.delete()
    LineFeedback.objects.of_removed_lines(space).delete()
    transaction.on_commit(lambda: _remove_stored(space.pk, ids))


def lock_of(space_id: int) -> str:
    """Return the name of the lock that is held while files of the space are added or removed."""
    return f"library {space_id}"


def sweep() -> int:
    """Remove stored files without a row, and return how many."""
    left = rowless(ROWLESS_AGE_SECONDS)
    for space_id, name in left:
        storage.remove(space_id, name)
    return len(left)


def rowless(older_than: float) -> list[tuple[int, str]]:
    """Return (space id, name) of the stored files without a row that were written more than so many seconds ago."""
    stored: dict[int, list[str]] = {}
    for space_id, name in storage.stored_files(older_than):
        stored.setdefault(space_id, []).append(name)
    left = []
    for space_id, names in stored.items():
        kept = {str(pk) for pk in FileVersion.objects.filter(file__space=space_id).values_list("pk", flat=True)}
        left += [(space_id, name) for name in sorted(set(names) - kept)]
    return left


def content_of(version: FileVersion) -> bytes | None:
    """Return the bytes of `version`; None when they are missing."""
    return storage.read(version.file.space_id, str(version.pk))


def _queue_again(version: FileVersion) -> None:
    FileVersion.objects.filter(pk=version.pk, status=FileVersion.Status.FAILED).update(
        status=FileVersion.Status.QUEUED, attempts=0, error="", finished_at=None
    )
    version.status, version.error = FileVersion.Status.QUEUED, ""
    hint(FileVersion.TASK, version.pk)


def _check(name: str, data: bytes) -> None:
    if not data:
        raise FileRefusedError("empty", _("“%(name)s” is empty.") % {"name": name})
    if len(data) > settings.LIBRARY_LIMITS.file_max_bytes:
        raise too_large_error(name, len(data))
    if kind_of(data) == "image":
        raise FileRefusedError("type", _("“%(name)s” is an image: the library reads texts.") % {"name": name})


def too_large_error(name: str, size: int) -> FileRefusedError:
    """Return the error for a file of `size` bytes, more than settings.LIBRARY_LIMITS.file_max_bytes."""
    shown = {"name": name, "size": file_size(size), "most": file_size(settings.LIBRARY_LIMITS.file_max_bytes)}
    return FileRefusedError("too_large", _("“%(name)s” has %(size)s. The limit is %(most)s per file.") % shown)


def _refuse_without_room(space: Space, size: int, *, is_new: bool) -> None:
    if is_new and LibraryFile.objects.filter(space=space).count() >= settings.LIBRARY_LIMITS.max_files:
        sentence = _("This library is full: it can have %(most)d files.")
        raise FileRefusedError("too_many", sentence % {"most": settings.LIBRARY_LIMITS.max_files})
    used = FileVersion.objects.filter(file__space=space).aggregate(sum=Sum("size"))["sum"] or 0
    if used + size > settings.LIBRARY_LIMITS.max_bytes:
        raise FileRefusedError("no_room", _("This library has no room left. Remove files, or ask your administrator."))


def _remove_stored(space_id: int, ids: list[uuid.UUID]) -> None:
    try:
        for each in ids:
            storage.remove(space_id, str(each))
    except OSError:
        logger.exception("Removed files of a library are still stored; the sweep removes them.")
