"""The life of attachments: stored before the message is sent, bound to it, and swept when no message references them.

The row is authoritative. Its file is written before it and removed after it, so a row always has its file, and a file
without a row is swept.
"""

import datetime as dt
import hashlib
import logging
import re
import unicodedata
import uuid
from collections.abc import Sequence

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.attachments import disk
from chat.attachments.examine import FileRefusedError, examine_file
from chat.models import Attachment, AttachmentQuerySet, ChatSession, Message
from oneclaw.audit import holds
from oneclaw.locks import hold
from oneclaw.models import User, clock
from oneclaw.text import InvalidTextError, UserFacingError

logger = logging.getLogger(__name__)

# How long an unsent file is kept, and the age at which a file without a row is swept.
UNSENT_AGE = dt.timedelta(days=1)
ROWLESS_AGE_SECONDS = 3600.0
# Unsent files that a person may have.
UNSENT_MAX_FILES = 100
# Rows that one sweep looks at.
SWEEP_MAX_ROWS = 1000

# Unicode categories removed from file names: control characters, and marks that change the text direction.
INVISIBLE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


class FileMissingError(UserFacingError, LookupError):
    """A file of the message no longer exists."""

    wording = gettext_lazy("A file of this message no longer exists. Attach it again.")


def store_file(user: User, name: str, data: bytes, attachment_id: uuid.UUID | None = None) -> Attachment:
    """Examine and store a file that `user` may send with a message; idempotent by `attachment_id`.

    Raise FileRefusedError when the file is not accepted or the person has no room left.
    """
    known = Attachment.objects.filter(owner=user, pk=attachment_id).first() if attachment_id else None
    if known is not None:
        return known
    name = clean_name(name)
    _refuse_too_many_unsent(user)
    _refuse_without_room(user, len(data))
    if not connection.in_atomic_block:
        # Other threads need the connection while the file is read.
        connection.close()
    found = examine_file(name, data, user.pk)
    row = Attachment(
        pk=attachment_id or uuid.uuid4(),
        owner=user,
        name=name,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        **found.columns,
    )
    return store_row(row, data, found.small)


def store_row(row: Attachment, data: bytes, small: bytes | None = None) -> Attachment:
    """Store a new attachment with its bytes, and those of its smaller copy; return it, or the one with this id.

    Raise FileRefusedError when the person has no room left.
    """
    user = row.owner
    with transaction.atomic():
        # So that no other file of the person is stored meanwhile.
        hold(f"attachments:{user.pk}")
        known = Attachment.objects.filter(owner=user, pk=row.pk).first()
        if known is not None:
            return known
        # Other files may have been stored while this one was read.
        _refuse_too_many_unsent(user)
        _refuse_without_room(user, row.size + row.small_size)
        try:
            disk.write(user.pk, str(row.pk), data)
            if small:
                disk.write(user.pk, small_name(row.pk), small)
        except OSError as error:
            raise not_stored_error(row.name) from error
        row.save(force_insert=True)
    return row


def copy_for(user: User, file: Attachment) -> Attachment:
    """Store a copy of another person's `file` for `user`, who may see it.

    Raise FileMissingError when it is gone, and FileRefusedError when `user` has no room for it.
    """
    hold(f"attachments:{user.pk}")
    _refuse_without_room(user, file.size + file.small_size)
    made = Attachment.objects.get(pk=file.pk)
    made.pk, made.owner, made.session, made.message = uuid.uuid4(), user, None, None
    made._state.adding = True
    for name, own_name in ((str(file.pk), str(made.pk)), (small_name(file.pk), small_name(made.pk))):
        data = disk.read(file.owner_id, name)
        if data is not None:
            disk.write(user.pk, own_name, data)
        elif name == str(file.pk):
            raise FileMissingError
    made.save(force_insert=True)
    return made


def not_stored_error(name: str) -> FileRefusedError:
    """Return the error for a file that the disk refused, which is logged for the operator."""
    logger.exception("An attached file could not be stored.")
    words = _("“%(name)s” could not be stored, because the server’s disk is full or broken. Try again later.")
    return FileRefusedError("not_stored", words % {"name": name})


def clean_name(name: str) -> str:
    """Return the last part of the path `name`, without invisible characters and cut to the column's length. Pure."""
    name = re.split(r"[/\\]", name)[-1]
    name = "".join(char for char in name if unicodedata.category(char) not in INVISIBLE_CATEGORIES)
    name = " ".join(name.split()).strip(". ") or "file"
    if len(name) <= Attachment.NAME_MAX_CHARS:
        return name
    stem, dot, suffix = name.rpartition(".")
    suffix = dot + suffix if stem and len(suffix) <= 10 else ""
    return name[: Attachment.NAME_MAX_CHARS - len(suffix) - 1] + "…" + suffix


def checked_ids(value: object) -> list[uuid.UUID]:
    """Return `value`, the `files` of a frame, as ids.

    Raise oneclaw.text.InvalidTextError when it is no list of UUIDs, or has duplicates or too many.
    """
    try:
        if not isinstance(value, list):
            raise ValueError
        ids = [uuid.UUID(item) for item in value]
    except (ValueError, AttributeError, TypeError):
        raise InvalidTextError("bad_frame", "files must be a list of UUIDs.") from None
    if len(set(ids)) != len(ids):
        raise InvalidTextError("bad_frame", "files names a file twice.")
    if len(ids) > settings.FILES.message_max_files:
        raise InvalidTextError("too_many", too_many_error().sentence)
    return ids


def too_many_error() -> FileRefusedError:
    """Return the error for a message with more than settings.FILES.message_max_files files."""
    sentence = _("A message can have %(most)d files. Send the others with your next message.")
    return FileRefusedError("too_many", sentence % {"most": settings.FILES.message_max_files})


def lock_files(user: User, ids: Sequence[uuid.UUID]) -> list[Attachment]:
    """Lock the person's files `ids` and return them in this order. Call inside a transaction.

    A file that another message has may be sent again, as by an edit. Raise FileMissingError when one does not exist.
    """
    if not ids:
        return []
    found = {row.pk: row for row in Attachment.objects.filter(owner=user, pk__in=ids).select_for_update(no_key=True)}
    if len(found) != len(ids):
        raise FileMissingError
    return [found[each] for each in ids]


def mark_sent(files: Sequence[Attachment], message: Message) -> None:
    """Bind `files` to the `message` that they are sent with; a file sent before stays with its first message.

    A member's file in a conversation of another person is bound to its message alone.
    """
    if files:
        fresh = Attachment.objects.unsent().filter(pk__in=[file.pk for file in files])
        is_owners = message.author_id in (None, message.session.owner_id)
        fresh.update(session=message.session_id if is_owners else None, message=message)


def remove(user: User, attachment_id: uuid.UUID) -> None:
    """Delete the person's unsent file `attachment_id`; a sent one stays, and one that a legal hold keeps."""
    if holds.is_held(user.pk):
        return
    _delete_unsent(Attachment.objects.unsent().filter(owner=user, pk=attachment_id))


def visible_file(user: User, attachment_id: uuid.UUID) -> Attachment | None:
    """Return the file if it is the person's and unsent, or in a conversation that they may see; None otherwise."""
    row = Attachment.objects.filter(pk=attachment_id).select_related("session").first()
    if row is None:
        return None
    is_unsent = row.session is None and row.message_id is None
    if row.owner_id == user.pk and (is_unsent or (row.session is not None and _is_private(user, row.session))):
        return row
    return row if Message.objects.visible_to(user).filter(**_referencing(row)).exists() else None


def _is_private(user: User, session: ChatSession) -> bool:
    return session.owner_id == user.pk and not session.is_shared and session.deleted_at is None


def delete_files_of(session: ChatSession) -> None:
    """Delete the files of `session`, whose messages are deleted, unless another session's message references them."""
    for each in Attachment.objects.filter(session=session).values_list("pk", flat=True):
        _delete_unsent(Attachment.objects.unsent().filter(pk=each))


def delete_all(files: AttachmentQuerySet, most: int) -> int:
    """Delete at most `most` of `files`, sent or not, with their bytes; return how many. Messages keep their names."""
    found = list(files.order_by("created_at").values_list("owner_id", "pk")[:most])
    Attachment.objects.filter(pk__in=[pk for _owner, pk in found]).delete()
    for owner_id, pk in found:
        _remove_files(owner_id, pk)
    return len(found)


def sweep(now: dt.datetime | None = None) -> int:
    """Delete the files that no message references after UNSENT_AGE, and files without a row; return how many."""
    latest = (now or clock.database_now()) - UNSENT_AGE
    old = Attachment.objects.unsent().filter(created_at__lt=latest).exclude(owner__in=holds.held_people())
    ids = list(old.values_list("pk", flat=True)[:SWEEP_MAX_ROWS])
    count = sum(_delete_unsent(Attachment.objects.unsent().filter(pk=each)) for each in ids)
    return count + _remove_rowless()


def small_name(attachment_id: uuid.UUID) -> str:
    """Return the file name of the smaller copy."""
    return f"{attachment_id}.small"


@transaction.atomic
def _delete_unsent(rows: AttachmentQuerySet) -> int:
    row = rows.select_for_update(skip_locked=True).first()
    if row is None:
        return 0
    referencing = Message.objects.filter(**_referencing(row)).first()
    if referencing is not None:
        # A copy of the message that it was sent with still references it.
        mark_sent([row], referencing)
        return 0
    owner_id, attachment_id = row.owner_id, row.pk
    row.delete()
    transaction.on_commit(lambda: _remove_files(owner_id, attachment_id))
    return 1


def _referencing(row: Attachment) -> dict[str, object]:
    """Return the filter of the messages that reference the attachment `row`, in whichever conversation."""
    return {"file_names__attachment": row.pk}


def _remove_files(owner_id: int, attachment_id: uuid.UUID) -> None:
    for name in (str(attachment_id), small_name(attachment_id)):
        disk.remove(owner_id, name)


def _remove_rowless() -> int:
    owned: dict[int, list[str]] = {}
    for owner_id, name in disk.stored_files(ROWLESS_AGE_SECONDS):
        owned.setdefault(owner_id, []).append(name)
    count = 0
    for owner_id, names in owned.items():
        rows = Attachment.objects.filter(owner=owner_id).values_list("pk", "small_size")
        kept = {name for pk, small in rows for name in ([str(pk), small_name(pk)] if small else [str(pk)])}
        for name in set(names) - kept:
            disk.remove(owner_id, name)
            count += 1
    return count


def _refuse_too_many_unsent(user: User) -> None:
    if Attachment.objects.filter(owner=user).unsent().count() >= UNSENT_MAX_FILES:
        raise FileRefusedError("too_many", _("You have too many unsent files. Send or remove some of them first."))


def _refuse_without_room(user: User, size: int) -> None:
    used = Attachment.objects.filter(owner=user).aggregate(sum=Sum(F("size") + F("small_size")))["sum"] or 0
    if used + size > settings.FILES.person_max_bytes:
        raise FileRefusedError("no_room", _("Your file storage is full. Ask your administrator for more."))
