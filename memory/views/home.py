"""Serve the home page of a memory, with its newest entries, and the page of one topic."""

import datetime as dt
from functools import partial
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from memory.access.rights import may_edit, may_forget
from memory.files.missing import documents_without_file
from memory.index.vectors import notice
from memory.lab import golden
from memory.models import DocumentOverview, MemoryDocument, Proposal, Topic
from memory.overview import grouping, home, kept
from memory.overview.about import about_of
from memory.overview.entries import (
    OverviewWaitsError,
    compile_soon,
    entry_at,
    newest_by_topic,
    overview_for_page,
)
from memory.overview.home import Memories, ShownEntry
from memory.overview.rows import RowsOf, rows_html
from memory.overview.state import state_of
from memory.tools import reviews
from memory.tools.proposals import writes_directly
from memory.tools.waiting import waiting_about
from memory.views.forgetting import parsed_number
from memory.views.inbox import waiting_items
from memory.views.proposal_cards import cards_of
from oneclaw.models import Space, User
from oneclaw.people.requests import SignedInRequest

# Entries on a page of one topic.
PAGE_MAX_ENTRIES = 50
# Cards that the home page shows before a topic or more is asked for (static/css/about.css).
SHORT_MAX_ENTRIES = 12


@require_GET
def home_page(request: SignedInRequest) -> HttpResponse:
    """Show what a memory knows: in numbers, over a year, by topic, and each newest entry on a card."""
    if query := request.GET.get("q", ""):
        return redirect(reverse("memory_search", query={"q": query}))
    memories = home.memories_of(request.user)
    space = chosen_space(request, memories)
    overview, document = None, None
    try:
        overview = home.curated_overview(space)
        document = overview and overview.document
    except OverviewWaitsError as waits:
        if request.htmx:
            # Asked again by the page until its topics are there.
            return HttpResponse(status=204)
        document = waits.document
        compile_soon([document.pk])
    state = state_of(space, request.user, overview)
    today, topics, about = request.user.day(), SafeString(), SafeString()
    if overview is not None:
        grouping.group_soon(overview)
        may_erase = memories.owns(space) or (request.user.is_staff and may_forget(request.user, space))
        may_propose = space.is_private and memories.has_shared
        rights = memories.may_edit_curated(space), may_erase, may_propose
        key = kept.key_of_entries(overview, state, request.user, request.get_full_path(), *rights)
        # What waits about the entries changes by itself.
        made = partial(topics_html, request, space, overview, rights, has_waiting=state.has_waiting)
        topics = made() if state.has_waiting else kept.html(key, made)
    if topics or state.logs:
        key = kept.key_of_about(space, overview, state, request.user, today)
        about = kept.html(key, partial(about_html, request, space, overview, today))
    context = {
        "space": space,
        "spaces": memories.spaces,
        "about": about,
        "topics": topics,
        "state": state,
        "gone": len(documents_without_file(space)) if memories.owns(space) else 0,
        "questions": questions_for(request.user) if state.has_waiting else 0,
        "drop": golden.drop(space) if state.has_lab_runs else None,
        "notice": notice(MemoryDocument.objects.filter(space=space)) if state.has_notice else "",
        "document": document,
        "is_sorting": document is not None and overview is None,
        "address": request.get_full_path(),
    }
    if not space.is_private:
        context |= proposed_in(request, space)
    return render(request, "memory/home.html", context)


def questions_for(user: User) -> int:
    """Return how many questions there are for `user`: what waits for an answer, and what may be true no more."""
    waiting = waiting_items(user)
    return (waiting.count if waiting else 0) + len(reviews.pending(user))


def proposed_in(request: SignedInRequest, space: Space) -> dict[str, Any]:
    """Return what the page of a shared memory shows of the proposals for it."""
    rows = Proposal.objects.visible_to(request.user).waiting().filter(space=space).select_related("author", "space")
    return {
        "proposed": cards_of(rows.order_by("-pk")[:PAGE_MAX_ENTRIES], request.user),
        "to_decide": set(Proposal.objects.to_decide_by(request.user).filter(space=space).values_list("pk", flat=True)),
        "needs_nobody": writes_directly(request.user, space),
        "here": request.get_full_path(),
    }


def about_html(request: SignedInRequest, space: Space, overview: DocumentOverview | None, today: dt.date) -> SafeString:
    """Return what is above the entries: the numbers, the year, the newest of each topic, and what is coming up."""
    document = home.curated_of(space) if overview else None
    context = {
        "space": space,
        "about": about_of(space, overview_if_compiled(document), request.user, today),
        "today": today,
        "of_space": of_space(space),
        "days_url": days_url("memory_diary", space),
    }
    return render_to_string("memory/_about.html", context)


def overview_if_compiled(document: MemoryDocument | None) -> DocumentOverview | None:
    """Return the overview of `document`; None without a document, and while a worker compiles it."""
    try:
        return overview_for_page(document) if document else None
    except OverviewWaitsError:
        return None


def of_space(space: Space) -> str:
    """Return the query of addresses in `space`; "" for the person's own."""
    return "" if space.kind == Space.Kind.OWN else f"?space={space.pk}"


def days_url(page: str, space: Space) -> str:
    """Return the address of `page` in `space`, to the end of which a day is added."""
    query = of_space(space)
    return f"{reverse(page)}{query}{'&' if query else '?'}day="


def topics_html(
    request: SignedInRequest,
    space: Space,
    overview: DocumentOverview,
    rights: tuple[bool, bool, bool],
    *,
    has_waiting: bool,
) -> SafeString:
    """Return the cards of the newest entries of `overview`, with what waits about them if `has_waiting`."""
    try:
        whole = home.with_content(overview)
    except OverviewWaitsError:
        # It was imported after `overview` was read: the next request says so.
        whole = None
    if whole is None:
        return SafeString()
    topics, of = home.topics_of(whole, request.user), RowsOf(whole.document, request.get_full_path(), *rights)
    if not topics:
        return SafeString()
    entries = sorted((shown for topic in topics for shown in topic.shown), key=lambda shown: -shown.entry.revision)
    if has_waiting:
        add_waiting(request, whole.document, entries)
    context: dict[str, Any] = {
        "topics": topics,
        "of_space": of_space(space),
        "rows": rows_html(entries, of),
        "count": sum(topic.count for topic in topics),
        "has_many": len(entries) > SHORT_MAX_ENTRIES,
        "has_more": any(topic.more for topic in topics),
    }
    return render_to_string("memory/_topics.html", context)


@require_GET
def topic_page(request: SignedInRequest, topic: int) -> HttpResponse:
    """Show all entries of one topic, the newest first."""
    space = shown_space(request)
    document = home.curated_of(space)
    if document is None or topic not in Topic.values:
        raise Http404
    try:
        overview = overview_for_page(document)
    except OverviewWaitsError:
        # The home page says that they are being sorted.
        return redirect(f"{reverse('memory')}?space={space.pk}")
    numbers = newest_by_topic(overview).get(Topic(topic), [])
    page = Paginator(numbers, PAGE_MAX_ENTRIES).get_page(request.GET.get("page"))
    entries = home.shown_entries(document, [entry_at(overview, number) for number in page.object_list], request.user)
    add_waiting(request, document, entries)
    rights = may_edit(request.user, space, document.path), may_forget(request.user, space)
    may_propose = space.is_private and Space.objects.visible_to(request.user).shared().exists()
    of = RowsOf(document, request.get_full_path(), *rights, may_propose)
    context = {
        "space": space,
        "topic": Topic(topic),
        "page": page,
        "rows": rows_html(entries, of),
    }
    return render(request, "memory/topic.html", context)


def add_waiting(request: SignedInRequest, document: MemoryDocument, entries: list[ShownEntry]) -> None:
    """Set on each of `entries` what waits for the person about its lines."""
    waiting = waiting_about(request.user, document)
    for shown in entries if waiting else []:
        numbers = range(shown.entry.line, shown.entry.last_line + 1)
        shown.waiting = [each for number in numbers for each in waiting.get(number, [])]


def chosen_space(request: SignedInRequest, memories: Memories) -> Space:
    """Return the space of the address (`?space=`) among `memories`, the person's own without one. Raise Http404 for
    another's."""
    if "space" not in request.GET:
        return memories.own
    number = parsed_number(request.GET["space"])
    for space in memories.spaces:
        if space.pk == number:
            return space
    raise Http404


def shown_space(request: SignedInRequest) -> Space:
    """Return the space of the address (`?space=`), the person's own without one. Raise Http404 for another's."""
    if "space" not in request.GET:
        return Space.objects.own_of(request.user)
    number = parsed_number(request.GET["space"])
    return get_object_or_404(Space.objects.visible_to(request.user), pk=number)
