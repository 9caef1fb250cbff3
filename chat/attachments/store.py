"""Files that people attach: kept before the message is sent, taken by it, and swept when nothing names them.

A row is the truth. Its file is written before it and removed after it, so a row always has its file, and a file without
a row is swept.
"""

import datetime as dt
import hashlib
import re
import unicodedata
import uuid
from collections.abc import Sequence

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.attachments import disk
from chat.attachments.examine import Examined, Refused, examined
from chat.models import Attachment, AttachmentQuerySet, ChatSession, Message
from oneclaw.models import User
from oneclaw.text import BadText, Told

# How long a file that was not sent is kept, and seconds until a file counts as one that no row will name.
KEPT_UNSENT = dt.timedelta(days=1)
ROWLESS = 3600.0
# Unsent files that a person may have.
MOST_UNSENT = 100
# Rows that one sweep looks at.
MOST_SWEPT = 1000

# What does not belong into a name: control characters, and marks that turn the direction of what follows.
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


class Missing(Told, LookupError):
    """A file of the message is not there any more."""

    words = gettext_lazy("A file of this message no longer exists. Attach it again.")


def keep(user: User, name: str, data: bytes, attachment_id: uuid.UUID | None = None) -> Attachment:
    """A person's file, examined and stored, to be sent with a message. The same id again is the same file again.

    Raises Refused.
    """
    known = Attachment.objects.filter(owner=user, pk=attachment_id).first() if attachment_id else None
    if known is not None:
        return known
    name = clean_name(name)
    _refuse_without_room(user, len(data))
    if not connection.in_atomic_block:
        # Others need it while the file is read.
        connection.close()
    found = examined(name, data, user.pk)
    row = Attachment(
        pk=attachment_id or uuid.uuid4(),
        owner=user,
        name=name,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        **_columns(found),
    )
    with transaction.atomic():
        _wait_for_my_others(user)
        known = Attachment.objects.filter(owner=user, pk=row.pk).first()
        if known is not None:
            return known
        # Others came while this one was read.
        _refuse_without_room(user, row.size + row.small_size)
        disk.write(user.pk, str(row.pk), data)
        if found.small:
            disk.write(user.pk, small_name(row.pk), found.small)
        row.save(force_insert=True)
    return row


def clean_name(name: str) -> str:
    """The last part of a path without what cannot be seen, cut to what the column holds; its ending stays. Pure."""
    name = re.split(r"[/\\]", name)[-1]
    name = "".join(sign for sign in name if unicodedata.category(sign) not in INVISIBLE)
    name = " ".join(name.split()).strip(". ") or "file"
    if len(name) <= Attachment.LONGEST_NAME:
        return name
    stem, dot, ending = name.rpartition(".")
    ending = dot + ending if stem and len(ending) <= 10 else ""
    return name[: Attachment.LONGEST_NAME - len(ending) - 1] + "…" + ending


def ids_of(value: object) -> list[uuid.UUID]:
    """The `files` of a frame. Raises oneclaw.text.BadText: no list of UUIDs, one twice, or too many."""
    try:
        if not isinstance(value, list):
            raise ValueError
        ids = [uuid.UUID(item) for item in value]
    except (ValueError, AttributeError, TypeError):
        raise BadText("bad_frame", "files must be a list of UUIDs.") from None
    if len(set(ids)) != len(ids):
        raise BadText("bad_frame", "files names a file twice.")
    if len(ids) > settings.FILES_OF_A_MESSAGE:
        raise BadText("too_many", too_many().sentence)
    return ids


def too_many() -> Refused:
    sentence = _("A message can have %(most)d files. Send the others with your next message.")
    return Refused("too_many", sentence % {"most": settings.FILES_OF_A_MESSAGE})


def take(user: User, ids: Sequence[uuid.UUID]) -> list[Attachment]:
    """The person's files in this order, locked, for a message of theirs. Inside a transaction. Raises Missing.

    One that another message has may be sent again, as in an edited one.
    """
    if not ids:
        return []
    found = {row.pk: row for row in Attachment.objects.filter(owner=user, pk__in=ids).select_for_update(no_key=True)}
    if len(found) != len(ids):
        raise Missing
    return [found[each] for each in ids]


def settle(files: Sequence[Attachment], message: Message) -> None:
    """They have been sent with this message; one that was sent before stays with its first one."""
    if files:
        fresh = Attachment.objects.unsent().filter(pk__in=[file.pk for file in files])
        fresh.update(session=message.session_id, message=message)


def remove(user: User, attachment_id: uuid.UUID) -> None:
    """The person does not want to send it after all. One that was sent stays."""
    _forget(Attachment.objects.unsent().filter(owner=user, pk=attachment_id))


def visible(user: User, attachment_id: uuid.UUID) -> Attachment | None:
    """The person's file: not sent yet, or named by a message of a conversation that is not deleted."""
    row = Attachment.objects.filter(owner=user, pk=attachment_id).select_related("session").first()
    if row is None or row.session is None or row.session.deleted_at is None:
        return row
    return row if Message.objects.visible_to(user).filter(**_naming(row)).exists() else None


def forget(session: ChatSession) -> None:
    """Its messages are gone for good: so are its files now, but for those that a message elsewhere names."""
    for each in Attachment.objects.filter(session=session).values_list("pk", flat=True):
        _forget(Attachment.objects.unsent().filter(pk=each))


def sweep(now: dt.datetime | None = None) -> int:
    """Remove files that no message has named for a day, and files without a row; how many."""
    latest = (now or timezone.now()) - KEPT_UNSENT
    ids = list(Attachment.objects.unsent().filter(created_at__lt=latest).values_list("pk", flat=True)[:MOST_SWEPT])
    count = sum(_forget(Attachment.objects.unsent().filter(pk=each)) for each in ids)
    return count + _remove_rowless()


def small_name(attachment_id: uuid.UUID) -> str:
    return f"{attachment_id}.small"


@transaction.atomic
def _forget(rows: AttachmentQuerySet) -> int:
    row = rows.select_for_update(skip_locked=True).first()
    if row is None:
        return 0
    naming = Message.objects.filter(**_naming(row)).first()
    if naming is not None:
        # A copy of the message that had it outlived that one.
        settle([row], naming)
        return 0
    owner_id, attachment_id = row.owner_id, row.pk
    row.delete()
    transaction.on_commit(lambda: _remove_files(owner_id, attachment_id))
    return 1


def _naming(row: Attachment) -> dict[str, object]:
    """How messages that name it are filtered."""
    return {"session__owner": row.owner_id, "file_names__attachment": row.pk}


def _remove_files(owner_id: int, attachment_id: uuid.UUID) -> None:
    for name in (str(attachment_id), small_name(attachment_id)):
        disk.remove(owner_id, name)


def _remove_rowless() -> int:
    owned: dict[int, list[str]] = {}
    for owner_id, name in disk.found(ROWLESS):
        owned.setdefault(owner_id, []).append(name)
    count = 0
    for owner_id, names in owned.items():
        rows = Attachment.objects.filter(owner=owner_id).values_list("pk", "small_size")
        kept = {name for pk, small in rows for name in ([str(pk), small_name(pk)] if small else [str(pk)])}
        for name in set(names) - kept:
            disk.remove(owner_id, name)
            count += 1
    return count


def _wait_for_my_others(user: User) -> None:
    """Until this transaction ends, no other file of the person's is kept."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"attachments:{user.pk}"])


def _refuse_without_room(user: User, size: int) -> None:
    mine = Attachment.objects.filter(owner=user)
    if mine.unsent().count() >= MOST_UNSENT:
        raise Refused("too_many", _("You have too many unsent files. Send or remove some of them first."))
    used = mine.aggregate(sum=Sum(F("size") + F("small_size")))["sum"] or 0
    if used + size > settings.FILE_SPACE:
        raise Refused("no_room", _("Your file storage is full. Ask your administrator for more."))


def _columns(found: Examined) -> dict[str, object]:
    return {
        "kind": found.kind,
        "media_type": found.media_type,
        "text": found.text,
        "width": found.width,
        "height": found.height,
        "pages": found.pages,
        "small_type": found.small_type,
        "small_size": len(found.small),
    }
