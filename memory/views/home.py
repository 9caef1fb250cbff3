"""Serve the home page of a memory, with its entries by topic, and change one entry."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from memory.documents import undo, write
from memory.documents.merge import OverlapError
from memory.documents.write import Author, Source
from memory.index.vectors import notice
from memory.models import MemoryDocument, Topic
from memory.overview import days, grouping, home
from memory.overview.entries import entries_of, entry_at, newest_by_topic, overview_of
from memory.policy import switches
from memory.policy.access import may_forget, may_write
from memory.prompt.context import cut_files
from memory.tools import decisions
from memory.views.changes import form_number, writable_document
from memory.views.forgetting import parsed_number
from oneclaw.models import Space
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError

# Entries on a page of one topic.
PAGE_MAX_ENTRIES = 50


@require_GET
def home_page(request: SignedInRequest) -> HttpResponse:
    """Show the entries of curated memory by topic, the days with notes, and the state of memory in one line."""
    if query := request.GET.get("q", ""):
        return redirect(reverse("memory_search", query={"q": query}))
    space = shown_space(request)
    document = home.curated_of(space)
    topics = []
    if document is not None:
        overview = overview_of(document)
        grouping.group_soon(overview)
        topics = home.topics_of(document, overview)
    context = {
        "space": space,
        "spaces": home.spaces_shown_to(request.user),
        "document": document,
        "topics": topics,
        "calendar": days.calendar_of(space, request.user.day()),
        "counts": home.counts_of(space),
        "notice": notice(MemoryDocument.objects.filter(space=space)),
        "questions": decisions.open_questions(request.user),
        "cut": cut_files(space, switches.on_for(request.user)) if space.is_private else [],
        "may_write": may_write(request.user, space.pk),
        "may_forget": may_forget(request.user, space),
    }
    return render(request, "memory/home.html", context)


@require_GET
def topic_page(request: SignedInRequest, topic: int) -> HttpResponse:
    """Show all entries of one topic, the newest first."""
    space = shown_space(request)
    document = home.curated_of(space)
    if document is None or topic not in Topic.values:
        raise Http404
    overview = overview_of(document)
    numbers = newest_by_topic(overview).get(Topic(topic), [])
    page = Paginator(numbers, PAGE_MAX_ENTRIES).get_page(request.GET.get("page"))
    entries = [entry_at(overview, number) for number in page.object_list]
    context = {
        "space": space,
        "topic": Topic(topic),
        "document": document,
        "page": page,
        "entries": home.shown_entries(document, entries),
        "may_write": may_write(request.user, space.pk),
        "may_forget": may_forget(request.user, space),
    }
    return render(request, "memory/topic.html", context)


@require_http_methods(["GET", "POST"])
def change_entry(request: SignedInRequest, document_id: int, line: int) -> HttpResponse:
    """Show the form of the entry that begins in `line`, from 1; POST replaces or deletes its lines, and goes back."""
    document = writable_document(request, document_id)
    if request.method == "GET":
        chosen = [entry for entry in entries_of(document) if entry.line == line]
        if not chosen:
            raise Http404
        context = {
            "document": document,
            "shown": home.shown_entries(document, chosen)[0],
            "next": request.GET.get("next", ""),
            "may_forget": may_forget(request.user, document.space),
        }
        return render(request, "memory/_entry_form.html" if request.htmx else "memory/entry.html", context)
    count, base_version = form_number(request, "count"), form_number(request, "base_version")
    if not line or not count or base_version is None:
        return HttpResponseBadRequest()
    text = request.POST.get("text", "").replace("\r\n", "\n").strip("\n")
    added = text.split("\n") if text.strip() and "delete" not in request.POST else []
    author = Author(Source.PAGE, request.user, reason=Reason("change.edited" if added else "change.line_deleted"))
    try:
        undo.change_lines(document, line - 1, count, added, base_version, author)
    except (OverlapError, IndexError):
        messages.error(request, _("That entry was changed in the meantime, so nothing was saved. Your text: %s") % text)
    except (write.DocumentError, InvalidTextError) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Saved.") if added else _("Deleted. You can undo this in the history of the file."))
    back = request.POST.get("next", "")
    return redirect(back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else "memory")


def shown_space(request: SignedInRequest) -> Space:
    """Return the space of the address (`?space=`), the person's own without one. Raise Http404 for another's."""
    if "space" not in request.GET:
        return Space.objects.own_of(request.user)
    number = parsed_number(request.GET["space"])
    return get_object_or_404(Space.objects.visible_to(request.user), pk=number)
