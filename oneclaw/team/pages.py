"""The navigation between the pages under /team/."""

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.roles import has_role
from oneclaw.text import StrOrPromise


@dataclass(frozen=True)
class TeamPage:
    """A page in the navigation: the name of its URL, its title, and the permission that it needs."""

    url_name: str
    title: StrOrPromise
    permission: str


# In their order. A page that is added here is in the navigation of all of them (templates/team/base.html).
PAGES = [
    TeamPage("team_people", _("People"), "oneclaw.manage_people"),
    TeamPage("invitations", _("Invitations"), "oneclaw.manage_people"),
    TeamPage("team_keeping", _("Retention"), "oneclaw.manage_people"),
    TeamPage("groups", _("Groups"), "oneclaw.manage_people"),
    TeamPage("team_usage", _("Usage"), "oneclaw.view_spend"),
    TeamPage("team_budgets", _("Budgets"), "oneclaw.change_budget"),
    TeamPage("team_limits", _("Limits"), "oneclaw.change_runtimesetting"),
    TeamPage("team_models", _("Models"), "oneclaw.change_modelrule"),
    TeamPage("team_settings", _("Settings"), "oneclaw.change_runtimesetting"),
    TeamPage("team_audit", _("Audit log"), "oneclaw.view_audit"),
    TeamPage("team_health", _("Health"), "oneclaw.view_invariantrun"),
]


def first_page(request: SignedInRequest) -> HttpResponse:
    """Lead to the first page that the person may open."""
    pages = pages_for(request.user)
    if not pages:
        raise Http404
    return redirect(pages[0].url_name)


def team_pages(request: HttpRequest) -> dict[str, Any]:
    """Return the pages under /team/ that the person may open, found out when a template asks; a context processor."""
    # A page of an error may be rendered before the person is known.
    user = getattr(request, "user", None)
    return {"team_pages": lambda: pages_for(user) if isinstance(user, User) else []}


def pages_for(user: User) -> list[TeamPage]:
    """Return the pages that `user` may open. Without a role these are none, and no permission is read."""
    if not has_role(user):
        return []
    return [page for page in PAGES if user.has_perm(page.permission)]
