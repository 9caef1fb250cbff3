"""Shared links of a conversation: created, listed and revoked by its owner, and open to all who have the link."""

import uuid

from csp.decorators import csp
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from chat.models import SharedLink
from chat.transfer import share as sharing
from chat.views import lists, toasts
from chat.views.own import managed_session
from chat.views.toasts import Toast
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason

# A shared page may load its own styles and scripts and nothing else; no form, no frame.
POLICY = dict.fromkeys(("default-src", "base-uri", "form-action", "frame-ancestors"), "'none'") | dict.fromkeys(
    ("script-src", "style-src", "font-src", "img-src"), "'self'"
)


@never_cache
@require_http_methods(["GET", "POST"])
def share(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show the form and the existing links (GET), or create a link, whose address is shown once (POST)."""
    session = managed_session(request.user, session_id)
    if session.owner_id != request.user.pk:
        raise Http404
    address = refusal = ""
    if request.method == "POST":
        period = request.POST.get("period", sharing.USUAL)
        if period not in sharing.PERIODS:
            raise SuspiciousOperation("period is none of the periods")
        try:
            _link, token = sharing.share(session, period)
            address = request.build_absolute_uri(reverse("shared", args=[token]))
        except (sharing.NotShareableError, sharing.TooManyLinksError) as refused:
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


@require_GET
def shared_links(request: SignedInRequest) -> HttpResponse:
    """Show all shared links of the person."""
    links = SharedLink.objects.visible_to(request.user).select_related("session").defer("snapshot")
    context = {"links": links, "toast": toasts.take(request), "here": request.path}
    return render(request, "chat/shared_links.html", context)


@require_POST
def revoke(request: SignedInRequest, link_id: int) -> HttpResponse:
    count = sharing.revoke(request.user, SharedLink.objects.visible_to(request.user).filter(pk=link_id))
    return lists.answered(request, Toast(said(count)))


@require_POST
def unshare(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Revoke every link to one conversation."""
    count = sharing.revoke(request.user, SharedLink.objects.visible_to(request.user).filter(session=session_id))
    return lists.answered(request, Toast(said(count)))


def said(count: int) -> Reason:
    return Reason("links.revoked", {"number": count}) if count else Reason("conversations.unchanged")


@login_not_required
@require_safe
@never_cache
@csp(POLICY)  # type: ignore[arg-type]
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """Show a shared conversation to anybody; every invalid link gets the same page."""
    link = sharing.find(token)
    context = {"link": link, "shown": sharing.shown(link) if link else ()}
    response = render(request, "chat/shared.html", context, status=200 if link else 404)
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Referrer-Policy"] = "no-referrer"
    return response
