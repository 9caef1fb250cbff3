"""Downloads of conversations, sent while they are written: fetch, call one thing, stream."""

import uuid
from collections.abc import Iterator

from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpResponseBase
from django.views.decorators.http import require_GET, require_http_methods

from chat.library import organise
from chat.models import ChatSession
from chat.transfer import export as exporting
from chat.transfer.downloads import WRITERS, download, download_of
from chat.views.own import own_session
from oneclaw import zipping
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.threads import in_database


@require_GET
async def export(request: SignedInRequest, session_id: uuid.UUID, kind: str) -> HttpResponseBase:
    """Send one conversation as Markdown or as JSON."""
    user = await request.auser()
    session = await in_database(own_session, user, session_id, "owner", "folder")
    return await in_database(download_of, user, session, kind)


@require_http_methods(["GET", "POST"])
async def export_many(request: SignedInRequest) -> HttpResponseBase:
    """Send one zip file: of the conversations `id` (POST, all when there is none), or of every conversation (GET)."""
    user = await request.auser()
    try:
        chosen = {uuid.UUID(value) for value in request.POST.getlist("id")}
    except ValueError:
        raise SuspiciousOperation("id is not a UUID") from None
    ids = await in_database(own_ids, user, chosen)
    await in_database(record, AuditKind.EXPORTED, actor=user, of="conversations", count=len(ids))
    return download(zipped(user, ids), f"{user.day()} conversations.zip", "zip")


def own_ids(user: User, chosen: set[uuid.UUID]) -> list[uuid.UUID]:
    """Return the ids of the person's conversations among `chosen`, in the order of the list, archived ones too."""
    written = ChatSession.objects.visible_to(user).written()
    if chosen:
        written = written.filter(pk__in=list(chosen)[: organise.REQUEST_MAX_SESSIONS])
    return list(written.values_list("pk", flat=True))


def zipped(user: User, ids: list[uuid.UUID]) -> Iterator[bytes]:
    """Yield a zip file with each conversation as Markdown and as JSON, dated by its last message."""
    return zipping.zipped(entries(user, ids))


def entries(user: User, ids: list[uuid.UUID]) -> Iterator[zipping.ZipEntry]:
    """Yield the files of the conversations."""
    for session_id in ids:
        try:
            session = own_session(user, session_id, "owner", "folder")
        except Http404:
            continue  # deleted meanwhile
        for kind, write in WRITERS.items():
            # The beginning of its id keeps apart what is called the same.
            name = exporting.file_name(session, kind).replace(f".{kind}", f" {str(session_id)[:8]}.{kind}")
            yield zipping.ZipEntry(name, (piece.encode() for piece in write(session)), user.local(session.active_at))
