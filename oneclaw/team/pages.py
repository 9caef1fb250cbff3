"""The navigation between the pages under /team/: five groups, each with its pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

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
    # The names of URLs that belong to it without beginning with its address.
    also: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return reverse(self.url_name)

    def may_open(self, user: User) -> bool:
        """Return whether `user` may open the page. Without a permission it is Django's admin."""
        return user.has_perm(self.permission) if self.permission else user.is_staff


@dataclass(frozen=True)
class TeamGroup:
    """Pages that belong together: one tab."""

    title: StrOrPromise
    pages: tuple[TeamPage, ...]

    @property
    def address(self) -> str:
        return self.pages[0].address


@dataclass(frozen=True)
class Tab:
    """A link of the navigation."""

    title: StrOrPromise
    address: str
    is_current: bool


# In their order. A page that is added here is in the navigation of all of them (templates/team/base.html).
GROUPS = (
    TeamGroup(
        _("People"),
        (
            TeamPage("team_people", _("Everybody"), "oneclaw.manage_people"),
            TeamPage("invitations", _("Invitations"), "oneclaw.manage_people"),
            TeamPage("groups", _("Groups"), "oneclaw.manage_people"),
        ),
    ),
    TeamGroup(
        _("Money"),
        (
            TeamPage("team_usage", _("Usage"), "oneclaw.view_spend"),
            TeamPage("team_budgets", _("Budgets"), "oneclaw.change_budget"),
            TeamPage("team_limits", _("Limits"), "oneclaw.change_runtimesetting"),
        ),
    ),
    TeamGroup(_("Models"), (TeamPage("team_models", _("Models"), "oneclaw.change_modelrule"),)),
    TeamGroup(
        _("Safety"),
        (
            TeamPage("team_audit", _("Audit log"), "oneclaw.view_audit"),
            TeamPage("team_keeping", _("Retention"), "oneclaw.manage_people", also=("offboarding",)),
        ),
    ),
    TeamGroup(
        _("System"),
        (
            TeamPage("team_settings", _("Settings"), "oneclaw.change_runtimesetting"),
            TeamPage("team_health", pgettext_lazy("of the server", "Health"), "oneclaw.view_invariantrun"),
            TeamPage("admin:index", _("Advanced"), ""),
        ),
    ),
)


def first_page(request: SignedInRequest) -> HttpResponse:
    """Lead to the first page that the person may open."""
    groups = groups_for(request.user)
    if not groups:
        raise Http404
    return redirect(groups[0].address)


def team_pages(request: HttpRequest) -> dict[str, Any]:
    """Return the groups of pages under /team/ that the person may open, and the tabs of the page that is open. Both are
    found out when a template asks; a context processor."""
    # A page of an error may be rendered before the person is known.
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return {"team_pages": [], "team_tabs": []}
    return {"team_pages": lambda: groups_for(user), "team_tabs": lambda: list(tabs_of(request, groups_for(user)))}


def groups_for(user: User) -> list[TeamGroup]:
    """Return the groups with those pages that `user` may open, without the empty ones.

    Without a role these are none, and no permission is read.
    """
    if not has_role(user):
        return []
    groups = (TeamGroup(each.title, tuple(page for page in each.pages if page.may_open(user))) for each in GROUPS)
    return [each for each in groups if each.pages]


def tabs_of(request: HttpRequest, groups: list[TeamGroup]) -> Iterator[list[Tab]]:
    """Yield the tabs of `groups`, then those of the pages in the open one, when it has several."""
    here = next((page for group in groups for page in group.pages if is_open(page, request)), None)
    yield [Tab(each.title, each.address, here in each.pages) for each in groups]
    open_group = next((each for each in groups if here in each.pages), None)
    if open_group is not None and len(open_group.pages) > 1:
        yield [Tab(each.title, each.address, each is here) for each in open_group.pages]


def is_open(page: TeamPage, request: HttpRequest) -> bool:
    """Return whether `request` is for `page` or for one below it."""
    match = request.resolver_match
    return request.path.startswith(page.address) or (match is not None and match.url_name in page.also)
