"""The pages of people: who may do what, who is disabled, where they are signed in, links for a forgotten password."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.db.models import Count, Max
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from oneclaw.models import ApiKey, Group, Space, Spend, User
from oneclaw.people import devices, passwords, roles
from oneclaw.people.named import initials_of, named
from oneclaw.people.programs.form import LABELS, PROPOSES_TO_SPACE
from oneclaw.people.programs.grants import Grant, Level
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in import fresh
from oneclaw.people.sign_in.fresh import fresh_sign_in_required
from oneclaw.spaces.names import SpaceNames
from oneclaw.spend import report
from oneclaw.text import UNSTORABLE, UserFacingError

PAGE_ROWS = 50
# What a program may, for others than its person.
MAY = LABELS | {Level.PROPOSE: PROPOSES_TO_SPACE}


manages_people = permission_required(roles.MANAGE_PEOPLE, raise_exception=True)


@require_GET
@manages_people
def people(request: SignedInRequest) -> HttpResponse:
    """Show the people whose address or name has the words of `q`, or everybody."""
    query = UNSTORABLE.sub("", request.GET.get("q", "")).strip()[:100]
    found = User.objects.filter(awaits_approval=False).order_by("email").prefetch_related("group_memberships__group")
    if query:
        found = found.filter(named(query))
    page = Paginator(found, PAGE_ROWS).get_page(request.GET.get("page"))
    sees_spend = request.user.has_perm(roles.VIEW_SPENDING)
    used = used_this_month(request.user, page) if sees_spend else {}
    context = {
        "rows": [row_of(person, used.get(person.pk)) for person in page],
        "page": page,
        "query": query,
        "sees_spend": sees_spend,
    }
    return render(request, "team/people.html", context)


@dataclass(frozen=True)
class PersonRow:
    """A person in the table, with what their calls of models have taken this month (None: nothing)."""

    person: User
    initials: str
    groups: list[Group]
    used: report.Sums | None


def row_of(person: User, used: report.Sums | None) -> PersonRow:
    """Return the row of `person`, whose groups are loaded."""
    groups = [membership.group for membership in person.group_memberships.all()]
    return PersonRow(person, initials_of(str(person)), groups, used)


def used_this_month(reader: User, people: Iterable[User]) -> dict[int, report.Sums]:
    """Return what each of `people` has used in the month of `reader`, by id."""
    month = report.Month.of("", reader.day(), reader.zone)
    spends = month.of_spends(Spend.objects.filter(user__in=list(people)))
    return {int(row.key): row.sums for row in report.by(spends, "person")}


@require_GET
@manages_people
def person_page(request: SignedInRequest, person_id: int) -> HttpResponse:
    """Show one person, and what an admin may do: role, groups, devices, and API keys without their names."""
    return shown(request, get_object_or_404(User, pk=person_id, awaits_approval=False))


def shown(request: SignedInRequest, person: User, link: str = "") -> HttpResponse:
    """Return the page of `person`, with a `link` that is shown only once."""
    may_grant = request.user.has_perm(roles.GRANT_ROLES)
    keys = ApiKey.objects.live().filter(user=person).aggregate(count=Count("pk"), last_used=Max("last_used_at"))
    context = {
        "person": person,
        "memberships": person.group_memberships.select_related("group").order_by("group__name"),
        "devices": devices.devices_of(person, request.session.session_key),
        "keys": keys,
        "granted": granted_to_programs(person, request.user),
        "initials": initials_of(str(person)),
        "link": link,
        "changeable": roles.may_change(request.user, person) and person.pk != request.user.pk,
        "linkable": roles.may_give_link(request.user, person),
        "roles": User.Role.choices if may_grant else [],
        "may_confirm": may_grant and person.awaits_owner and person.pk != request.user.pk,
    }
    return render(request, "team/person.html", context)


def granted_to_programs(person: User, reader: User) -> list[tuple[ApiKey, str]]:
    """Return the keys and sign-ins of programs of `person` that are valid, each with what it may do: without the
    names that the person has chosen, and with the names of spaces that `reader` may know."""
    names, found = SpaceNames.for_reader(reader), []
    spaces = {space.pk: names.of(space) for space in Space.objects.visible_to(person).shared()}
    for key in ApiKey.objects.live().filter(user=person):
        grant = Grant.of(key)
        own = [f"{_('own memory')}: {MAY[grant.own]}"] if grant.own else []
        of_spaces = [f"{spaces[pk]}: {MAY[level]}" for pk, level in grant.spaces.items() if pk in spaces]
        said = [_("past conversations")] if grant.conversations else []
        everything = _("everything that this person may do")
        found.append((key, everything if grant.is_whole else "; ".join(own + of_spaces + said) or "–"))
    return found


@require_POST
@permission_required(roles.GRANT_ROLES, raise_exception=True)
@fresh_sign_in_required
def change_role(request: SignedInRequest, person_id: int) -> HttpResponse:
    """Give a person another role."""
    person, role = get_object_or_404(User, pk=person_id), request.POST.get("role", "")
    if role in User.Role.values:
        changed(request, person, lambda: roles.change_role(request.user, person, role))
    return redirect("team_person", person.pk)


@require_POST
@manages_people
@fresh_sign_in_required
def set_active(request: SignedInRequest, person_id: int) -> HttpResponse:
    """Disable or enable a person; a disabled one is out at once, on all devices and with all keys."""
    person = get_object_or_404(User, pk=person_id)
    active = request.POST.get("active") == "yes"
    changed(request, person, lambda: roles.set_active(request.user, person, active))
    return redirect("team_person", person.pk)


@require_POST
@manages_people
@fresh_sign_in_required
def sign_out(request: SignedInRequest, person_id: int) -> HttpResponse:
    """Sign a person out on all devices, and end their API keys."""
    person = get_object_or_404(User, pk=person_id)
    if roles.may_change(request.user, person):
        count = devices.end_all(request.user, person)
        sentence = ngettext("Signed out on {count} device.", "Signed out on {count} devices.", count)
        messages.success(request, sentence.format(count=count))
    else:
        messages.error(request, str(roles.MayNotError()))
    return redirect("team_person", person.pk)


def changed(request: SignedInRequest, person: User, change: Any) -> None:
    """Call `change`, and say what came of it."""
    try:
        change()
    except UserFacingError as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("Saved: {person}").format(person=person.email))


@never_cache
@require_POST
@manages_people
@fresh_sign_in_required
def give_link(request: SignedInRequest, person_id: int) -> HttpResponse:
    """Mail the person a one-time link with which they choose a new password, or show it without a mail server; the old
    one stays until then."""
    person = get_object_or_404(User, pk=person_id, is_active=True)
    if not roles.may_give_link(request.user, person):
        messages.error(request, str(roles.MayNotError()))
        return redirect("team_person", person.pk)
    try:
        link = passwords.give_link(request.user, person)
    except OSError:
        messages.error(request, _("The mail server did not take the mail. Try again."))
        return redirect("team_person", person.pk)
    if link:
        return shown(request, person, link)
    messages.success(request, _("Mailed to {person}.").format(person=person.email))
    return redirect("team_person", person.pk)


@require_POST
@permission_required(roles.GRANT_ROLES, raise_exception=True)
def confirm_password(request: SignedInRequest, person_id: int) -> HttpResponse:
    """Open an account whose password came by a link that an admin was shown; an owner says so with a second factor."""
    if not is_mfa_enabled(request.user):
        messages.error(request, _("Set up a second factor of your own first: this needs one."))
        return redirect("team_person", person_id)
    if not fresh.is_fresh_by_second_factor(request):
        return fresh.to_second_factor(request)
    person = get_object_or_404(User, pk=person_id)
    changed(request, person, lambda: roles.confirm_password(request.user, person))
    return redirect("team_person", person.pk)
