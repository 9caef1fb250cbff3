"""Serve the pages of forgetting: choose lines, preview what would be removed, confirm, and keep the receipt."""

import json
import uuid
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from chat.models import ChatSession
from memory.access.rights import may_forget, spaces_to_forget_in
from memory.forgetting import forget as forgetting
from memory.forgetting import plan as forget_plans
from memory.models import Forgetting, MemoryDocument
from memory.overview import remains
from memory.policy import curation
from memory.policy.tombstones import words_of
from memory.provenance.programs import readers_of_forgotten
from memory.search.manager import HybridSearchManager
from memory.search.passage import QUERY_MAX_CHARS, RESULTS_SHOWN
from memory.text.terms import terms_of
from oneclaw.models import Space, User
from oneclaw.people.requests import SignedInRequest

# Receipts that the page lists, and lines that it offers.
LISTED_MAX_RECEIPTS, OFFERED_MAX_LINES = 20, forget_plans.FORGET_MAX_LINES


@require_http_methods(["GET", "POST"])
def forget(request: SignedInRequest) -> HttpResponse:
    """Show lines to choose from; POST with lines shows the plan, and with the plan's digest removes the lines."""
    space = requested_space(request)
    lines = request.POST.getlist("line")
    if request.method == "GET":
        return render(request, "memory/forget.html", choice_context(request, space))
    try:
        if digest := request.POST.get("digest"):
            done = forgetting.forget(space, lines, request.user, digest)
            return redirect("memory_forgotten", done.pk)
        return render_plan(request, space, forget_plans.plan(space, lines))
    except forgetting.PlanChangedError as changed:
        return render_plan(request, space, changed.plan, refusal=str(changed), status=409)
    except forget_plans.ForgetError as error:
        return render(
            request, "memory/forget.html", choice_context(request, space) | {"refusal": str(error)}, status=422
        )


@require_GET
def receipt(request: SignedInRequest, forgetting_id: int) -> HttpResponse:
    """Show how much was removed, and whether the clean-up is finished."""
    done = readable_receipt(request, forgetting_id)
    context = {"forgetting": done, "counts": done.counts, "readers": readers_of_forgotten(done, request.user).items()}
    return render(request, "memory/forget_receipt.html", context)


@require_GET
def receipt_file(request: SignedInRequest, forgetting_id: int) -> HttpResponse:
    """Return the receipt as a JSON file: time, author, counts and hashes, never the text."""
    done = readable_receipt(request, forgetting_id)
    name = f"forgotten-{request.user.day(done.created_at)}-{done.pk}.json"
    return HttpResponse(
        json.dumps(receipt_content(done, request.user), indent=2, ensure_ascii=False) + "\n",
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"},
    )


def receipt_content(done: Forgetting, reader: User) -> dict[str, Any]:
    """Return the content of the receipt file of a forgetting for `reader`, whose own programs it names."""
    return {
        "receipt": done.pk,
        "forgotten_at": done.created_at.isoformat(),
        "by": done.author.email if done.author else None,
        "memory_of": done.space.name,
        "what_went": done.counts,
        "finished_at": done.finished_at.isoformat() if done.finished_at else None,
        "hashes": done.hashes,
        "programs_that_had_read_it": [
            {"program": key.name, "has_asked_since": has_asked}
            for key, has_asked in readers_of_forgotten(done, reader).items()
        ],
        "about_the_hashes": "HMAC-SHA-256 of the words of each line, under a key that only the server has.",
    }


def readable_receipt(request: SignedInRequest, forgetting_id: int) -> Forgetting:
    """Return the forgetting for its author and for people who may forget in its space. Raise Http404 for others."""
    done = get_object_or_404(Forgetting.objects.select_related("space__owner", "author"), pk=forgetting_id)
    if done.author != request.user and not may_forget(request.user, done.space):
        raise Http404
    return done


def requested_space(request: SignedInRequest) -> Space:
    """Return the space of the requested document, or the requested space; the person's own without either.

    Raise Http404 unless the person may see the space, and PermissionDenied unless they may forget there.
    """
    asked = request.POST if request.method == "POST" else request.GET
    document, named = parsed_number(asked.get("document")), parsed_number(asked.get("space"))
    if document is None and named is None:
        return Space.objects.own_of(request.user)
    of_document = Q(documents=document) if document is not None else Q(pk=named)
    space = Space.objects.select_related("owner").filter(of_document).first()
    if space is None:
        raise Http404
    if not may_forget(request.user, space):
        if not Space.objects.visible_to(request.user).filter(pk=space.pk).exists():
            raise Http404
        raise PermissionDenied
    return space


def choice_context(request: SignedInRequest, space: Space) -> dict[str, Any]:
    """Return the context of the page: the lines of a document, of conversations, or those that a search finds.

    Each line comes with whether it is preselected, because it holds the words of the search. Without either, the
    context holds the receipts.
    """
    asked = request.POST if request.method == "POST" else request.GET
    query = asked.get("q", "")[:QUERY_MAX_CHARS]
    document = (
        MemoryDocument.objects.present().filter(space=space, pk=parsed_number(asked.get("document")) or 0).first()
    )
    context: dict[str, Any] = {"space": space, "spaces": spaces_to_forget_in(request.user), "query": query}
    if sessions := conversations_asked(request):
        offered = [(line, True) for line in remains.lines_from(space, sessions)]
        context["sessions"] = sessions
    elif document is not None:
        offered = [(line, False) for line in document.content.split("\n") if words_of(line)]
        context["document"] = document
    elif query.strip():
        exact = forget_plans.lines_with(space, query)
        near = [line for line in similar_lines(request, space, query) if line not in exact]
        offered = [(line, True) for line in exact] + [(line, False) for line in near]
    else:
        found = Forgetting.objects.visible_to(request.user).filter(space=space)
        return context | {"receipts": found.order_by("-created_at")[:LISTED_MAX_RECEIPTS]}
    record_look(request, space, document)
    offered = list(dict(offered[::-1]).items())[::-1]
    return context | {"lines": offered[:OFFERED_MAX_LINES], "more": len(offered) > OFFERED_MAX_LINES, "searched": True}


def record_look(request: SignedInRequest, space: Space, document: MemoryDocument | None = None) -> None:
    """Record that an admin sees lines of the memory of others: of `document`, or of several documents of `space`."""
    if not request.user.is_staff or not curation.is_of_others(request.user, space):
        return
    if document is not None:
        curation.record_look(request.user, document)
    else:
        curation.record_search(request.user, space)


def conversations_asked(request: SignedInRequest) -> list[uuid.UUID]:
    """Return the ids of the person's conversations whose lines are asked for, deleted ones included."""
    asked = request.POST if request.method == "POST" else request.GET
    try:
        ids = [uuid.UUID(value) for value in asked.getlist("conversation")]
    except ValueError:
        raise Http404 from None
    return list(ChatSession.objects.filter(owner=request.user, pk__in=ids).values_list("pk", flat=True)) if ids else []


def similar_lines(request: SignedInRequest, space: Space, query: str) -> list[str]:
    """Return the distinct lines of the passages that a search for `query` finds in `space`, which hold a word of it.

    A passage begins with the headings above it and goes on around what was found: those lines are left out.
    """
    wanted = set(terms_of(query))
    found = HybridSearchManager([space]).search(query, max_results=RESULTS_SHOWN, today=request.user.day(), slack=0)
    contents = dict(space.documents.filter(path__in={passage.path for passage in found}).values_list("path", "content"))
    lines = []
    for passage in found:
        lines += contents.get(passage.path, "").split("\n")[passage.start_line - 1 : passage.end_line]
    return [line for line in dict.fromkeys(lines) if not line.startswith("#") and wanted.intersection(terms_of(line))]


def render_plan(
    request: SignedInRequest, space: Space, plan: forget_plans.ForgettingPlan, refusal: str = "", status: int = 200
) -> HttpResponse:
    """Render the preview of `plan`, with an error above it if there is one."""
    record_look(request, space)
    context = {"space": space, "plan": plan, "refusal": refusal}
    return render(request, "memory/forget_plan.html", context, status=status)


def parsed_number(text: str | None) -> int | None:
    """Return `text` as a whole number below a billion; None when it is no such number."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
