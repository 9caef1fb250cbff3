"""Serve the files of libraries over the HTTP API: add, list, read, search and remove them, with the same permissions as
the pages."""

import datetime as dt

from django.conf import settings
from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from ninja import File, Query, Router, Schema
from ninja.files import UploadedFile
from ninja.responses import Status
from pydantic import Field

from chat.attachments.examine import FileRefusedError
from memory.access.rights import may_write
from memory.api.routes import SEARCH_MAX_RESULTS, SPACE_PARAMETER, readable_space
from memory.library import files, texts
from memory.library.download import download_of
from memory.library.search import FilePassage, search_files
from memory.models import FileVersion, LibraryFile
from memory.search.passage import QUERY_MAX_CHARS, RESULTS_SHOWN
from oneclaw.audit.holds import HeldError
from oneclaw.models import Space, User
from oneclaw.web.api import PAGE_DEFAULT_ROWS, PAGE_MAX_ROWS, ApiError, KeyedRequest, responses
from oneclaw.web.pagination import decode_cursor, encode_cursor
from oneclaw.web.rate_limit import searches

router = Router(tags=["library"])


class VersionOut(Schema):
    """A version of a file."""

    number: int
    state: str = Field(description="waiting, reading, ready or failed.")
    reason: str | None = Field(description="Why it could not be read; null unless it failed.")
    size: int = Field(description="Bytes.")
    sha256: str
    kind: str = Field(description="pdf, docx, odt, pptx, odp, xlsx, xlsb, xls, ods, html or text; empty until read.")
    pages: int = Field(description="Pages, slides or sheets; 0 without any, or until it is read.")
    pages_read: int
    lines: int
    is_cut: bool = Field(description="Whether it is so long that only its beginning is searched.")
    hidden_sheets: int = Field(description="Sheets that were left out because they are hidden.")
    added_at: dt.datetime

    @classmethod
    def of(cls, version: FileVersion) -> "VersionOut":
        return cls(
            number=version.number,
            state=version.state,
            reason=version.reason.in_english if version.reason else None,
            size=version.size,
            sha256=version.sha256,
            kind=version.kind,
            pages=version.pages,
            pages_read=version.pages_read,
            lines=version.lines,
            is_cut=version.is_cut,
            hidden_sheets=version.hidden_sheets,
            added_at=version.created_at,
        )


class LibraryFileOut(Schema):
    """A file of a library. Its newest version comes first; the newest one that is ready is searched."""

    id: int
    space: int
    name: str
    versions: list[VersionOut]

    @classmethod
    def of(cls, file: LibraryFile) -> "LibraryFileOut":
        versions = sorted(file.versions.all(), key=lambda version: -version.number)
        return cls(id=file.pk, space=file.space_id, name=file.name, versions=[VersionOut.of(each) for each in versions])


class LibraryFilesOut(Schema):
    items: list[LibraryFileOut]
    next: str | None = Field(default=None, description="The cursor of the next page; null on the last one.")


class FileTextOut(Schema):
    """Lines of a file, of one page if it has pages."""

    page: int = Field(description="0: the file has no pages.")
    start_line: int
    end_line: int
    total_lines: int
    text: str


class FilePassageOut(Schema):
    """A passage of a file that was found."""

    file: int
    space: int
    name: str
    page: int = Field(description="0: the file has no pages.")
    start_line: int
    end_line: int
    score: float
    text: str
    url: str = Field(description="The page on which its lines are highlighted.")

    @classmethod
    def of(cls, passage: FilePassage) -> "FilePassageOut":
        return cls(
            file=passage.file.pk,
            space=passage.file.space_id,
            name=passage.file.name,
            page=passage.page,
            start_line=passage.start_line,
            end_line=passage.end_line,
            score=passage.score,
            text=passage.text,
            url=passage.address,
        )


@router.get("/library/files", response=responses(LibraryFilesOut, 404, 422))
def library_file_list(
    request: KeyedRequest,
    space: int | None = SPACE_PARAMETER,
    cursor: str = "",
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> LibraryFilesOut:
    """Return the files of a library, ordered by name, with the state of their versions."""
    found = with_versions(request.auth).filter(space=readable_space(request.auth, space))
    if cursor:
        found = found.filter(name__gt=decode_cursor(cursor, str)[0])
    rows = list(found.order_by("name")[: limit + 1])
    more = encode_cursor(rows[limit - 1].name) if len(rows) > limit else None
    return LibraryFilesOut(items=[LibraryFileOut.of(file) for file in rows[:limit]], next=more)


@router.post("/library/files", response=responses(LibraryFileOut, 403, 404, 413, 422))
def add_library_file(
    request: KeyedRequest,
    file: File[UploadedFile],
    space: int | None = SPACE_PARAMETER,
) -> LibraryFileOut:
    """Add a file to a library, or a new version of the file with the same name. It is read in the background: ask for
    its state. The same bytes again change nothing, except that a failed version is read once more."""
    user = request.auth
    chosen = writable_space(user, space)
    try:
        if (file.size or 0) > settings.LIBRARY_LIMITS.file_max_bytes:
            raise files.too_large_error(file.name or "", file.size or 0)
        version = files.add(chosen, user, file.name or "", file.read())
    except FileRefusedError as refusal:
        raise ApiError(413 if refusal.code == "too_large" else 422, refusal.code, refusal.sentence) from refusal
    return LibraryFileOut.of(readable_file(user, version.file_id))


@router.get("/library/files/{file_id}", response=responses(LibraryFileOut, 404))
def library_file(request: KeyedRequest, file_id: int) -> LibraryFileOut:
    """Return a file with the state of its versions."""
    return LibraryFileOut.of(readable_file(request.auth, file_id))


@router.delete("/library/files/{file_id}", response=responses({204: None}, 403, 404, 409))
def remove_library_file(request: KeyedRequest, file_id: int) -> Status[None]:
    """Remove a file with all its versions. It cannot be brought back."""
    file = readable_file(request.auth, file_id)
    writable_space(request.auth, file.space_id)
    try:
        files.remove(file, request.auth)
    except HeldError as refusal:
        raise ApiError(409, "held", refusal.sentence) from refusal
    return Status(204, None)


@router.get("/library/files/{file_id}/content", response=responses({200: bytes}, 404))
def library_file_content(
    request: KeyedRequest, file_id: int, version: int | None = Query(None, ge=1, lt=2**31)
) -> HttpResponse:
    """Return the bytes of a file: of its newest version, or of the one with this number."""
    file = readable_file(request.auth, file_id)
    chosen = file.versions.all() if version is None else file.versions.filter(number=version)
    found = chosen.order_by("number").last()
    response = download_of(found) if found else None
    if response is None:
        raise ApiError(404, "not_found", "There is no such version.")
    return response


@router.get("/library/files/{file_id}/text", response=responses(FileTextOut, 404, 422))
def library_file_text(
    request: KeyedRequest,
    file_id: int,
    page: int = Query(1, ge=1, lt=2**31, description="The whole text is page 1 of a file without pages."),
) -> FileTextOut:
    """Return the text of a page, as the search reads it."""
    version = texts.searched_version(readable_file(request.auth, file_id))
    found = texts.page_text(version, page) if version else None
    if version is None or found is None:
        raise ApiError(404, "not_found", "There is no such page, or the file is not read yet.")
    return FileTextOut(
        page=found.page,
        start_line=found.first_line,
        end_line=found.last_line,
        total_lines=version.lines,
        text="\n".join(found.lines),
    )


@router.get("/library/search", response=responses(list[FilePassageOut], 404, 422))
def search_library(
    request: KeyedRequest,
    q: str = Query(max_length=QUERY_MAX_CHARS, description="In natural words and with names."),
    space: int | None = Query(None, ge=1, lt=2**62, description="Only this one; all of yours without it."),
    limit: int = Query(RESULTS_SHOWN, ge=1, le=SEARCH_MAX_RESULTS),
) -> list[FilePassageOut]:
    """Return the passages of files that match a query, the most confident first; none if the files have nothing about
    it."""
    user = request.auth
    searches.take(user.pk)
    spaces = [readable_space(user, space)] if space else list(Space.objects.visible_to(user))
    return [FilePassageOut.of(passage) for passage in search_files(spaces, q, user, limit)]


def with_versions(user: User) -> "QuerySet[LibraryFile]":
    """Return the files that `user` may read, with their versions."""
    return LibraryFile.objects.visible_to(user).prefetch_related(Prefetch("versions", FileVersion.objects.all()))


def readable_file(user: User, file_id: int) -> LibraryFile:
    """Return the file with its versions. Raise a 404 error for unreadable ones."""
    found = with_versions(user).filter(pk=file_id).first()
    if found is None:
        raise ApiError(404, "not_found", "There is no such file.")
    return found


def writable_space(user: User, space_id: int | None) -> Space:
    """Return the space. Raise a 404 error for unreadable ones, and 403 for a reader."""
    space = readable_space(user, space_id)
    if not may_write(user, space.pk):
        raise ApiError(403, "read_only", "You may read this space, and not change it.")
    return space
