"""The page of a person's channels: when they get a new conversation, where their messages come from, linked peers."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from chat.conversations import lifecycle
from chat.models import IdentityLink, ResetChoice, SessionRoute
from chat.routes import identities
from chat.routes.resets import choice_of
from chat.views.channel_forms import LinkForm, ResetForm, RouteResetForm
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import UserFacingError

# Routes that the page shows, the last used first.
SHOWN_ROUTES = 200


@require_http_methods(["GET", "POST"])
def channels(request: SignedInRequest) -> HttpResponse:
    """Show the page, or save when all routes of the person get a new conversation."""
    choice = choice_of(request.user) or ResetChoice(owner=request.user)
    form = ResetForm(request.POST or None, instance=choice)
    if request.method == "POST" and form.is_valid():
        form.save()
        SessionRoute.objects.visible_to(request.user).check_now()
        messages.success(request, _("Saved."))
        return redirect("channels")
    return shown(request, form, LinkForm())


def shown(
    request: SignedInRequest, form: ResetForm, link_form: LinkForm, code: str = "", status: int = 200
) -> HttpResponse:
    """Return the page. `code` was made just now; it is shown only once."""
    routes = SessionRoute.objects.visible_to(request.user).select_related("session", "agent")
    context = {
        "form": form,
        "routes": routes.order_by("-session__active_at", "-pk")[:SHOWN_ROUTES],
        "links": IdentityLink.objects.visible_to(request.user),
        "link_form": link_form,
        "code": code,
        "code_minutes": identities.CODE_MINUTES,
    }
    return render(request, "chat/channels.html", context, status=status)


@require_http_methods(["GET", "POST"])
def route(request: SignedInRequest, route_id: int) -> HttpResponse:
    """Show the page of one route, or save when it gets a new conversation."""
    found = own_route(request, route_id)
    label = found.label
    above = choice_of(request.user) or ResetChoice(owner=request.user)
    form = RouteResetForm(request.POST or None, instance=found, above=above)
    if request.method == "POST" and form.is_valid():
        # Of the other columns, messages may have changed some meanwhile.
        found.save(update_fields=form.Meta.fields)
        SessionRoute.objects.visible_to(request.user).filter(pk=found.pk).check_now()
        messages.success(request, _("Saved."))
        return redirect("channels")
    context = {"form": form, "route": found, "label": label}
    return render(request, "chat/channel.html", context)


@require_POST
def reset(request: SignedInRequest, route_id: int) -> HttpResponse:
    """End the current conversation of a route, which goes on in a new one."""
    session = own_route(request, route_id).session
    if session is not None and session.last_seq:
        lifecycle.end(session, "reset")
    messages.success(request, _("The next message starts a new conversation."))
    return redirect("channels")


@never_cache
@require_http_methods(["GET", "POST"])
def make_code(request: SignedInRequest) -> HttpResponse:
    """Make a code that links a peer, and show it once. A GET, as after “back” in the browser, shows the page."""
    if request.method == "GET":
        return redirect("channels")
    link_form, code = LinkForm(request.POST), ""
    if link_form.is_valid():
        try:
            asked = link_form.cleaned_data
            code = identities.new_code(request.user, asked["name"], is_owner=asked["is_owner"])
            link_form = LinkForm()
        except UserFacingError as refusal:
            link_form.add_error("name", refusal.sentence)
    if link_form.errors:
        link_form.fields["name"].widget.attrs["autofocus"] = True
    form = ResetForm(instance=choice_of(request.user) or ResetChoice(owner=request.user))
    return shown(request, form, link_form, code, status=200 if code else 422)


@require_POST
def unlink(request: SignedInRequest, link_id: int) -> HttpResponse:
    """Remove the link of a peer."""
    identities.unlink(request.user, link_id)
    messages.success(request, _("The peer is no longer linked."))
    return redirect("channels")


def own_route(request: SignedInRequest, route_id: int) -> SessionRoute:
    """Return the person's route. Raise Http404 when there is none."""
    return get_object_or_404(
        SessionRoute.objects.visible_to(request.user).select_related("session__agent"), pk=route_id
    )
