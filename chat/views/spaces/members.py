"""The members of a space: who they are, and what owners change."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Case, Count, IntegerField, Value, When
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from chat.views.spaces.frame import own_role, owned_space, tab_page
from oneclaw.models import Group, Space, SpaceMember
from oneclaw.people.requests import SignedInRequest
from oneclaw.spaces import lifecycle, members
from oneclaw.text import StrOrPromise

# Members of one page.
PAGE_MEMBERS = 50
# Members to whom a page offers to hand the space over.
OFFERED_MAX_MEMBERS = 200
ROLE_LABELS: dict[str, StrOrPromise] = {
    SpaceMember.Role.OWNER: gettext_lazy("Owner"),
    SpaceMember.Role.EDITOR: gettext_lazy("Editor"),
    SpaceMember.Role.READER: gettext_lazy("Reader"),
}
# The columns of the names of members.
NAMES = ("space_id", "user__first_name", "user__last_name", "user__email")
# Owners first.
RANK = Case(
    *(When(role=role, then=Value(rank)) for rank, role in enumerate(SpaceMember.Role.values)),
    output_field=IntegerField(),
)


@require_GET
def member_list(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Show the members and groups of a space, owners first."""
    return shown(request, space_id)


def shown(request: SignedInRequest, space_id: int, refusal: str = "") -> HttpResponse:
    """Show the members and groups, and why a change was refused."""
    held = own_role(request.user, space_id)
    space = held.space
    found = space.members.select_related("user").order_by(RANK, "user__first_name", "user__email")
    page = Paginator(found.only("role", "since", "user_id", *NAMES), PAGE_MEMBERS).get_page(request.GET.get("page"))
    options = {role: role_options(role) for role in ROLE_LABELS}
    groups = space.groups.select_related("group").annotate(people=Count("group__members")).order_by("group__name")
    context: dict[str, Any] = {
        "page": page,
        "rows": [(member, ROLE_LABELS[member.role], options[member.role]) for member in page],
        "groups": groups,
        "roles": ROLE_LABELS.items(),
        "is_member": space.members.filter(user=request.user).exists(),
        "refusal": refusal,
        "typed": request.POST.get("email", "") if refusal else "",
    }
    if held.role == SpaceMember.Role.OWNER:
        context["others"] = found.exclude(user=request.user).only(*NAMES)[:OFFERED_MAX_MEMBERS]
        context["offered_groups"] = Group.objects.exclude(spaces__space=space)
    return tab_page(request, held, "members", "chat/spaces/members.html", context, status=422 if refusal else 200)


def role_options(chosen: str) -> SafeString:
    """Return the options of a field for roles, `chosen` selected."""
    rows = ((role, " selected" if role == chosen else "", label) for role, label in ROLE_LABELS.items())
    return format_html_join("", '<option value="{}"{}>{}</option>', rows)


@require_POST
def add_member(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Give a person a role by their email address, or a group (`group`)."""
    space, role = owned_space(request.user, space_id), request.POST.get("role", "")
    if request.POST.get("group"):
        group = get_object_or_404(Group, pk=number(request.POST["group"]))
        return changed(request, space, lambda: members.add_group(space, group, role, by=request.user))
    email = request.POST.get("email", "")
    return changed(request, space, lambda: members.add_by_email(space, email, role, by=request.user))


@require_POST
def change_member(request: SignedInRequest, space_id: int, member_id: int) -> HttpResponse:
    """Change the role of a member (`role-<id>` of the list's form), or take it away (`do` is remove)."""
    space, role = owned_space(request.user, space_id), request.POST.get(f"role-{member_id}", "")
    member = get_object_or_404(space.members, pk=member_id)
    if request.POST.get("do") == "remove":
        return changed(request, space, lambda: members.remove(member, by=request.user))
    return changed(request, space, lambda: members.change_role(member, role, by=request.user))


@require_POST
def change_group(request: SignedInRequest, space_id: int, held_id: int) -> HttpResponse:
    """Change the role of a group (`role`), or take it away (`do` is remove)."""
    space = owned_space(request.user, space_id)
    held = get_object_or_404(space.groups, pk=held_id)
    if request.POST.get("do") == "remove":
        return changed(request, space, lambda: members.remove(held, by=request.user))
    return changed(request, space, lambda: members.change_role(held, request.POST.get("role", ""), by=request.user))


@require_POST
def leave(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Take the person's own role away."""
    space = own_role(request.user, space_id).space
    return changed(request, space, lambda: members.leave(space, request.user))


@require_POST
def hand_over(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Make the member `to` the owner in the person's place."""
    space = owned_space(request.user, space_id)
    member = get_object_or_404(space.members, pk=number(request.POST.get("to", "")))
    return changed(request, space, lambda: members.hand_over(space, request.user, member))


def changed(request: SignedInRequest, space: Space, act: Callable[[], object]) -> HttpResponse:
    """Call `act` and show the members again, or why it was refused; the list of spaces to who has none there now."""
    try:
        act()
    except members.MembersError as error:
        return shown(request, space.pk, error.sentence)
    except lifecycle.SpaceNotFoundError:
        raise Http404 from None
    if Space.objects.visible_to(request.user).filter(pk=space.pk).exists():
        return redirect("space_members", space.pk)
    messages.success(request, _("You are no longer in “%(name)s”.") % {"name": space.name})
    return redirect("spaces")


def number(value: str) -> int:
    """Return the number in a field of a form. Raise Http404 when it is none."""
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise Http404
    return int(value)
