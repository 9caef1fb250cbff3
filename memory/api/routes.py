"""Serve memory over the HTTP API: read, search and change documents, with the same permissions as the pages."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from ninja import Query, Router

from memory.access.rights import may_edit, may_write
from memory.access.sources import sources_of_person
from memory.api.shapes import (
    Addition,
    DocumentOut,
    DocumentsOut,
    DocumentWithText,
    PassageOut,
    Replacement,
    RevisionOut,
    RevisionsOut,
    SpaceOut,
)
from memory.documents import alternative, write
from memory.documents.write import Append, Author, Operation, Replace, Source
from memory.models import MemoryDocument, MemoryRevision
from memory.policy.paths import CURATED, BadPathError, checked_path
from memory.search.manager import HybridSearchManager
from memory.search.passage import QUERY_MAX_CHARS, RESULTS_SHOWN
from oneclaw.locks import hold
from oneclaw.models import Space, SpaceMember, SpaceRole, User
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError
from oneclaw.web.api import PAGE_DEFAULT_ROWS, PAGE_MAX_ROWS, ApiError, KeyedRequest, responses
from oneclaw.web.pagination import decode_cursor, encode_cursor
from oneclaw.web.rate_limit import searching

router = Router(tags=["memory"])

SEARCH_MAX_RESULTS = 60
SPACE_PARAMETER = Query(None, ge=1, lt=2**62, description="One of /memory/spaces; your own without it.")
# The prefix of the idempotency key of a change with a client_id.
OPERATION_KEY_PREFIX = "api:{user}:{client_id}:"


@router.get("/memory/spaces", response=responses(list[SpaceOut]))
def memory_space_list(request: KeyedRequest) -> list[SpaceOut]:
    """Return the spaces whose memory you may read: your own first, then those that you are a member of."""
    own = Space.objects.own_of(request.auth)
    roles = SpaceRole.objects.filter(user=request.auth).select_related("space").order_by("space")
    found = sorted(roles, key=lambda role: role.space_id != own.pk)
    return [
        SpaceOut(
            id=role.space_id,
            name=role.space.name,
            kind=role.space.kind,
            may_write=role.role in SpaceMember.WRITERS,
        )
        for role in found
    ]


@router.get("/memory/documents", response=responses(DocumentsOut, 404, 422))
def document_list(
    request: KeyedRequest,
    space: int | None = SPACE_PARAMETER,
    cursor: str = "",
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> DocumentsOut:
    """Return the documents of a space, ordered by path."""
    found = MemoryDocument.objects.present().filter(space=readable_space(request.auth, space)).defer("content")
    if cursor:
        found = found.filter(path__gt=decode_cursor(cursor, checked_path)[0])
    rows = list(found.order_by("path")[: limit + 1])
    more = encode_cursor(rows[limit - 1].path) if len(rows) > limit else None
    return DocumentsOut(items=[DocumentOut.of(document) for document in rows[:limit]], next=more)


@router.get("/memory/documents/{path:path}/revisions", response=responses(RevisionsOut, 404, 422))
def revision_list(
    request: KeyedRequest,
    path: str,
    space: int | None = SPACE_PARAMETER,
    cursor: str = "",
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> RevisionsOut:
    """Return every change of a document, newest first."""
    found = write.history(readable_document(readable_space(request.auth, space), path))
    if cursor:
        found = found.filter(number__lt=decode_cursor(cursor, int)[0])
    rows = list(found[: limit + 1])
    more = encode_cursor(rows[limit - 1].number) if len(rows) > limit else None
    return RevisionsOut(items=[RevisionOut.of(revision) for revision in rows[:limit]], next=more)


@router.get("/memory/documents/{path:path}", response=responses(DocumentWithText, 404, 422))
def document(request: KeyedRequest, path: str, space: int | None = SPACE_PARAMETER) -> DocumentWithText:
    """Return a document as it is now."""
    return DocumentWithText.whole(readable_document(readable_space(request.auth, space), path))


@router.put("/memory/documents/{path:path}", response=responses(DocumentWithText, 403, 404, 409, 413, 422))
def replace_document(
    request: KeyedRequest, path: str, replacement: Replacement, space: int | None = SPACE_PARAMETER
) -> DocumentWithText:
    """Write the whole text of a document, or a new one. 409, with the present `version`, when it was changed since
    `base_version`. Forgotten lines are left out: read the text that comes back."""
    user, change = request.auth, Replace(replacement.text, replacement.base_version)
    try:
        return apply_change(user, space, path, change, Author(Source.API, user, reason=Reason("change.api_written")))
    except ApiError as refusal:
        # A retry whose first answer was lost: the document already has this text.
        current = readable_document(readable_space(user, space), path) if refusal.code == "conflict" else None
        if current is None or current.content != replacement.text:
            raise
        return DocumentWithText.whole(current)


@router.post("/memory/documents/{path:path}", response=responses(DocumentWithText, 403, 404, 409, 413, 422))
@transaction.atomic
def append_to_document(
    request: KeyedRequest, path: str, addition: Addition, space: int | None = SPACE_PARAMETER
) -> DocumentWithText:
    """Add text at the end of a document, or create one with it."""
    user, key = request.auth, None
    if addition.client_id is not None:
        of_client = OPERATION_KEY_PREFIX.format(user=user.pk, client_id=addition.client_id)
        key = of_client + hashlib.sha256(f"{path}\0{addition.text}".encode()).hexdigest()[:32]
        # Concurrent requests with the same client_id wait here for the first one.
        hold(of_client)
        done = MemoryRevision.objects.filter(operation_key__startswith=of_client)
        if done.exclude(space=readable_space(user, space), operation_key=key).exists():
            raise ApiError(409, "conflict", "This client_id was already used for another text or another document.")
    author = Author(Source.API, user, reason=Reason("change.api_added"), operation_key=key)
    return apply_change(user, space, path, Append(addition.text), author)


@router.get("/memory/search", response=responses(list[PassageOut], 404, 422))
def search(
    request: KeyedRequest,
    q: str = Query(max_length=QUERY_MAX_CHARS, description="In natural words and with names.", examples=["green tea"]),
    space: int | None = Query(None, ge=1, lt=2**62, description="Only this one; all of yours without it."),
    limit: int = Query(RESULTS_SHOWN, ge=1, le=SEARCH_MAX_RESULTS),
) -> list[PassageOut]:
    """Return the passages that match a query, the most confident first. What you have switched off is not searched."""
    user = request.auth
    spaces = [readable_space(user, space)] if space else list(Space.objects.visible_to(user))
    with searching(user.pk):
        passages = HybridSearchManager(spaces, sources_of_person(user, in_program=True)).search(
            q, max_results=limit, today=user.day()
        )
    found_in = dict(
        MemoryDocument.objects.filter(pk__in=[passage.document_id for passage in passages]).values_list("pk", "space")
    )
    return [PassageOut.of(passage, found_in) for passage in passages]


def readable_space(user: User, space_id: int | None) -> Space:
    """Return the space with this id, or the own space of `user` for None. Raise a 404 error for unreadable spaces."""
    if space_id is None:
        return Space.objects.own_of(user)
    space = Space.objects.visible_to(user).filter(pk=space_id).first()
    if space is None:
        raise ApiError(404, "not_found", "There is no such space.")
    return space


def readable_document(space: Space, path: str) -> MemoryDocument:
    """Return the document at `path` in `space`. Raise a 404 error without one, and 422 for a bad path."""
    with errors_as_answers():
        found = space.documents.present().filter(path=checked_path(path)).first()
    if found is None:
        raise ApiError(404, "not_found", f"There is no document {path} here.")
    return found


def apply_change(user: User, space_id: int | None, path: str, change: Operation, author: Author) -> DocumentWithText:
    """Apply `change` and return the document after it. Raise a 403 error unless `user` may write the space."""
    space = readable_space(user, space_id)
    if not may_edit(user, space, path):
        if may_write(user, space.pk):
            raise ApiError(403, "second_person_needed", "Propose it: another owner or editor has to approve this.")
        raise ApiError(403, "read_only", "You may read this space, and not change it.")
    with errors_as_answers():
        if path == CURATED and isinstance(change, Append):
            alternative.take_over(space, user)
        write.apply(space, path, change, author)
    return DocumentWithText.whole(readable_document(space, path))


@contextmanager
def errors_as_answers() -> Iterator[None]:
    """Turn errors of the write path into HTTP errors with the same sentence."""
    try:
        yield
    except write.StaleVersionError as error:
        raise ApiError(409, "conflict", str(error), version=error.named["version"]) from error
    except write.DocumentTooLargeError as error:
        raise ApiError(413, "too_large", str(error)) from error
    except InvalidTextError as error:
        raise ApiError(422, error.code, error.sentence) from error
    except BadPathError as error:
        raise ApiError(422, "bad_path", str(error)) from error
