"""The pages on which admins keep groups of people."""

from collections.abc import Callable

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from oneclaw.models import Group, Invitation, User
from oneclaw.people import roles
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in import sign_up
from oneclaw.people.sign_in.fresh import fresh_sign_in_required
from oneclaw.spaces import groups
from oneclaw.spaces.members import MembersError, NoSuchPersonError
from oneclaw.spaces.names import SpaceNames
from oneclaw.text import InvalidTextError

# Groups and members of one page.
PAGE_ROWS = 100


class OwnGroupError(groups.GroupError):
    """A person who manages people has tried to give themselves the spaces of a group."""

    wording = _("You cannot add yourself to a group. Ask an owner of OneClaw.")


class OwnInvitationError(groups.GroupError):
    """The person who manages people has made the link of this account, or has let it in."""

    wording = _("You have invited or approved this person yourself. Another administrator has to add them.")


@require_http_methods(["GET", "POST"])
def group_list(request: SignedInRequest) -> HttpResponse:
    """List the groups; POST makes an empty one."""
    check_admin(request)
    refusal = ""
    if request.method == "POST":
        try:
            return redirect("group", groups.create(request.POST.get("name")).pk)
        except (InvalidTextError, groups.GroupError) as error:
            refusal = error.sentence
    found = Group.objects.order_by("name").annotate(
        people=Count("members", distinct=True), used=Count("spaces", distinct=True)
    )
    page = Paginator(found, PAGE_ROWS).get_page(request.GET.get("page"))
    context = {"page": page, "refusal": refusal, "name": request.POST.get("name", "")}
    return render(request, "people/groups.html", context, status=422 if refusal else 200)


@require_http_methods(["GET", "POST"])
def group(request: SignedInRequest, group_id: int) -> HttpResponse:
    """Show a group with its members; POST changes it (`do`: rename, add, remove, delete)."""
    check_admin(request)
    found = get_object_or_404(Group, pk=group_id)
    # A group gives its members spaces.
    return changed(request, found) if request.method == "POST" else shown(request, found)


@fresh_sign_in_required
def changed(request: SignedInRequest, group: Group) -> HttpResponse:
    """Change `group` as the form says."""
    form, do = request.POST, request.POST.get("do", "")
    changes: dict[str, Callable[[], object]] = {
        "rename": lambda: groups.rename(group, form.get("name")),
        "add": lambda: added(request.user, group, form.get("email", "")),
        "remove": lambda: groups.remove(get_object_or_404(group.members, pk=form.get("member", "0"))),
        "delete": lambda: groups.delete(group),
    }
    try:
        changes.get(do, lambda: None)()
    except NoSuchPersonError as error:
        return shown(request, group, error.sentence, unknown=form.get("email", ""))
    except (InvalidTextError, groups.GroupError, MembersError) as error:
        return shown(request, group, error.sentence)
    return redirect("groups") if do == "delete" else redirect("group", group.pk)


def added(actor: User, group: Group, email: str) -> None:
    """Put the person with the address `email` into `group`. Raise GroupError, NoSuchPersonError.

    An admin of people reads no memory of teams by that, also not with a second account: only owners put themselves, or
    whom they have invited or approved, into any group, also into one without spaces, which may be given one later.
    """
    person = groups.person_with(email)
    if not actor.has_perm(roles.GRANT_ROLES):
        # Of the row: the database takes addresses for the same that differ in Python.
        if person.pk == actor.pk:
            raise OwnGroupError
        is_invited = Invitation.objects.filter(accepted_by=person, invited_by=actor).exists()
        if (is_invited or sign_up.has_approved(actor, person)) and not roles.groups_to_give(actor).filter(
            pk=group.pk
        ).exists():
            raise OwnInvitationError
    groups.add(group, person)


def shown(request: SignedInRequest, group: Group, refusal: str = "", unknown: str = "") -> HttpResponse:
    """Return the page of `group`, and why it could not be changed; `unknown` is an address without an account."""
    names = SpaceNames.for_reader(request.user)
    members = group.members.select_related("user").order_by("user__first_name", "user__email")
    context = {
        "group": group,
        "unknown": unknown,
        "may_give": roles.groups_to_give(request.user).filter(pk=group.pk).exists() if unknown else False,
        "page": Paginator(members, PAGE_ROWS).get_page(request.GET.get("page")),
        "spaces": [
            {"name": names.of(held.space), "role": held.role}
            for held in group.spaces.select_related("space").order_by("space__name")
        ],
        "budgets": group.budgets.order_by("period"),
        "refusal": refusal,
    }
    return render(request, "people/group.html", context, status=422 if refusal else 200)


def check_admin(request: SignedInRequest) -> None:
    """Raise Http404 unless the person may manage people."""
    if not request.user.has_perm(roles.MANAGE_PEOPLE):
        raise Http404
