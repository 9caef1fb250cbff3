"""Serve the inbox: everything about memory that waits for the person, in one list."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.core.cache import caches
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpResponse, HttpResponseBadRequest
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from chat.conversations.message_pages import updated_card_html
from chat.extensions import WaitingItems
from memory.access.rights import may_edit
from memory.documents.calls import Made, use_that_made
from memory.documents.write import DocumentError
from memory.files.missing import documents_without_file
from memory.files.waiting import waiting_files
from memory.lab import golden
from memory.models import Suggestion
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

# The rows that may wait for a person, and what decides whether they do: those that `counted` reads. By hand, because
# composing it by the ORM takes longer than the database needs for it (benchmarks/pages.py).
WAITING_STATE = """
WITH mine AS MATERIALIZED (
    SELECT member.space_id, member.role <> 'reader' AS may_write, member.role = 'owner' AS is_owner,
           space.needs_second_person, space.archived_at IS NOT NULL AS is_archived
      FROM oneclaw_spacerole member JOIN oneclaw_space space ON space.id = member.space_id
     WHERE member.user_id = %(user)s)
SELECT md5(string_agg(part, ' ' ORDER BY part)) FROM (
    SELECT concat_ws(' ', 'decision', decision.id, document.version, document.content_hash, md5(revision.hunks::text))
      FROM memory_decision decision JOIN memory_memoryrevision revision ON revision.id = decision.revision_id
           JOIN memory_memorydocument document ON document.id = revision.document_id
           JOIN mine ON mine.space_id = revision.space_id
     WHERE decision.decided_at IS NULL AND mine.may_write
    UNION ALL
    SELECT concat_ws(' ', 'suggestion', suggestion.id)
      FROM memory_suggestion suggestion JOIN mine USING (space_id)
     WHERE suggestion.status = 'waiting' AND mine.may_write
           AND (mine.is_owner OR NOT mine.needs_second_person
                OR suggestion.path NOT IN ('MEMORY.md', 'memory.md', 'AGENTS.md'))
    UNION ALL
    SELECT concat_ws(' ', 'proposal', proposal.id)
      FROM memory_proposal proposal JOIN mine USING (space_id)
     WHERE proposal.state = 'waiting' AND mine.may_write AND NOT mine.is_archived
           AND NOT (mine.needs_second_person AND (proposal.author_id IS NOT DISTINCT FROM %(user)s
                    OR coalesce(proposal.writers @> to_jsonb(%(user)s::bigint), false)))
    UNION ALL
    SELECT concat_ws(' ', 'declined', proposal.id)
      FROM memory_proposal proposal JOIN mine USING (space_id)
     WHERE proposal.state = 'declined' AND proposal.author_id = %(user)s AND proposal.heard_at IS NULL
) AS waiting (part)
"""


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
    use_id = use_that_made(message, Made("suggestion", suggestion.pk)) if message and request.htmx else None
    if message is not None and use_id is not None:
        update = saved.suggested([suggestion.pk], get_token(request), refusal)[suggestion.pk]
        return HttpResponse(updated_card_html(message, use_id, update))
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

    One statement, because every page of the chat asks: the count is kept as long as nothing that it depends on changes.
    """
    state = _waiting_state(user)
    if state is None:
        return None
    cache, key = caches["memory_home"], f"waiting-{user.pk}-{state}"
    count: int | None = cache.get(key)
    if count is None:
        count = counted(user)
        # Something may have changed in between.
        if _waiting_state(user) == state:
            cache.set(key, count)
    return WaitingItems(count, reverse("memory_inbox")) if count else None


def counted(user: User) -> int:
    """Return how much waits for `user`. It reads the lines that the questions are about."""
    count = waiting_for(user).count() + len(decisions.open_questions(user))
    return count + proposals.to_decide(user).count() + proposals.declined_of(user).count()


def _waiting_state(user: User) -> str | None:
    """Return a text that differs whenever `counted(user)` may; None when it is 0 because there is no row."""
    with connection.cursor() as cursor:
        cursor.execute(WAITING_STATE, {"user": user.pk})
        found: str | None = cursor.fetchone()[0]
    return found
