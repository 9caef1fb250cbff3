"""Serve memory over the HTTP API: read, search and change documents, with the same permissions as the pages."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet
from ninja import Query, Router
from ninja.responses import Status

from memory.access.programs import ProgramAccess
from memory.access.rights import may_edit, may_write
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
    WaitingOut,
)
from memory.documents import alternative, write
from memory.documents.write import Append, Author, Operation, Replace, Source
from memory.models import MemoryDocument, MemoryRevision
from memory.policy.paths import CURATED, BadPathError, checked_path
from memory.policy.tombstones import LineForgottenError
from memory.provenance.programs import keep_read
from memory.search.manager import HybridSearchManager
from memory.search.passage import QUERY_MAX_CHARS, RESULTS_SHOWN
from memory.tools import programs, proposals
from oneclaw.locks import hold
from oneclaw.models import Space, SpaceMember, SpaceRole, User
from oneclaw.people.programs.grants import Level
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError
from oneclaw.web.api import LIMITED, PAGE_DEFAULT_ROWS, PAGE_MAX_ROWS, ApiError, Key, KeyedRequest, responses
from oneclaw.web.pagination import decode_cursor, encode_cursor
from oneclaw.web.rate_limit import searching

router = Router(tags=["memory"])

SEARCH_MAX_RESULTS = 60
SPACE_PARAMETER = Query(None, ge=1, lt=2**62, description="One of /memory/spaces; your own without it.")
# The prefix of the idempotency key of a change with a client_id.
OPERATION_KEY_PREFIX = "api:{user}:{client_id}:"


# Operations that a key for memory alone opens, too: they ask its grant.
FOR_GRANTS = Key(for_grants=True)


@router.get("/memory/spaces", response=responses(list[SpaceOut]), auth=FOR_GRANTS)
def memory_space_list(request: KeyedRequest) -> list[SpaceOut]:
    """Return the spaces whose memory you may read: your own first, then those that you are a member of."""
    own = Space.objects.own_of(request.auth)
    levels = ProgramAccess.of(request.grant).levels
    may_write = {space.pk for space, level in levels.items() if request.grant.is_whole or level == Level.WRITE}
    roles = SpaceRole.objects.filter(user=request.auth).select_related("space").order_by("space")
    found = sorted(roles, key=lambda role: role.space_id != own.pk)
    return [
        SpaceOut(
            id=role.space_id,
            name=role.space.name,
            kind=role.space.kind,
            may_write=role.role in SpaceMember.WRITERS and role.space_id in may_write,
        )
        for role in found
        if role.space in levels
    ]


@router.get("/memory/documents", response=responses(DocumentsOut, 403, 404, 422), auth=FOR_GRANTS)
def document_list(
    request: KeyedRequest,
    space: int | None = SPACE_PARAMETER,
    cursor: str = "",
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> DocumentsOut:
    """Return the documents of a space, ordered by path."""
    found = granted_documents(request).filter(space=granted_space(request, space)).defer("content")
    if cursor:
        found = found.filter(path__gt=decode_cursor(cursor, checked_path)[0])
    rows = list(found.order_by("path")[: limit + 1])
    more = encode_cursor(rows[limit - 1].path) if len(rows) > limit else None
    return DocumentsOut(items=[DocumentOut.of(document) for document in rows[:limit]], next=more)


@router.get("/memory/documents/{path:path}/revisions", response=responses(RevisionsOut, 403, 404, 422), auth=FOR_GRANTS)
def revision_list(
    request: KeyedRequest,
    path: str,
    space: int | None = SPACE_PARAMETER,
    cursor: str = "",
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> RevisionsOut:
    """Return every change of a document, newest first."""
    found = write.history(granted_document(request, space, path))
    if cursor:
        found = found.filter(number__lt=decode_cursor(cursor, int)[0])
    rows = list(found[: limit + 1])
    more = encode_cursor(rows[limit - 1].number) if len(rows) > limit else None
    return RevisionsOut(items=[RevisionOut.of(revision) for revision in rows[:limit]], next=more)


@router.get("/memory/documents/{path:path}", response=responses(DocumentWithText, 403, 404, 422), auth=FOR_GRANTS)
def document(request: KeyedRequest, path: str, space: int | None = SPACE_PARAMETER) -> DocumentWithText:
    """Return a document as it is now."""
    found = granted_document(request, space, path)
    if not request.grant.is_whole:
        keep_read(request.grant.key, [(found, found.content.split("\n"))])
    return DocumentWithText.whole(found)


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


@router.post(
    "/memory/documents/{path:path}",
    response=responses({200: DocumentWithText, 202: WaitingOut}, 403, 404, 409, 413, 422),
    auth=FOR_GRANTS,
)
@transaction.atomic
def append_to_document(
    request: KeyedRequest, path: str, addition: Addition, space: int | None = SPACE_PARAMETER
) -> DocumentWithText | Status[WaitingOut]:
    """Add text at the end of a document, or create one with it. What a key for memory alone adds to MEMORY.md waits for
    a yes (202), unless it may save without asking; it adds to no other document then."""
    user, key = request.auth, None
    if not request.grant.is_whole:
        return saved_by_program(request, path, addition, space)
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


@router.get("/memory/search", response=responses(list[PassageOut], 403, 404, 422), auth=FOR_GRANTS)
def search(
    request: KeyedRequest,
    q: str = Query(max_length=QUERY_MAX_CHARS, description="In natural words and with names.", examples=["green tea"]),
    space: int | None = Query(None, ge=1, lt=2**62, description="Only this one; all of yours without it."),
    limit: int = Query(RESULTS_SHOWN, ge=1, le=SEARCH_MAX_RESULTS),
) -> list[PassageOut]:
    """Return the passages that match a query, the most confident first. What you have switched off is not searched."""
    user, access = request.auth, ProgramAccess.of(request.grant)
    spaces = [granted_space(request, space)] if space else access.spaces
    with searching(user.pk):
        passages = HybridSearchManager(spaces, access.sources(spaces)).search(q, max_results=limit, today=user.day())
    documents = MemoryDocument.objects.in_bulk([each.document_id for each in passages if each.document_id])
    if not request.grant.is_whole:
        read = [(documents[each.document_id], each.snippet.split("\n")) for each in passages if each.document_id]
        keep_read(request.grant.key, read)
    found_in = {pk: row.space_id for pk, row in documents.items()}
    return [PassageOut.of(passage, found_in) for passage in passages]


def readable_space(user: User, space_id: int | None) -> Space:
    """Return the space with this id, or the own space of `user` for None. Raise a 404 error for unreadable spaces."""
    if space_id is None:
        return Space.objects.own_of(user)
    space = Space.objects.visible_to(user).filter(pk=space_id).first()
    if space is None:
        raise ApiError(404, "not_found", "There is no such space.")
    return space


def granted_space(request: KeyedRequest, space_id: int | None) -> Space:
    """Return the space with this id, or the own one for None, if the key may read it. Raise a 404 error otherwise."""
    space = readable_space(request.auth, space_id)
    if not request.grant.is_whole and request.grant.level_in(space) is None:
        raise ApiError(404, "not_found", "There is no such space.")
    return space


def granted_documents(request: KeyedRequest) -> QuerySet[MemoryDocument]:
    """Return the documents that the key may read."""
    whole = MemoryDocument.objects.present().filter(space__roles__user=request.auth)
    return whole if request.grant.is_whole else ProgramAccess.of(request.grant).documents


def granted_document(request: KeyedRequest, space_id: int | None, path: str) -> MemoryDocument:
    """Return the document at `path` if the key may read it. Raise a 404 error without one, and 422 for a bad path."""
    found = readable_document(granted_space(request, space_id), path)
    if not granted_documents(request).filter(pk=found.pk).exists():
        raise ApiError(404, "not_found", f"There is no document {path} here.")
    return found


def saved_by_program(
    request: KeyedRequest, path: str, addition: Addition, space_id: int | None
) -> DocumentWithText | Status[WaitingOut]:
    """Save what a key for memory alone adds to MEMORY.md, as its grant says. Raise ScopeError or ApiError."""
    access, space = ProgramAccess.of(request.grant), granted_space(request, space_id)
    if path != CURATED:
        raise ApiError(403, "scope_needed", LIMITED)
    try:
        with errors_as_answers():
            outcome = programs.save(access, space, addition.text, str(addition.client_id or ""))
    except LineForgottenError as error:
        raise ApiError(409, "forgotten", str(error)) from error
    except (programs.BadContentError, proposals.ProposalError) as error:
        raise ApiError(422, "invalid", str(error)) from error
    except programs.RequestIdUsedError as error:
        raise ApiError(409, "conflict", str(error)) from error
    if outcome.state in ("waiting", "proposed", "declined"):
        return Status(202, WaitingOut(state=outcome.state, masked=list(outcome.masked)))
    return DocumentWithText.whole(readable_document(space, path))


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
