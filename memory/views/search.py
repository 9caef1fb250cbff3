"""Serve the search in a person's memory and documents: as they type, by kind, day and space."""

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.dateparse import parse_date
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from chat.library.excerpts import marked
from memory.access.load import HAS_FILES
from memory.access.sources import sources_of_person
from memory.index.vectors import notice
from memory.library.search import FilePassage, search_files
from memory.models import MemoryDocument
from memory.notes.coverage import DAILY_LOG_PATH
from memory.policy.paths import CURATED
from memory.search.likely import likely_floor
from memory.search.manager import HybridSearchManager
from memory.search.passage import QUERY_MAX_CHARS, RESULTS_SHOWN, Passage
from memory.search.typos import corrected
from memory.tools.reading import shared_spaces_of
from memory.views.forgetting import parsed_number
from oneclaw.models import Space, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.web.rate_limit import TooManyRequestsError, searching
from oneclaw.words import pieces_of

KINDS = {
    "saved": _("Saved"),
    "notes": _("Notes of days"),
    "conversations": _("Conversations"),
    "files": _("Other files"),
    "documents": _("Documents"),
}
# Of filtered results, more are searched, because the filter takes some away.
FILTERED_FACTOR = 5
# A result of MEMORY.md comes before others whose score is higher by less than this.
CURATED_LEAD_SCORE = 0.05
# What Markdown adds at the beginning of a line, and around words.
MARKUP = re.compile(r"^[^\S\n]*(?:[-*+•>]\s+|#{1,6}\s+|\d{1,3}[.)]\s+)+|\*\*|__|`", re.M)


@dataclass(frozen=True)
class Filters:
    """What a search is limited to; None or empty: everything."""

    kind: str
    since: dt.date | None
    until: dt.date | None
    space: int | None

    @classmethod
    def read(cls, query: QueryDict) -> "Filters":
        """Return the filters of an address; what is malformed limits nothing."""
        kind = query.get("kind", "")
        since, until = _day(query.get("since", "")), _day(query.get("until", ""))
        return cls(kind if kind in KINDS else "", since, until, parsed_number(query.get("space")))

    def __bool__(self) -> bool:
        return bool(self.kind or self.since or self.until)

    def includes(self, passage: Passage | FilePassage) -> bool:
        """Return whether `passage` is of the kind and of the days."""
        if self.kind and kind_of(passage) != self.kind:
            return False
        if not (self.since or self.until):
            return True
        return passage.day is not None and (self.since or dt.date.min) <= passage.day <= (self.until or dt.date.max)


@dataclass(frozen=True)
class ShownPassage:
    """A passage as it is shown, and the address of its place."""

    passage: Passage | FilePassage
    kind: str
    html: SafeString
    # What it is from, and when it was said.
    about: str
    # The name of the shared space that it is from; "" for the person's own.
    space: str = ""

    @property
    def address(self) -> str:
        """Return the address of the first line in its document, of the message in its conversation, or of the page of
        the file."""
        return self.passage.address


@require_GET
def search_page(request: SignedInRequest) -> HttpResponse:
    """Search all memory and all documents that the person may read; return the results alone to htmx."""
    query, filters = request.GET.get("q", "")[:QUERY_MAX_CHARS], Filters.read(request.GET)
    context: dict[str, Any] = {"query": query, "filters": filters, "kinds": KINDS}
    if query.strip():
        try:
            with searching(request.user.pk):
                spaces = _spaces(request.user, filters)
                other = query if "exactly" in request.GET else corrected(query, spaces)
                results = search_results(request.user, other, filters)
        except TooManyRequestsError as refusal:
            response = _rendered(request, context | {"refusal": refusal.sentence}, status=429)
            response["Retry-After"] = str(refusal.retry_after)
            return response
        floor = likely_floor([each.passage.score for each in results])
        context |= {
            "results": [each for each in results if each.passage.score >= floor],
            "less_likely": [each for each in results if each.passage.score < floor],
            "corrected": other if other != query else "",
        }
    return _rendered(request, context)


def search_results(user: User, query: str, filters: Filters) -> list[ShownPassage]:
    """Return what memory and documents have for `query` in the spaces of `user`, curated memory before what is hardly
    better."""
    spaces, wanted = _spaces(user, filters), RESULTS_SHOWN * (FILTERED_FACTOR if filters else 1)
    found: list[Passage | FilePassage] = []
    if filters.kind != "documents":
        found += in_memory(user, query, spaces, wanted)
    if filters.kind in ("", "documents"):
        # Without files, the question is not embedded for them.
        with_files = Space.objects.filter(HAS_FILES, pk__in=[space.pk for space in spaces])
        found += search_files(with_files, query, user, wanted)
    words = pieces_of(query)
    shown = curated_first([each for each in found if filters.includes(each)])[:RESULTS_SHOWN]
    spaces_shown = shared_spaces_of([each for each in shown if isinstance(each, Passage)])
    names = {passage: space.name for passage, space in spaces_shown.items()}
    return [shown_passage(each, words, names, user) for each in shown]


def in_memory(user: User, query: str, spaces: list[Space], most: int) -> list[Passage]:
    """Return what the memory of `spaces` has for `query`, with conversations if `user` has not turned that off."""
    return HybridSearchManager(spaces, sources_of_person(user)).search(query, max_results=most, today=user.day())


def shown_passage(
    passage: Passage | FilePassage, words: list[str], names: dict[Passage, str], user: User
) -> ShownPassage:
    """Return `passage` as `user` sees it, with `words` marked; `names` are those of the shared spaces of passages of
    memory."""
    kind = kind_of(passage)
    if isinstance(passage, Passage):
        html = marked(MARKUP.sub("", passage.snippet), words)
        return ShownPassage(passage, kind, html, about(passage, kind, user), names.get(passage, ""))
    name = "" if passage.file.space.is_private else passage.file.space.name
    return ShownPassage(passage, kind, marked(passage.text, words), passage.source, name)


def about(passage: Passage, kind: str, user: User) -> str:
    """Return what `passage` is from, and when it was said by the clock of `user`."""
    if kind == "conversations" and passage.origin:
        when = date_format(user.local(passage.origin.at), "DATE_FORMAT")
        return gettext("Conversation “%(title)s”, %(when)s") % {"title": passage.origin.title, "when": when}
    if kind == "saved":
        return gettext("Saved memory")
    if kind == "notes" and passage.day:
        return gettext("Notes of %(when)s") % {"when": date_format(passage.day, "DATE_FORMAT")}
    return passage.path


def curated_first(passages: list[Passage | FilePassage]) -> list[Passage | FilePassage]:
    """Return `passages`, best first; those of curated memory count CURATED_LEAD_SCORE more."""
    return sorted(passages, key=lambda each: -each.score - (CURATED_LEAD_SCORE if kind_of(each) == "saved" else 0))


def kind_of(passage: Passage | FilePassage) -> str:
    """Return the kind of `passage`, a key of KINDS."""
    if isinstance(passage, FilePassage):
        return "documents"
    if passage.document_id is None:
        return "conversations"
    if passage.path == CURATED:
        return "saved"
    return "notes" if DAILY_LOG_PATH.fullmatch(passage.path) else "files"


def _rendered(request: SignedInRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    if request.htmx:
        return render(request, "memory/_results.html", context, status=status)
    spaces = Space.objects.visible_to(request.user).order_by("pk")
    shown = {"spaces": spaces, "notice": notice(MemoryDocument.objects.visible_to(request.user))}
    return render(request, "memory/search.html", context | shown, status=status)


def _spaces(user: User, filters: Filters) -> list[Space]:
    visible = Space.objects.visible_to(user)
    return list(visible.filter(pk=filters.space) if filters.space else visible)


def _day(text: str) -> dt.date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None
