"""Serve the pages of a library: its files with their states, a search in them, and one file with its text."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_safe

from chat.attachments.accept import accepted
from chat.library.excerpts import marked
from memory.access.rights import may_write
from memory.library import texts
from memory.library.download import download_of
from memory.library.extract import READ_KINDS
from memory.library.retention import days_kept
from memory.library.search import FilePassage, page_address, search_files
from memory.library.texts import FileText
from memory.models import FileVersion, LibraryFile
from memory.search.passage import QUERY_MAX_CHARS, RESULTS_SHOWN
from memory.views.forgetting import parsed_number
from oneclaw.models import Space, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.web.rate_limit import TooManyRequestsError, searches
from oneclaw.words import pieces_of

# Files on a page of the list, and lines on a page of a file that has no pages of its own.
PAGE_MAX_FILES, SHOWN_MAX_LINES = 100, 300
# Lines before the one that an address names.
CONTEXT_LINES = 20


@dataclass(frozen=True)
class ShownFile:
    """A file in the list: its newest version, and whether an older one is searched meanwhile."""

    file: LibraryFile
    newest: FileVersion
    has_older: bool


@dataclass(frozen=True)
class ShownHit:
    """A passage that was found, with the words of the question marked."""

    passage: FilePassage
    html: SafeString


@require_GET
def library_page(request: SignedInRequest) -> HttpResponse:
    """Show the files of a library, and what is found in them; the list alone to htmx."""
    space = chosen_space(request)
    context = list_context(request, space)
    if request.htmx:
        return render(request, "memory/library/_files.html", context)
    query = request.GET.get("q", "")[:QUERY_MAX_CHARS]
    context |= {
        "query": query,
        "spaces": Space.objects.visible_to(request.user).exclude(kind=Space.Kind.AGENT).order_by("pk"),
        "most_bytes": settings.LIBRARY_LIMITS.file_max_bytes,
        "accept": accepted(READ_KINDS),
        "days_kept": days_kept(space),
    }
    if query.strip():
        context |= found_context(request.user, space, query)
    return render(request, "memory/library/library.html", context, status=429 if "refusal" in context else 200)


@require_GET
def file_page(request: SignedInRequest, file_id: int) -> HttpResponse:
    """Show a file: a page of its text, with the lines highlighted that the address names, and its versions."""
    file = get_object_or_404(LibraryFile.objects.visible_to(request.user).select_related("space"), pk=file_id)
    versions = list(file.versions.select_related("owner").order_by("-number"))
    version = texts.searched_version(file)
    context: dict[str, Any] = {
        "file": file,
        "space": file.space,
        "versions": versions,
        "newest": versions[0],
        "version": version,
        "may_write": may_write(request.user, file.space_id),
    }
    if version is not None:
        context |= text_context(request, version)
    return render(request, "memory/library/file.html", context)


@require_safe
def download(request: SignedInRequest, file_id: int, number: int) -> HttpResponse:
    """Send the bytes of a version."""
    found = FileVersion.objects.visible_to(request.user).select_related("file").filter(file=file_id, number=number)
    version = found.first()
    response = download_of(version) if version else None
    if response is None:
        raise Http404
    return response


def chosen_space(request: SignedInRequest) -> Space:
    """Return the space that the address names (`?space=`), the person's own without one. Raise Http404 for another's,
    and for the memory of an agent, which has no library."""
    if not (named := request.GET.get("space") or request.POST.get("space")):
        return Space.objects.own_of(request.user)
    readable = Space.objects.visible_to(request.user).exclude(kind=Space.Kind.AGENT)
    return get_object_or_404(readable, pk=parsed_number(named) or 0)


def list_context(request: SignedInRequest, space: Space) -> dict[str, Any]:
    """Return what the list of files shows."""
    rows = LibraryFile.objects.visible_to(request.user).filter(space=space).order_by("name")
    page = Paginator(rows.prefetch_related(versions_newest_first()), PAGE_MAX_FILES).get_page(request.GET.get("page"))
    shown = [shown_file(file) for file in page]
    return {
        "space": space,
        "page": page,
        "files": shown,
        "is_reading": any(each.newest.is_open for each in shown),
        "may_write": may_write(request.user, space.pk),
    }


def versions_newest_first() -> "Prefetch[str, QuerySet[FileVersion]]":
    """Return the prefetch of the versions of files, newest first."""
    return Prefetch("versions", FileVersion.objects.order_by("-number"))


def shown_file(file: LibraryFile) -> ShownFile:
    """Return `file`, whose versions are prefetched newest first, as the list shows it."""
    newest, *older = file.versions.all()
    has_older = newest.status != FileVersion.Status.DONE and any(each.status == "done" for each in older)
    return ShownFile(file, newest, has_older)


def found_context(user: User, space: Space, query: str) -> dict[str, Any]:
    """Return what the library has for `query`, or why it was not searched."""
    try:
        searches.take(user.pk)
    except TooManyRequestsError as refusal:
        return {"refusal": refusal.sentence}
    words = pieces_of(query)
    found = search_files([space], query, user, RESULTS_SHOWN)
    return {"results": [ShownHit(passage, marked(passage.text, words)) for passage in found]}


def text_context(request: SignedInRequest, version: FileVersion) -> dict[str, Any]:
    """Return the text of the page, or of the lines, that the address names, and the addresses of the next ones."""
    first, last = named_lines(request.GET.get("lines", ""))
    if version.pages:
        number = parsed_number(request.GET.get("page")) or (texts.page_of_line(version, first) if first else 1)
        shown = texts.page_text(version, number)
        if shown is None:
            raise Http404
        before, after = number - 1, number + 1 if number < version.pages_read else 0
        addresses = {
            name: page_address(version.file_id, at) if at else "" for name, at in (("before", before), ("after", after))
        }
    else:
        start = parsed_number(request.GET.get("from")) or max(1, first - CONTEXT_LINES)
        shown = texts.lines_from(version, start, SHOWN_MAX_LINES)
        addresses = {
            "before": f"?from={max(1, start - SHOWN_MAX_LINES)}" if start > 1 else "",
            "after": f"?from={shown.last_line + 1}" if shown.last_line < version.lines else "",
        }
    return {"text": shown, "lines": numbered(shown, first, last), **addresses}


def numbered(shown: FileText, first: int, last: int) -> list[tuple[int, str, bool]]:
    """Return (number, line, whether it is among `first` to `last`) for each line of `shown` that is not blank."""
    lines = enumerate(shown.lines, shown.first_line)
    return [(number, line, first <= number <= last) for number, line in lines if line.strip()]


def named_lines(value: str) -> tuple[int, int]:
    """Return the lines that `value` names, such as "3-5"; (0, 0) without any."""
    first, _, last = value.partition("-")
    start = parsed_number(first) or 0
    return start, parsed_number(last) or start
