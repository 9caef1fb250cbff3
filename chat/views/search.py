"""Search over one's own conversations: a page, and what the palette shows while somebody types."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chat.library import search as searching
from chat.library.providers import elsewhere
from oneclaw.people.requests import SignedInRequest


@login_required
@require_GET
def search(request: SignedInRequest) -> HttpResponse:
    question = request.GET.get("q", "")[: searching.LONGEST].replace("\x00", "")
    # One more than is shown tells whether that is all.
    found = searching.messages(request.user, question, searching.MESSAGES + 1)
    context = {
        "question": question,
        "sessions": searching.titles(request.user, question),
        "files": searching.files(request.user, question),
        "found": found[: searching.MESSAGES],
        "most": searching.MESSAGES if len(found) > searching.MESSAGES else None,
        "elsewhere": elsewhere(request.user, searching.words_of(question)),
    }
    return render(request, "chat/_found.html" if request.htmx else "chat/search.html", context)
