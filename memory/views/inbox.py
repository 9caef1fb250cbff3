"""Serve the inbox: everything about memory that waits for the person, in one list."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists
from django.http import HttpResponse, HttpResponseBadRequest
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from chat.conversations.message_pages import updated_card_html
from chat.extensions import WaitingItems
from memory.access.rights import may_edit
from memory.documents.calls import use_that_made
from memory.documents.write import DocumentError
from memory.files.missing import documents_without_file
from memory.files.waiting import waiting_files
from memory.lab import golden
from memory.models import Decision, Suggestion
from memory.skills.approval import waiting_own_skills
from memory.tools import decisions, saved, suggestions
from memory.trust import proposals
from memory.trust.instructions import marked_lines
from memory.trust.suggestions import decline, waiting_for
from memory.views.proposal_cards import cards_of
from memory.views.reviews import Sitting, review_card
from oneclaw.models import Space, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import InvalidTextError

# Suggestions that the page shows; the next ones follow when these are answered.
SHOWN_MAX_SUGGESTIONS = 50


@dataclass(frozen=True)
class SuggestionCard:
    """A suggestion, and of one with instructions its lines, each with whether it instructs the assistant."""

    suggestion: Suggestion
    lines: Sequence[tuple[str, bool]] = ()


@require_GET
def inbox(request: SignedInRequest) -> HttpResponse:
    """Show what waits for the person: decisions about saved lines, suggestions from other sources, and old lines."""
    rows = waiting_for(request.user).select_related("space", "session")
    context = {
        "questions": decisions.open_questions(request.user),
        "suggestions": suggestion_cards(rows[:SHOWN_MAX_SUGGESTIONS]),
        **review_card(request, Sitting.read(request.GET)),
        "proposals": cards_of(proposals.to_decide(request.user)[:SHOWN_MAX_SUGGESTIONS], request.user),
        "declined": proposals.declined_of(request.user)[:SHOWN_MAX_SUGGESTIONS],
        "waiting_skills": waiting_own_skills(request.user),
        "gone": len(documents_without_file(Space.objects.own_of(request.user))),
        "files_waiting": len(waiting_files(Space.objects.own_of(request.user))),
        "more": max(0, rows.count() - SHOWN_MAX_SUGGESTIONS),
        "drop": golden.drop(Space.objects.own_of(request.user)),
    }
    return render(request, "memory/inbox.html", context)


@require_POST
def answer_suggestion(request: SignedInRequest, suggestion_id: int) -> HttpResponse:
    """Accept or decline. Return the updated card to htmx, and a redirect to a page without scripts."""
    mine = Suggestion.objects.visible_to(request.user).select_related("space", "message")
    suggestion = get_object_or_404(mine, pk=suggestion_id)
    if not may_edit(request.user, suggestion.space, suggestion.path):
        raise PermissionDenied
    answer, refusal = request.POST.get("answer", ""), ""
    if answer == "accept":
        try:
            suggestions.accept(suggestion, request.user)
        except (DocumentError, InvalidTextError) as error:
            refusal = str(error)
    elif answer == "decline":
        decline(suggestion)
    else:
        return HttpResponseBadRequest()
    message = suggestion.message
    use_id = use_that_made(message, -suggestion.pk) if message and request.htmx else None
    if message is not None and use_id is not None:
        since = saved.states([-suggestion.pk], get_token(request), refusal)
        return HttpResponse(updated_card_html(message, use_id, since[-suggestion.pk]))
    if refusal:
        messages.error(request, refusal)
    elif message is not None and request.POST.get("from") == "chat":
        return redirect("conversation", message.session_id)
    else:
        messages.success(request, _("Saved to memory.") if answer == "accept" else _("Declined."))
    return redirect("memory_inbox")


def suggestion_cards(rows: Iterable[Suggestion]) -> list[SuggestionCard]:
    """Return the cards of `rows`."""
    return [
        SuggestionCard(row, marked_lines(row.text) if row.kind == Suggestion.Kind.INSTRUCTIONS else ()) for row in rows
    ]


def waiting_items(user: User) -> WaitingItems | None:
    """Return how much waits for `user`, for the badge of the sidebar; None when nothing does. Questions whether a line
    is still true do not count: nothing is blocked until they are answered.

    One statement while nothing waits, because every page of the chat asks.
    """
    rows = (
        Decision.objects.writable_by(user).undecided(),
        waiting_for(user),
        proposals.to_decide(user),
        proposals.declined_of(user),
    )
    asked = User.objects.filter(pk=user.pk).values_list(*(Exists(each.order_by()) for each in rows))
    if not any(any(row) for row in asked):
        return None
    count = waiting_for(user).count() + len(decisions.open_questions(user))
    count += proposals.to_decide(user).count() + proposals.declined_of(user).count()
    return WaitingItems(count, reverse("memory_inbox")) if count else None
