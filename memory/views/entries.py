"""Change one entry of a memory where it is shown: edit, delete, confirm or forget it.

With htmx the row of the entry is replaced; without, each act has a page, and goes back to where the entry was shown.
The address of an entry is its line in a version of the document, so that a row also works after later changes.
"""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memory.access.rights import may_forget
from memory.documents import undo, write
from memory.documents.merge import OverlapError
from memory.documents.write import Author, Source
from memory.forgetting import forget as forgetting
from memory.forgetting import plan as forget_plans
from memory.models import MemoryDocument
from memory.overview import home
from memory.overview.entries import entries_of
from memory.overview.home import ShownEntry
from memory.overview.rows import RowsOf, rows_html
from memory.provenance.programs import readers_of
from memory.tools import reviews
from memory.views.changes import form_number, writable_document
from memory.views.forgetting import parsed_number
from memory.views.home import add_waiting
from oneclaw.models import Space
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError


@require_http_methods(["GET", "POST"])
def change_entry(request: SignedInRequest, document_id: int, line: int) -> HttpResponse:
    """Show the form of the entry with the `line`, from 1; POST replaces or deletes its lines."""
    document = writable_document(request, document_id)
    if request.method == "GET":
        shown = requested_entry(request, document, line)
        if shown is None:
            return changed_meanwhile(request)
        return render(
            request, "memory/_entry_form.html" if request.htmx else "memory/entry.html", about(request, document, shown)
        )
    count, base_version = form_number(request, "count"), form_number(request, "base_version")
    if not line or not count or base_version is None:
        return HttpResponseBadRequest()
    text = request.POST.get("text", "").replace("\r\n", "\n").strip("\n")
    added = text.split("\n") if text.strip() and "delete" not in request.POST else []
    author = Author(Source.PAGE, request.user, reason=Reason("change.edited" if added else "change.line_deleted"))
    try:
        at = undo.line_now(document, line, base_version)
        made = undo.change_lines(document, line - 1, count, added, base_version, author)
    except (OverlapError, IndexError):
        return refused(request, _("That entry was changed in the meantime, so nothing was saved. Your text: %s") % text)
    except (write.DocumentError, InvalidTextError) as error:
        return refused(request, str(error))
    if request.htmx:
        if not added and made is not None:
            return render(request, "memory/_entry_deleted.html", {"revision": made})
        document.refresh_from_db()
        return rows(request, document, range(at, at + len(added)), _("Saved."))
    messages.success(request, _("Saved.") if added else _("Deleted. You can undo this in the history of the file."))
    return redirect(back(request))


@require_GET
def entry_row(request: SignedInRequest, document_id: int, line: int) -> HttpResponse:
    """Return the row of an entry, to put it back after its form was closed."""
    document = writable_document(request, document_id)
    shown = requested_entry(request, document, line)
    return changed_meanwhile(request) if shown is None else rows(request, document, range(shown.line, shown.line + 1))


@require_POST
def confirm_entry(request: SignedInRequest, document_id: int, line: int) -> HttpResponse:
    """Record that an entry is still true, which answers what the inbox asks about it."""
    document = writable_document(request, document_id)
    shown = requested_entry(request, document, line)
    if shown is None:
        return changed_meanwhile(request)
    reviews.confirm(document, shown.lines)
    if request.htmx:
        return rows(request, document, range(shown.line, shown.line + 1), _("Noted: still true."))
    messages.success(request, _("Noted: still true."))
    return redirect(back(request))


@require_http_methods(["GET", "POST"])
def forget_entry(request: SignedInRequest, document_id: int, line: int) -> HttpResponse:
    """Ask in the row of an entry whether to forget it, with what would go; POST with the plan's digest forgets it."""
    document = writable_document(request, document_id)
    shown = requested_entry(request, document, line)
    if not may_forget(request.user, document.space):
        return right_ended(request)
    if shown is None:
        return changed_meanwhile(request)
    if not request.htmx:
        return redirect(reverse("memory_forget", query={"q": shown.text, "space": document.space_id}))
    context = about(request, document, shown)
    try:
        if digest := request.POST.get("digest"):
            forgetting.forget(document.space, shown.lines, request.user, digest)
            messages.success(request, _("Forgotten."))
            # The history was rewritten: the addresses of the other rows are no longer valid.
            return HttpResponse(headers={"HX-Redirect": back(request)})
        context["plan"] = forget_plans.plan(document.space, shown.lines)
    except forgetting.PlanChangedError as changed:
        context |= {"plan": changed.plan, "refusal": str(changed)}
    except forget_plans.ForgetError as error:
        context["refusal"] = str(error)
    return render(request, "memory/_entry_forget.html", context)


@require_GET
def propose_entry(request: SignedInRequest, document_id: int, line: int) -> HttpResponse:
    """Go to the form that proposes an entry of a private memory to a shared space."""
    document = writable_document(request, document_id)
    shown = requested_entry(request, document, line)
    if shown is None or not document.space.is_private:
        raise Http404
    return redirect(reverse("memory_propose", query={"text": shown.text, "next": back(request)}))


def requested_entry(request: SignedInRequest, document: MemoryDocument, line: int) -> ShownEntry | None:
    """Return the entry with the `line` of the version `?version=` (the present one without); None when it was
    changed since."""
    version = parsed_number(request.GET.get("version"))
    try:
        at = undo.line_now(document, line, version or document.version)
    except OverlapError:
        return None
    chosen = [entry for entry in entries_of(document) if entry.line <= at <= entry.last_line]
    return home.shown_entries(document, chosen, request.user)[0] if chosen else None


def rows(request: SignedInRequest, document: MemoryDocument, lines: range, said: str = "") -> HttpResponse:
    """Return the rows of the entries that begin in `lines`, the first with the sentence `said`."""
    chosen = [entry for entry in entries_of(document) if entry.line in lines]
    entries = home.shown_entries(document, chosen, request.user)
    add_waiting(request, document, entries)
    may_propose = document.space.is_private and Space.objects.visible_to(request.user).shared().exists()
    rights = {"may_write": True, "may_forget": may_forget(request.user, document.space), "may_propose": may_propose}
    of = RowsOf(document, back(request), **rights)
    return HttpResponse(rows_html(entries, of, said))


def about(request: SignedInRequest, document: MemoryDocument, shown: ShownEntry) -> dict[str, Any]:
    """Return the context of the form of an entry."""
    of = RowsOf(document, back(request), may_write=True, may_forget=may_forget(request.user, document.space))
    readers = readers_of(document, shown.lines, request.user)
    context = {"shown": shown, "document": document, "next": of.next, "may_forget": of.may_forget}
    return context | {"row": of.context, "readers": readers}


def refused(request: SignedInRequest, sentence: str) -> HttpResponse:
    """Say why nothing was saved: in the row, or on the page to which it goes back."""
    if request.htmx:
        return render(request, "memory/_entry_changed.html", {"sentence": sentence, "next": back(request)})
    messages.error(request, sentence)
    return redirect(back(request))


def right_ended(request: SignedInRequest) -> HttpResponse:
    """Say in the row that the person may not forget there any more. Raise Http404 without htmx."""
    if not request.htmx:
        raise Http404
    sentence = _("You may not forget entries of this memory any more.")
    return render(request, "memory/_entry_changed.html", {"sentence": sentence, "next": back(request)})


def changed_meanwhile(request: SignedInRequest) -> HttpResponse:
    """Say in the row that its entry was changed meanwhile. Raise Http404 without htmx."""
    if not request.htmx:
        raise Http404
    sentence = _("That entry was changed in the meantime.")
    return render(request, "memory/_entry_changed.html", {"sentence": sentence, "next": back(request)})


def back(request: SignedInRequest) -> str:
    """Return the address of this site to which the request goes back, the home page of memory without one."""
    asked = request.POST.get("next") or request.GET.get("next", "")
    return asked if url_has_allowed_host_and_scheme(asked, allowed_hosts=None) else reverse("memory")
