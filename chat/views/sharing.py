"""Shared links of a conversation: created, listed and revoked by its owner, opened and copied by those they are for."""

import uuid

from csp.decorators import csp
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from chat.conversations.model_choice import open_spaces
from chat.models import SharedLink
from chat.transfer import link_copies
from chat.transfer import share as sharing
from chat.views import lists, toasts
from chat.views.own import managed_session
from chat.views.toasts import Toast
from oneclaw.models import User
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
            _link, token = sharing.share(request.user, session, period, *chosen_scope(request.POST.get("scope", "")))
            address = request.build_absolute_uri(reverse("shared", args=[token]))
        except sharing.REFUSALS as refused:
            refusal = refused.sentence
    links = session.shared_links.select_related("space").defer("snapshot")
    context = {
        "session": session,
        "links": sharing.with_open_spaces(request.user, links),
        "spaces": open_spaces(request.user),
        "periods": periods(),
        "usual": sharing.USUAL,
        "address": address,
        "refusal": refusal,
        "here": request.path,
    }
    return render(request, "chat/share.html", context, status=422 if refusal else 200)


def chosen_scope(value: str) -> tuple[str, int | None]:
    """Return the scope of the form's value, such as "everybody" or "space-12", and the id of the space."""
    scope, _, space_id = value.partition("-")
    if scope == SharedLink.Scope.SPACE and space_id.isascii() and space_id.isdigit() and len(space_id) < 19:
        return scope, int(space_id)
    if value and value not in (SharedLink.Scope.EVERYBODY, SharedLink.Scope.SIGNED_IN):
        raise SuspiciousOperation("scope is none of the scopes")
    return value or SharedLink.Scope.EVERYBODY, None


def periods() -> list[tuple[str, str]]:
    names = {"day": _("1 day"), "week": _("7 days"), "month": _("30 days"), "never": _("never")}
    return [(period, names[period]) for period in sharing.PERIODS]


@require_GET
def shared_links(request: SignedInRequest) -> HttpResponse:
    """Show all shared links of the person."""
    links = SharedLink.objects.visible_to(request.user).select_related("session", "space").defer("snapshot")
    context = {
        "links": sharing.with_open_spaces(request.user, links),
        "toast": toasts.take(request),
        "here": request.path,
    }
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
    """Show a shared conversation to those for whom it is; every link that opens nothing gets the same page."""
    person = request.user if isinstance(request.user, User) else None
    link = sharing.find(token, person)
    if link is None and person is None and sharing.needs_sign_in(token):
        return guarded(redirect_to_login(request.path))
    can_copy = link is not None and person is not None and link.can_be_copied
    context = {"link": link, "shown": sharing.shown(link) if link else (), "token": token if can_copy else ""}
    return guarded(render(request, "chat/shared.html", context, status=200 if link else 404))


@never_cache
@require_http_methods(["GET", "POST"])
def copy(request: SignedInRequest, token: str) -> HttpResponse:
    """Say what a copy of a shared conversation is (GET), or make one for the reader and open it (POST)."""
    link = sharing.find(token, request.user)
    if link is None or not link.can_be_copied:
        raise Http404
    if request.method == "POST":
        return redirect(link_copies.copy_link(request.user, link))
    return guarded(
        render(request, "chat/copy_shared.html", {"link": link, "token": token, "sharer": link.session.owner})
    )


def guarded(response: HttpResponse) -> HttpResponse:
    """Return `response` with headers that keep it out of search engines, and its address out of other sites' logs."""
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Referrer-Policy"] = "no-referrer"
    return response
