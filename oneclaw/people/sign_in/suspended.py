"""Keep a change that waits until its person has proved who they are, and carry it out afterwards.

It waits in the session under a secret id, so that no other site can have it carried out, and for a short time, so that
one that was given up is not carried out on a later day.
"""

import time
from typing import Any

from django.contrib import messages
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import resolve, reverse
from django.utils.crypto import get_random_string
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from oneclaw.people.requests import SignedInRequest

# The key in the session of the one change that waits.
SESSION_KEY = "suspended_change"
ID_CHARS = 32
# As long as the answer of a provider of single sign-on is waited for.
WAIT_MAX_SECONDS = 600


def suspend(request: HttpRequest) -> str:
    """Keep what `request` would change, and return the address that carries it out, or shows the page that was asked
    for.

    Whatever waited before is given up.
    """
    request.session.pop(SESSION_KEY, None)
    if request.method != "POST":
        return request.get_full_path()
    suspended_id = get_random_string(ID_CHARS)
    request.session[SESSION_KEY] = {
        "id": suspended_id,
        "at": time.time(),
        "path": request.path_info,
        "query": request.GET.urlencode(),
        "form": request.POST.urlencode(),
        # A file does not fit into a session.
        "had_files": bool(request.FILES),
        "page": page_of_form(request),
    }
    return reverse("resume_change", args=[suspended_id])


def page_of_form(request: HttpRequest) -> str:
    """Return the address of the page whose form was sent; that of the chat when the browser does not say."""
    page = request.headers.get("Referer", "")
    is_own = url_has_allowed_host_and_scheme(page, {request.get_host()}, request.is_secure())
    return page if is_own else reverse("chat")


@never_cache
@require_GET
def resume(request: SignedInRequest, suspended_id: str) -> HttpResponse:
    """Carry out the change that waits under `suspended_id`, or say that it was not made.

    Its view decides whether the person has proved who they are; otherwise they are asked again.
    """
    kept = taken(request, suspended_id)
    if kept is None:
        return render(request, "people/nothing_to_confirm.html", status=410)
    if kept["had_files"]:
        messages.warning(request, _("Your change was not made, because it had a file. Make it again now."))
        return redirect(kept["page"])
    if time.time() - kept["at"] > WAIT_MAX_SECONDS:
        messages.warning(request, _("Your change was not made, because the confirmation came late. Make it again."))
        return redirect(kept["page"])
    return carried_out(request, kept)


@transaction.atomic
def taken(request: HttpRequest, suspended_id: str) -> dict[str, Any] | None:
    """Return the change that waits under `suspended_id`, which waits no more; None when there is none.

    Of two requests at once, as of a double click, one gets it: the row of the session is locked, and read again.
    """
    row = Session.objects.select_for_update().filter(session_key=request.session.session_key).first()
    kept: dict[str, Any] | None = row.get_decoded().get(SESSION_KEY) if row is not None else None
    if kept is None or kept["id"] != suspended_id:
        return None
    request.session.pop(SESSION_KEY, None)
    request.session.save()
    return kept


def carried_out(request: SignedInRequest, kept: dict[str, Any]) -> HttpResponse:
    """Return what the view of the change answers, which is asked as if the form had been sent now."""
    view, arguments, named = resolve(kept["path"])
    # Read first: otherwise Django would read the form of this request once a view asks for its files.
    _form = request.POST
    request.method, request.path, request.path_info = "POST", kept["path"], kept["path"]
    request.GET, request.POST = QueryDict(kept["query"]), QueryDict(kept["form"])
    response: HttpResponse = view(request, *arguments, **named)
    return response
