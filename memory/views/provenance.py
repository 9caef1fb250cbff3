"""Serve what of memory went into an answer, and take what the person says about it."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from chat.models import Message
from chat.turns.answer_lines import finished_answer
from memory.access import former
from memory.access.rights import may_forget
from memory.models import LineFeedback, MemoryRevision
from memory.provenance import feedback
from memory.provenance.shown import ShownMemory, readable, shown_memories
from memory.provenance.used import UsedMemory, saved_in, used_in
from memory.tools import decisions
from oneclaw.people.requests import SignedInRequest

# Memories of one answer that are shown.
SHOWN_MAX_MEMORIES = 40
Kind = LineFeedback.Kind
# What can be said about a line, by the name of its button.
KINDS = {kind.name.lower(): kind for kind in (Kind.HELPFUL, Kind.WRONG, Kind.OUTDATED, Kind.IRRELEVANT)}


@require_GET
def memories(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Show what of memory went into an answer, and what was saved with it: a fragment to htmx, else a page."""
    message = own_message(request, message_id)
    ended = finished_answer(message)
    used, left_out = readable_memories(message, used_in(ended) if ended else [])
    shown = shown_memories(used[:SHOWN_MAX_MEMORIES], message.session, request.user)
    context = {
        "left_out": former.left_out(left_out) if left_out else "",
        "message": message,
        "memories": [row_of(request, each) for each in shown if each.memory.is_used],
        "looked_at": [row_of(request, each) for each in shown if not each.memory.is_used],
        "saved": saved_rows(request, saved_in(ended) if ended else []),
        "kinds": KINDS,
    }
    return render(request, "memory/_memories.html" if request.htmx else "memory/memories.html", context)


@require_POST
def say(request: SignedInRequest, message_id: int, memory_id: str) -> HttpResponse:
    """Keep what the person says about a memory of an answer (`kind`, one of KINDS), or take it back (`kind` empty).
    Return its row to htmx, and a redirect to a page without scripts."""
    message = own_message(request, message_id)
    kind = request.POST.get("kind", "")
    if kind and kind not in KINDS:
        return HttpResponseBadRequest()
    ended = finished_answer(message)
    kept, _left_out = readable_memories(message, used_in(ended) if ended else [])
    used = [each for each in kept if each.id == memory_id]
    if not used:
        raise Http404
    (shown,) = shown_memories(used[:1], message.session, request.user)
    if kind:
        feedback.give(request.user, shown, KINDS[kind])
    else:
        feedback.take_back(request.user, shown)
    if request.htmx:
        (shown,) = shown_memories(used[:1], message.session, request.user)
        context = {"message": message, "row": row_of(request, shown), "kinds": KINDS, "is_fresh": True}
        return render(request, "memory/_memory.html", context)
    messages.success(request, _("Noted."))
    return redirect("message_memories", message.pk)


def readable_memories(message: Message, used: Sequence[UsedMemory]) -> tuple[list[UsedMemory], int]:
    """Return those of `used` that the owner of the conversation may read now, and how many others there are."""
    lost = former.lost_addresses(message.session, {each.path for each in used})
    kept = [each for each in used if each.path not in lost]
    return kept, len(used) - len(kept)


def own_message(request: SignedInRequest, message_id: int) -> Message:
    """Return a message of the person's conversations. Raise Http404 for any other."""
    mine = Message.objects.private_to(request.user).said()
    return get_object_or_404(mine.select_related("session__agent", "session__owner", "session__head"), pk=message_id)


def row_of(request: SignedInRequest, shown: ShownMemory) -> dict[str, Any]:
    """Return what the page shows of a memory."""
    said = shown.feedback
    return {
        "shown": shown,
        "said": feedback.explained(said, request.user) if said else "",
        "kind": Kind(said.kind).name.lower() if said else "",
        "may_forget": bool(shown.keys) and shown.memory.is_of_document and may_forget_in(request, shown),
    }


def may_forget_in(request: SignedInRequest, shown: ShownMemory) -> bool:
    return shown.space is not None and may_forget(request.user, shown.space)


def saved_rows(request: SignedInRequest, revision_ids: list[int]) -> list[dict[str, Any]]:
    """Return what was saved by these revisions, and whether it is still there."""
    mine = MemoryRevision.objects.filter(space__roles__user=request.user, pk__in=revision_ids)
    rows = mine.select_related("document").order_by("pk")
    texts = ((row, decisions.text_of(row)) for row in rows)
    return [
        {"revision": row, "text": readable(text), "is_present": decisions.has_lines(text, row.document.content)}
        for row, text in texts
    ]
