"""Downloads of conversations, sent while they are written: fetch, call one thing, stream."""

import io
import uuid
import zipfile
from collections.abc import AsyncIterator, Iterator

from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_http_methods

from chat.library import organise
from chat.models import ChatSession
from chat.transfer import export as exporting
from chat.views.own import own_session
from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest
from oneclaw.threads import in_database

WRITERS = {"md": exporting.as_markdown, "json": exporting.as_json}
TYPES = {"md": "text/markdown; charset=utf-8", "json": "application/json", "zip": "application/zip"}
# Bytes that are sent at once, about.
CHUNK_BYTES = 64 * 1024


@require_GET
async def export(request: SignedInRequest, session_id: uuid.UUID, kind: str) -> HttpResponseBase:
    """Send one conversation as Markdown or as JSON."""
    session = await in_database(own_session, await request.auser(), session_id, "owner", "folder")
    pieces = (piece.encode() for piece in WRITERS[kind](session))
    return download(pieces, exporting.file_name(session, kind), kind)


@require_http_methods(["GET", "POST"])
async def export_many(request: SignedInRequest) -> HttpResponseBase:
    """Send one zip file: of the conversations `id` (POST, all when there is none), or of every conversation (GET)."""
    user = await request.auser()
    try:
        chosen = {uuid.UUID(value) for value in request.POST.getlist("id")}
    except ValueError:
        raise SuspiciousOperation("id is not a UUID") from None
    ids = await in_database(own_ids, user, chosen)
    return download(zipped(user, ids), f"{user.day()} conversations.zip", "zip")


def own_ids(user: User, chosen: set[uuid.UUID]) -> list[uuid.UUID]:
    """Return the ids of the person's conversations among `chosen`, in the order of the list, archived ones too."""
    written = ChatSession.objects.visible_to(user).written()
    if chosen:
        written = written.filter(pk__in=list(chosen)[: organise.REQUEST_MAX_SESSIONS])
    return list(written.values_list("pk", flat=True))


def download(pieces: Iterator[bytes], name: str, kind: str) -> HttpResponse | StreamingHttpResponse:
    response = StreamingHttpResponse(streamed(pieces), content_type=TYPES[kind])
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


async def streamed(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield `pieces`, each made in the database thread, and only when the browser has taken those before it."""
    while part := await in_database(next_chunk, pieces):
        yield part


def next_chunk(pieces: Iterator[bytes]) -> bytes:
    """Return the next pieces together; b"" at the end."""
    parts, size = [], 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            break
    return b"".join(parts)


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
