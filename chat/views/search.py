"""Search over the person's own conversations: a page, and the results of the palette while typing."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chat.library import search as searching
from oneclaw.people.requests import SignedInRequest
from oneclaw.web.rate_limit import TooManyRequestsError, searches


@require_GET
def search(request: SignedInRequest) -> HttpResponse:
    template = "chat/_found.html" if request.htmx else "chat/search.html"
    try:
        searches.take(request.user.pk)
    except TooManyRequestsError as refusal:
        response = render(request, template, {"refusal": refusal.sentence}, status=429)
        response["Retry-After"] = str(refusal.retry_after)
        return response
    question = request.GET.get("q", "")[: searching.QUESTION_MAX_CHARS].replace("\x00", "")
    # One more than is shown tells whether that is all.
    found = searching.messages(request.user, question, searching.MAX_MESSAGES + 1)
    context = {
        "question": question,
        "sessions": searching.titles(request.user, question),
        "files": searching.files(request.user, question),
        "found": found[: searching.MAX_MESSAGES],
        "most": searching.MAX_MESSAGES if len(found) > searching.MAX_MESSAGES else None,
        "of_extensions": searching.extension_results(request.user, question),
    }
    return render(request, template, context)
