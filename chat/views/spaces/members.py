"""The members of a space: who they are, and what owners change."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, F, FilteredRelation, Q, QuerySet, Value
from django.db.models.functions import Lower, StrIndex
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.formats import date_format
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from chat.views.spaces.frame import own_role, owned_space, tab_page
from oneclaw.models import Group, Invitation, Space, SpaceInvitation, SpaceMember, SpaceRole, User
from oneclaw.people import roles, space_invitations
from oneclaw.people.requests import SignedInRequest
from oneclaw.spaces import lifecycle, members
from oneclaw.text import StrOrPromise
from oneclaw.web.filled_rows import RowTemplate

# Members of one page.
PAGE_MEMBERS = 30
MEMBER = RowTemplate("chat/spaces/_member.html", ("space", "id", "name", "email", "day"))
ROLE_LABELS: dict[str, StrOrPromise] = {
    SpaceMember.Role.OWNER: gettext_lazy("Owner"),
    SpaceMember.Role.EDITOR: gettext_lazy("Editor"),
    SpaceMember.Role.READER: gettext_lazy("Reader"),
}
# The columns of a row, and of the name of its person.
COLUMNS = ("role", "since", "user_id", "space_id", "user__first_name", "user__last_name", "user__email")
# Owners first: the position of the role among all. A Case costs more than the statement.
RANK = StrIndex(Value(" ".join(SpaceMember.Role.values)), "role")


@require_GET
def member_list(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Show the members and groups of a space, owners first."""
    return shown(request, space_id)


def shown(request: SignedInRequest, space_id: int, refusal: str = "") -> HttpResponse:
    """Show the members and groups, and why a change was refused."""
    held = own_role(request.user, space_id)
    space = held.space
    counted = space.members.aggregate(all=Count("pk"), own=Count("pk", filter=Q(user=request.user)))
    found = space.members.select_related("user").only(*COLUMNS).order_by(RANK, "user__first_name", "user__email")
    page = CountedPaginator(found, counted["all"]).get_page(request.GET.get("page"))
    is_owner = held.role == SpaceMember.Role.OWNER
    context: dict[str, Any] = {
        "page": page,
        "rows": rows_html(page, held, request.user),
        "roles": ROLE_LABELS.items(),
        "is_member": bool(counted["own"]),
        "has_others": counted["all"] > counted["own"],
        "refusal": refusal,
        "typed": request.POST.get("email", "") if refusal else "",
    }
    if is_owner:
        context["invitations"] = invited_people(space, request.user)
    groups = list(groups_of(space, with_others=is_owner))
    context["groups"] = [group for group in groups if group.held_id]
    context["offered_groups"] = [group for group in groups if not group.held_id]
    return tab_page(request, held, "members", "chat/spaces/members.html", context, status=422 if refusal else 200)


@dataclass(frozen=True)
class InvitedPerson:
    """An open invitation to a space; the rest is known to those who invite people to this server."""

    invitation: SpaceInvitation
    # Their account waits for them to accept an invitation to the server, too.
    joins_later: bool = False
    # They have neither an account nor an invitation to the server.
    has_no_account: bool = False


def invited_people(space: Space, reader: User) -> list[InvitedPerson]:
    """Return the open invitations of `space`. Who has an account is said only to those who see all people anyway."""
    found = list(space.invitations.order_by("email"))
    if not roles.has_role(reader) or not reader.has_perm(roles.MANAGE_PEOPLE):
        return [InvitedPerson(each) for each in found]
    emails = [each.email for each in found]
    people = User.objects.annotate(lower=Lower("email")).filter(lower__in=emails)
    have_account = set(people.values_list("lower", flat=True))
    pending = Invitation.objects.pending().annotate(lower=Lower("email")).filter(lower__in=emails)
    are_invited = set(pending.values_list("lower", flat=True))
    return [
        InvitedPerson(
            each,
            joins_later=each.email in are_invited - have_account,
            has_no_account=each.email not in are_invited | have_account,
        )
        for each in found
    ]


def groups_of(space: Space, *, with_others: bool) -> QuerySet[Any]:
    """Return the groups that are members of `space`, by name, each with its number of people; `with_others` also those
    that are not, whose `held_id` is None. One query."""
    groups = Group.objects.alias(held=FilteredRelation("spaces", condition=Q(spaces__space=space)))
    if not with_others:
        groups = groups.filter(held__isnull=False)
    return groups.annotate(held_id=F("held__pk"), role=F("held__role"), people=Count("members")).order_by("name")


class CountedPaginator(Paginator):
    """The pages of members whose number is known, so that it is not counted again."""

    def __init__(self, rows: Any, count: int) -> None:
        super().__init__(rows, PAGE_MEMBERS)
        self.count = count


def rows_html(members: Iterable[SpaceMember], held: SpaceRole, user: User) -> SafeString:
    """Return the rows of `members` as `user` sees them, whose role in the space is `held`."""
    is_owner = held.role == SpaceMember.Role.OWNER
    roles = tuple((role, str(label)) for role, label in ROLE_LABELS.items())
    # Many have joined on one day.
    shown_day = cache(lambda day: date_format(day, "SHORT_DATE_FORMAT"))
    rows = [
        MEMBER.filled(
            {
                "space": str(member.space_id),
                "id": str(member.pk),
                "name": str(member.user),
                "email": member.user.email if member.user.first_name else "",
                "day": shown_day(user.day(member.since)),
            },
            role=member.role,
            roles=roles,
            is_owner=is_owner,
            is_you=member.user_id == user.pk,
        )
        for member in members
    ]
    return mark_safe("".join(rows))  # noqa: S308 - rows of a template


@require_POST
def add_member(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Invite a person by their email address, or give a group (`group`) a role."""
    space, role = owned_space(request.user, space_id), request.POST.get("role", "")
    if request.POST.get("group"):
        group = get_object_or_404(Group, pk=number(request.POST["group"]))
        return changed(request, space, lambda: members.add_group(space, group, role, by=request.user))
    email = request.POST.get("email", "")
    return changed(request, space, lambda: space_invitations.invite(space, email, role, by=request.user))


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
