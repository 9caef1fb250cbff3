"""Search memory and the files of libraries for the palette: lines that hold every word, without embeddings."""

from typing import TypeVar

from django.db.models import Case, Model, QuerySet, Value, When
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from chat.extensions import Extension, SearchResult
from chat.library.excerpts import excerpt
from memory.library.search import page_address
from memory.models import FileChunk, LibraryFile, MemoryChunk, MemoryDocument
from memory.policy.paths import CURATED
from oneclaw.models import Space, User
from oneclaw.words import contains

# Documents that are searched: curated memory first, then the newest.
SEARCHED_MAX_DOCUMENTS = 1000
# Files whose text is searched, the newest; the names of all are. A long file has hundreds of chunks.
SEARCHED_MAX_FILES = 100
# Results that are files with such a name.
NAMES_MAX_RESULTS = 2

Row = TypeVar("Row", bound=Model)


def search(user: User, words: list[str], most: int) -> list[SearchResult]:
    """Return at most `most` lines that contain each of `words` as the start of a word, from documents of `user`.

    Curated memory comes first, then the documents that were changed last. This takes one query and no model call.
    """
    searched = MemoryDocument.objects.visible_to(user).present().order_by(curated_first(), "-updated_at")
    lines = with_words(MemoryChunk.objects.filter(document__in=searched.values("pk")[:SEARCHED_MAX_DOCUMENTS]), words)
    found = lines.select_related("document__space").order_by(
        curated_first("document__"), "-document__updated_at", "ordinal"
    )
    return [
        SearchResult(
            name_in(line.document.space, line.document.path),
            excerpt(line.text, words),
            f"{reverse('memory_document', args=[line.document_id])}#line-{line.start_line}",
        )
        for line in found.only(
            "start_line", "text", "document__path", "document__space__name", "document__space__kind"
        )[:most]
    ]


def search_files(user: User, words: list[str], most: int) -> list[SearchResult]:
    """Return at most `most` results of the libraries of `user`: files whose name contains each of `words`, and the
    lines of files that contain each as the start of a word, those of the newest files first. Two queries."""
    own = LibraryFile.objects.visible_to(user)
    named = own.select_related("space").order_by("-pk")
    named = named.filter(*(contains("name", word) for word in words))
    results = [
        SearchResult(name_in(file.space, file.name), SafeString(), reverse("library_file", args=[file.pk]))
        for file in named[:NAMES_MAX_RESULTS]
    ]
    searched = own.order_by("-pk").values("pk")[:SEARCHED_MAX_FILES]
    lines = with_words(FileChunk.objects.filter(file__in=searched), words).order_by("-file", "ordinal")
    for line in lines.select_related("file__space", "file__index__version")[: most - len(results)]:
        page = line.page if line.file.index.version.pages else 0
        name = _("%(name)s, page %(page)d") % {"name": line.file.name, "page": page} if page else line.file.name
        address = page_address(line.file_id, page, line.start_line, line.end_line)
        snippet = excerpt(line.text, words, is_markdown=False)
        results.append(SearchResult(name_in(line.file.space, name), snippet, address))
    return results


def with_words(lines: "QuerySet[Row]", words: list[str]) -> "QuerySet[Row]":
    """Return those of `lines` whose text contains each of `words`."""
    return lines.filter(*(contains("text", word) for word in words))


def name_in(space: Space, name: str) -> str:
    """Return the name of a document or file, with that of its space before it if that is a shared one."""
    return name if space.is_private else f"{space.name}: {name}"


def curated_first(prefix: str = "") -> Case:
    """Return an expression that sorts curated memory before everything else."""
    return Case(When(**{f"{prefix}path": CURATED}, then=Value(0)), default=Value(1))


DOCUMENTS = Extension("documents", search=search_files)
