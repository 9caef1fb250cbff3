"""Ask a person whose device is in another timezone than theirs whether theirs shall change."""

from http import HTTPStatus

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from oneclaw import zones
from oneclaw.people.requests import SignedInRequest


@require_http_methods(["GET", "POST"])
def timezone_here(request: SignedInRequest) -> HttpResponse:
    """Show the question about the timezone `here` of the device; status 204 when it is the person's own, or unknown.
    POST makes it theirs (`answer` = change), or leaves theirs."""
    user, here = request.user, (request.POST or request.GET).get("here", "")
    is_other = zones.is_known(here) and not zones.are_one(here, user.timezone)
    if request.method == "GET":
        if not is_other:
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        return render(request, "people/_timezone.html", {"here": here})
    if is_other and request.POST.get("answer") == "change":
        user.timezone, user.timezone_chosen = here, True
        user.save(update_fields=["timezone", "timezone_chosen"])
        # All times on the page are of the timezone now.
        return HttpResponse(headers={"HX-Refresh": "true"}) if request.htmx else redirect("chat")
    return HttpResponse() if request.htmx else redirect("chat")
