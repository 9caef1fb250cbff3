"""Downloads of conversations, sent while they are written."""

from collections.abc import Iterator

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

from chat.models import ChatSession
from chat.transfer import export
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User
from oneclaw.zipping import streamed

WRITERS = {"md": export.as_markdown, "json": export.as_json}
TYPES = {"md": "text/markdown; charset=utf-8", "json": "application/json", "zip": "application/zip"}


def download_of(user: User, session: ChatSession, kind: str) -> HttpResponse | StreamingHttpResponse:
    """Return the download by `user` of `session`, whose owner, agent and folder are loaded, as `kind`, a key of
    WRITERS, and record it."""
    record(AuditKind.EXPORTED, actor=user, person=session.owner, of="conversation", session=str(session.pk))
    pieces = (piece.encode() for piece in WRITERS[kind](session))
    return download(pieces, export.file_name(session, kind), kind)


def download(pieces: Iterator[bytes], name: str, kind: str) -> HttpResponse | StreamingHttpResponse:
    response = StreamingHttpResponse(streamed(pieces), content_type=TYPES[kind])
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response
