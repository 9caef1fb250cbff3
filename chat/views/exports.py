"""Downloads of conversations, sent while they are written: fetch, call one thing, stream."""

import io
import uuid
import zipfile
from collections.abc import Iterator

from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpResponseBase
from django.views.decorators.http import require_GET, require_http_methods

from chat.library import organise
from chat.models import ChatSession
from chat.transfer import export as exporting
from chat.transfer.downloads import WRITERS, download, download_of
from chat.views.own import own_session
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.threads import in_database


@require_GET
async def export(request: SignedInRequest, session_id: uuid.UUID, kind: str) -> HttpResponseBase:
    """Send one conversation as Markdown or as JSON."""
    session = await in_database(own_session, await request.auser(), session_id, "owner", "folder")
    await in_database(record, AuditKind.EXPORTED, actor=session.owner, of="conversation", session=str(session.pk))
    return download_of(session, kind)


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


class Outgoing(io.RawIOBase):
    """The output of a zip file that is sent while it is written: it does not keep what was sent and cannot seek."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        self._waiting += memoryview(data)  # type: ignore[arg-type]
        return len(memoryview(data))  # type: ignore[arg-type]

    def taken(self) -> bytes:
        part = bytes(self._waiting)
        self._waiting.clear()
        return part


def zipped(user: User, ids: list[uuid.UUID]) -> Iterator[bytes]:
    """Yield a zip file with each conversation as Markdown and as JSON, dated by its last message."""
    outgoing = Outgoing()
    with zipfile.ZipFile(outgoing, "w", zipfile.ZIP_DEFLATED) as archive:
        for session_id in ids:
            try:
                session = own_session(user, session_id, "owner", "folder")
            except Http404:
                continue  # deleted meanwhile
            for kind, write in WRITERS.items():
                # The beginning of its id keeps apart what is called the same.
                name = exporting.file_name(session, kind).replace(f".{kind}", f" {str(session_id)[:8]}.{kind}")
                about = zipfile.ZipInfo(name, user.local(session.active_at).timetuple()[:6])
                about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
                with archive.open(about, "w") as entry:
                    for piece in write(session):
                        entry.write(piece.encode())
                        if part := outgoing.taken():
                            yield part
    yield outgoing.taken()
