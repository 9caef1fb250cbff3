"""Search over the person's own conversations: a page, and the results of the palette while typing."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chat.library import search as library
from oneclaw.people.requests import SignedInRequest
from oneclaw.web.rate_limit import TooManyRequestsError, searching
from oneclaw.words import QUESTION_MAX_CHARS


@require_GET
def search(request: SignedInRequest) -> HttpResponse:
    template = "chat/_found.html" if request.htmx else "chat/search.html"
    try:
        with searching(request.user.pk):
            context = found_by(request)
            if not request.htmx:
                # Too slow for every keystroke.
                context["related"] = library.related(request.user, context["question"], context["found"])
    except TooManyRequestsError as refusal:
        response = render(request, template, {"refusal": refusal.sentence}, status=429)
        response["Retry-After"] = str(refusal.retry_after)
        return response
    return render(request, template, context)


def found_by(request: SignedInRequest) -> dict[str, Any]:
    """Return what the question of the address finds."""
    question = request.GET.get("q", "")[:QUESTION_MAX_CHARS].replace("\x00", "")
    # One more than is shown tells whether that is all.
    found = library.messages(request.user, question, library.MAX_MESSAGES + 1)
    return {
        "question": question,
        "sessions": library.titles(request.user, question),
        "files": library.files(request.user, question),
        "found": found[: library.MAX_MESSAGES],
        "most": library.MAX_MESSAGES if len(found) > library.MAX_MESSAGES else None,
        "of_extensions": library.extension_results(request.user, question),
    }
