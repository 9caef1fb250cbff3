"""Links to a conversation: made, listed and revoked by its owner, and read by whoever has one."""

import uuid

from csp.decorators import csp
from django.contrib.auth.decorators import login_required
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from chat.models import SharedLink
from chat.transfer import share as sharing
from chat.views import lists, pages, toasts
from chat.views.toasts import Toast
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason

# Of a shared page: its own looks and scripts, which ask for nothing else; no form, no frame.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "font-src": "'self'",
    "img-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def share(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """GET: how long a link should open, and the links that there are. POST: a new one, whose address is shown once."""
    session = pages.own_session(request, session_id)
    address = refusal = ""
    if request.method == "POST":
        period = request.POST.get("period", sharing.USUAL)
        if period not in sharing.PERIODS:
            raise SuspiciousOperation("period is none of the periods")
        try:
            _link, token = sharing.share(session, period)
            address = request.build_absolute_uri(reverse("shared", args=[token]))
        except (sharing.NotShareable, sharing.TooMany) as refused:
            refusal = refused.sentence
    links = session.shared_links.defer("snapshot")
    context = {
        "session": session,
        "links": links,
        "periods": periods(),
        "usual": sharing.USUAL,
        "address": address,
        "refusal": refusal,
        "here": request.path,
    }
    return render(request, "chat/share.html", context, status=422 if refusal else 200)


def periods() -> list[tuple[str, str]]:
    names = {"day": _("1 day"), "week": _("7 days"), "month": _("30 days"), "never": _("never")}
    return [(period, names[period]) for period in sharing.PERIODS]


@login_required
@require_GET
def shared_links(request: SignedInRequest) -> HttpResponse:
    """Everything that the person shares."""
    links = SharedLink.objects.visible_to(request.user).select_related("session").defer("snapshot")
    context = {"links": links, "toast": toasts.take(request), "here": request.path}
    return render(request, "chat/shared_links.html", context)


@login_required
@require_POST
def revoke(request: SignedInRequest, link_id: int) -> HttpResponse:
    count = sharing.revoke(SharedLink.objects.visible_to(request.user).filter(pk=link_id))
    return lists.answered(request, Toast(said(count)))


@login_required
@require_POST
def unshare(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Revoke every link to one conversation."""
    count = sharing.revoke(SharedLink.objects.visible_to(request.user).filter(session=session_id))
    return lists.answered(request, Toast(said(count)))


def said(count: int) -> Reason:
    return Reason("links.revoked", {"number": count}) if count else Reason("conversations.unchanged")


@require_safe
@never_cache
@csp(POLICY)  # type: ignore[arg-type]
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """What somebody shares, for everybody; the same page for every link that opens nothing."""
    link = sharing.find(token)
    context = {"link": link, "shown": sharing.shown(link) if link else ()}
    response = render(request, "chat/shared.html", context, status=200 if link else 404)
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Referrer-Policy"] = "no-referrer"
    return response
