"""Fetch a space for a page, and render the page of one of its tabs, also for other apps."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chat import extensions
from chat.extensions import SpaceTab
from oneclaw.models import Space, SpaceMember, SpaceRole, User
from oneclaw.people.requests import SignedInRequest

TABS = (
    SpaceTab(100, "conversations", _("Conversations"), "space"),
    SpaceTab(900, "members", _("Members"), "space_members"),
)


def own_role(user: User, space_id: int) -> SpaceRole:
    """Return the role of `user` in the shared space, with the space. Raise Http404 when there is none."""
    held = SpaceRole.objects.filter(user=user, space=space_id).select_related("space").first()
    if held is None or held.space.is_private:
        raise Http404
    return held


def owners_role(user: User, space_id: int) -> SpaceRole:
    """Return the role of `user`, an owner of the shared space, with the space. Raise Http404 for any other one."""
    held = own_role(user, space_id)
    if held.role != SpaceMember.Role.OWNER:
        raise Http404
    return held


def owned_space(user: User, space_id: int) -> Space:
    """Return the shared space, which `user` owns. Raise Http404 for any other one."""
    return owners_role(user, space_id).space


def writable_space(user: User, space_id: int) -> Space:
    """Return the shared space, in which `user` may write. Raise Http404 for any other one."""
    held = own_role(user, space_id)
    if held.role not in SpaceMember.WRITERS or held.space.archived_at is not None:
        raise Http404
    return held.space


def tab_page(
    request: SignedInRequest, held: SpaceRole, tab: str, template: str, context: Mapping[str, Any], status: int = 200
) -> HttpResponse:
    """Return the page of the tab `tab` of the space; `template` extends chat/spaces/frame.html."""
    return render(request, template, {**frame(held, tab), **context}, status=status)


def frame(held: SpaceRole, tab: str) -> dict[str, Any]:
    """Return what chat/spaces/frame.html shows: the space, its tabs, and what the person may do."""
    offered = sorted([*TABS, *extensions.memory().space_tabs()], key=_order)
    is_open = held.space.archived_at is None
    return {
        "space": held.space,
        "role": held.role,
        "is_owner": held.role == SpaceMember.Role.OWNER,
        "may_write": held.role in SpaceMember.WRITERS and is_open,
        "tab": tab,
        "tabs": [(each.name, each.label, reverse(each.url_name, args=[held.space_id])) for each in offered],
    }


def _order(tab: SpaceTab) -> tuple[int, str]:
    return tab.order, tab.name
