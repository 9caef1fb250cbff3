"""Serve the search in a person's memory."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memory.index.vectors import notice
from memory.models import MemoryDocument
from memory.policy import switches
from memory.policy.access import Sources
from memory.search.manager import HybridSearchManager
from memory.search.passage import QUERY_MAX_CHARS, RESULTS_SHOWN, Passage
from oneclaw.models import Space, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.web.rate_limit import TooManyRequestsError, searches


@require_GET
def search_page(request: SignedInRequest) -> HttpResponse:
    """Search all memory that the person may read; without a query, show the field alone."""
    query = request.GET.get("q", "")[:QUERY_MAX_CHARS]
    context: dict[str, Any] = {"query": query, "notice": notice(MemoryDocument.objects.visible_to(request.user))}
    if query.strip():
        try:
            searches.take(request.user.pk)
        except TooManyRequestsError as refusal:
            response = render(request, "memory/search.html", context | {"refusal": refusal.sentence}, status=429)
            response["Retry-After"] = str(refusal.retry_after_seconds)
            return response
        context["passages"] = search_results(request.user, query)
    return render(request, "memory/search.html", context)


def search_results(user: User, query: str) -> list[Passage]:
    """Return the passages for `query` in all spaces of `user`, as the model would be shown them."""
    said_by = user if switches.is_on(user, switches.Switch.TRANSCRIPTS) else None
    manager = HybridSearchManager(Space.objects.visible_to(user), Sources(transcripts_of=said_by))
    return manager.search(query, max_results=RESULTS_SHOWN, today=user.day())
