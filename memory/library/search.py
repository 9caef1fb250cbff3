"""Search the files of libraries: passages with file, page and lines."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.access.sources import Sources
from memory.models import LibraryFile
from memory.search.manager import HybridSearchManager
from memory.search.statements import OF_LIBRARIES
from oneclaw.models import Space, User


@dataclass(frozen=True)
class FilePassage:
    """A passage of a file: unchanged lines of one page. `page` is 0 for a file without pages."""

    file: LibraryFile
    page: int
    start_line: int
    end_line: int
    text: str
    heading: str
    score: float
    # The day that its heading or the name of the file says.
    day: dt.date | None = None

    @property
    def source(self) -> str:
        """Return the name of the file, with its page, for a person."""
        if not self.page:
            return self.file.name
        return _("%(name)s, page %(page)d") % {"name": self.file.name, "page": self.page}

    @property
    def address(self) -> str:
        """Return the URL of its page in the file, with its lines highlighted."""
        return page_address(self.file.pk, self.page, self.start_line, self.end_line)


def page_address(file_id: int, page: int, first: int = 0, last: int = 0) -> str:
    """Return the URL of a page of a file (0: it has none), with the lines `first` to `last` highlighted."""
    query = ({"page": page} if page else {}) | ({"lines": f"{first}-{last}"} if first else {})
    return reverse("library_file", args=[file_id], query=query) + (f"#line-{first}" if first else "")


def manager_of_files(spaces: Iterable[Space], user: User) -> HybridSearchManager:
    """Return the search of the files of `spaces`; what `user` has said about passages counts."""
    return HybridSearchManager(spaces, Sources(asked_by=user), OF_LIBRARIES, settings.LIBRARY_LIMITS.floor)


def search_files(
    spaces: Iterable[Space],
    query: str,
    user: User,
    max_results: int | None = None,
    min_score: float | None = None,
    manager: HybridSearchManager | None = None,
) -> list[FilePassage]:
    """Return the passages of files of `spaces` for `query`, best first; none unless they have anything about it. What
    `user` has said about passages counts.

    The caller has checked that `user` may read the spaces.
    """
    manager = manager or manager_of_files(spaces, user)
    found = manager.search(query, max_results, min_score, user.day())
    files = (
        LibraryFile.objects.visible_to(user)
        .select_related("index__version", "space")
        .in_bulk({passage.document_id for passage in found})
    )
    return [
        FilePassage(
            files[passage.document_id],
            passage.page if files[passage.document_id].index.version.pages else 0,
            passage.start_line,
            passage.end_line,
            passage.snippet,
            passage.heading,
            passage.score,
            passage.day,
        )
        for passage in found
        # A file that was removed in between is not shown.
        if passage.document_id in files
    ]
