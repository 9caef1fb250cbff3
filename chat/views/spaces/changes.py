"""Make, change, archive and delete spaces."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chat.views.spaces.frame import owned_space
from oneclaw.audit.holds import HeldError
from oneclaw.models import Space
from oneclaw.people.requests import SignedInRequest
from oneclaw.spaces import deletion, lifecycle
from oneclaw.text import InvalidTextError


@require_http_methods(["GET", "POST"])
def new_space(request: SignedInRequest) -> HttpResponse:
    """Show the form of a new space; POST makes it. Status 403 when only administrators may."""
    if not lifecycle.may_make_spaces(request.user):
        refusal = lifecycle.MayNotMakeSpacesError().sentence
        return render(request, "chat/spaces/edit.html", {"refusal": refusal, "is_refused": True}, status=403)
    return edited(request, None)


@require_http_methods(["GET", "POST"])
def edit_space(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Show the form of a space to its owners; POST saves it."""
    return edited(request, owned_space(request.user, space_id))


def edited(request: SignedInRequest, space: Space | None) -> HttpResponse:
    """Show the form of `space`, or of a new one for None; POST saves it."""
    shown, refusal = space or Space(kind=Space.Kind.PROJECT, needs_second_person=False), ""
    if request.method == "POST":
        form = request.POST
        try:
            draft = lifecycle.checked_draft(
                form.get("name"),
                form.get("description", ""),
                form.get("colour", 0),
                form.get("kind", Space.Kind.PROJECT),
                form.get("needs_second_person") == "on",
                form.get("links_for_everybody") == "on",
            )
        except InvalidTextError as error:
            refusal = error.sentence
            shown.name, shown.description = form.get("name", ""), form.get("description", "")
        else:
            if space is None:
                return redirect("space", lifecycle.create(request.user, draft).pk)
            lifecycle.update(space, draft)
            return redirect("space", space.pk)
    context = {"space": shown, "is_new": space is None, "refusal": refusal, "colours": lifecycle.COLOURS}
    return render(request, "chat/spaces/edit.html", context, status=422 if refusal else 200)


@require_POST
def archive_space(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Archive the space, or with `undo` bring it back."""
    space = owned_space(request.user, space_id)
    if "undo" in request.POST:
        lifecycle.unarchive(space)
    else:
        lifecycle.archive(space)
        messages.success(request, _("Archived. The space can be read and searched, and nothing in it changes."))
    return redirect("space", space.pk)


@require_http_methods(["GET", "POST"])
def delete_space(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Say what would go (GET); POST with the digest of that plan deletes the space."""
    space = owned_space(request.user, space_id)
    refusal = ""
    if request.method == "POST":
        try:
            deletion.delete(space, request.user, request.POST.get("digest", ""))
        except (deletion.ChangedPlanError, HeldError) as error:
            refusal = error.sentence
        except lifecycle.SpaceNotFoundError:
            raise Http404 from None
        else:
            messages.success(request, _("The space “%(name)s” was deleted.") % {"name": space.name})
            return redirect("spaces")
    context = {"space": space, "plan": deletion.plan(space), "refusal": refusal}
    return render(request, "chat/spaces/delete.html", context, status=409 if refusal else 200)
