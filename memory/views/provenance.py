"""Serve what of memory went into an answer, and take what the person says about it."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from chat.conversations.message_pages import notify_updated
from chat.models import Message
from chat.rendering.answer_lines import says_saves
from chat.turns.answer_lines import finished_answer
from memory.access import former
from memory.access.rights import may_edit, may_forget
from memory.documents import undo
from memory.documents.write import Author, DocumentError, Source
from memory.models import LineFeedback, MemoryRevision
from memory.provenance import feedback
from memory.provenance.shown import ShownMemory, readable, shown_memories
from memory.provenance.used import ATTACHED, PROMPT, READ, RECALL, SEARCH, UsedMemory, saved_in, used_in
from memory.search.passage import QUERY_MAX_CHARS
from memory.tools import decisions
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason

# Memories of one answer that are shown.
SHOWN_MAX_MEMORIES = 40
Kind = LineFeedback.Kind
# What can be said about a line, by the name of its button, and what of it corrects the line.
KINDS = {kind.name.lower(): kind for kind in (Kind.HELPFUL, Kind.WRONG, Kind.OUTDATED, Kind.IRRELEVANT)}
CORRECTIONS = {name: kind for name, kind in KINDS.items() if kind != Kind.HELPFUL}


@require_GET
def memories(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Show what of memory went into an answer, and what was saved with it: a fragment to htmx, else a page."""
    message = own_message(request, message_id)
    ended = finished_answer(message)
    used, left_out = readable_memories(message, used_in(ended) if ended else [])
    shown = shown_memories(used[:SHOWN_MAX_MEMORIES], message.session, request.user)
    # The card of a save says it, unless it is far above.
    saved = saved_in(ended) if ended and (not request.htmx or says_saves(message)) else []
    context = {
        "left_out": former.left_out(left_out) if left_out else "",
        "message": message,
        "memories": [row_of(request, each) for each in shown if each.memory.is_used],
        "looked_at": [row_of(request, each) for each in shown if not each.memory.is_used],
        "saved": saved_rows(request, saved),
        "corrections": CORRECTIONS,
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
        context = {"message": message, "row": row_of(request, shown), "corrections": CORRECTIONS, "is_fresh": True}
        return render(request, "memory/_memory.html", context)
    messages.success(request, _("Noted."))
    return redirect("message_memories", message.pk)


@require_POST
def undo_saves(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Undo what was saved with an answer and is still there. Return a sentence to htmx, and a redirect to a page
    without scripts."""
    message = own_message(request, message_id)
    ended = finished_answer(message)
    rows = saved_rows(request, saved_in(ended) if ended else [])
    present = [row["revision"] for row in rows if row["is_present"]]
    if not all(may_edit(request.user, revision.document.space, revision.document.path) for revision in present):
        raise PermissionDenied
    sentence = _("Undone.") if present else _("It is no longer in memory.")
    for revision in reversed(present):
        author = Author(Source.UNDO, request.user, reason=Reason("change.taken_back", {"number": revision.number}))
        try:
            undo.undo(revision, author)
        except DocumentError as error:
            sentence = str(error)
        if revision.message is not None:
            notify_updated(revision.message)
    if request.htmx:
        return render(request, "memory/_saves_undone.html", {"sentence": sentence})
    messages.info(request, sentence)
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
        "about": list(about(shown)),
        "lab_url": lab_url(shown),
        "may_forget": bool(shown.keys) and shown.memory.is_of_document and may_forget_in(request, shown),
    }


def about(shown: ShownMemory) -> Iterator[str]:
    """Yield what is said of a memory after its source: its space, whether it has changed, and how the model got it when
    nothing was searched."""
    memory = shown.memory
    yield from shown.notes
    if memory.how == PROMPT:
        yield _("part of every conversation")
    elif memory.how == READ:
        yield _("read in its document")
    elif memory.how == ATTACHED:
        yield _("added to your message")


def lab_url(shown: ShownMemory) -> str:
    """Return the address on which the recall lab shows why the line was found; "" for what it does not search."""
    memory = shown.memory
    if memory.how not in (RECALL, SEARCH) or not memory.question or memory.file_id or shown.space is None:
        return ""
    query: dict[str, Any] = {"q": memory.question[:QUERY_MAX_CHARS]}
    return reverse("memory_lab", query=query if shown.space.is_private else query | {"space": shown.space.pk})


def may_forget_in(request: SignedInRequest, shown: ShownMemory) -> bool:
    return shown.space is not None and may_forget(request.user, shown.space)


def saved_rows(request: SignedInRequest, revision_ids: list[int]) -> list[dict[str, Any]]:
    """Return what was saved by these revisions, and whether it is still there."""
    mine = MemoryRevision.objects.filter(space__roles__user=request.user, pk__in=revision_ids)
    rows = mine.select_related("document__space", "message__session").order_by("pk")
    texts = ((row, decisions.text_of(row)) for row in rows)
    return [
        {"revision": row, "text": readable(text), "is_present": decisions.has_lines(text, row.document.content)}
        for row, text in texts
    ]
