"""The page of limits: how much one person, and everybody together, may do at once or in a minute."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from oneclaw import runtime_settings
from oneclaw.models import RuntimeSetting
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in.fresh import fresh_sign_in_required
from oneclaw.runtime_settings.limits import LIMITS, Limit
from oneclaw.team.settings import changes_settings
from oneclaw.text import UserFacingError


@dataclass(frozen=True)
class ShownLimit:
    """A limit with the text in its field, who has changed it when, and why that text was refused."""

    limit: Limit
    row: RuntimeSetting | None
    text: str
    error: str = ""


@require_GET
@changes_settings
def limits_page(request: SignedInRequest) -> HttpResponse:
    """Show each limit with its default, who has changed it when, and whether the environment decides it."""
    return shown(request)


def shown(request: SignedInRequest, refused: str = "", text: str = "", error: str = "") -> HttpResponse:
    """Return the page; with the limit `refused`, the `text` that it was sent and the `error`."""
    rows = RuntimeSetting.objects.select_related("changed_by").in_bulk(LIMITS)
    limits = []
    for name, each in LIMITS.items():
        row = rows.get(name)
        number = each.number_of("" if each.fixed_by or row is None else row.value)
        is_refused = name == refused
        limits.append(ShownLimit(each, row, text if is_refused else str(number), error if is_refused else ""))
    of_people = [each for each in limits if not each.limit.is_of_everybody]
    of_everybody = [each for each in limits if each.limit.is_of_everybody]
    context = {"sections": [(_("One person"), of_people), (_("Everybody together"), of_everybody)]}
    return render(request, "team/limits.html", context, status=422 if error else 200)


@require_POST
@changes_settings
@fresh_sign_in_required
def change_limit(request: SignedInRequest, name: str) -> HttpResponse:
    """Change one limit."""
    if name not in LIMITS:
        raise Http404
    text = request.POST.get("value", "")
    try:
        runtime_settings.change(request.user, name, text)
    except UserFacingError as refused:
        return shown(request, name, text, str(refused))
    messages.success(request, _("Saved. Everybody has it within seconds."))
    return redirect("team_limits")
