"""The list of a person's spaces, and the conversations of one."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import dateformat
from django.utils.formats import get_format
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from chat import extensions
from chat.library import sidebar, spaces
from chat.models import ChatSession
from chat.views.spaces.frame import own_role, tab_page
from oneclaw.models import Space, SpaceInvitation, SpaceRole, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.spaces import lifecycle, viewers
from oneclaw.web.filled_rows import RowTemplate

SHOWN_MAX_ITEMS = 6
# Conversations of one page.
PAGE_SESSIONS = 30
# The columns of a row, and of the name of its author.
COLUMNS = ("title", "active_at", "shared_at", "owner__first_name", "owner__last_name", "owner__email")
SESSION = RowTemplate("chat/spaces/_session.html", ("id", "name", "whose", "active"))


@require_GET
def space_list(request: SignedInRequest) -> HttpResponse:
    """List the person's shared spaces by name, then the archived ones."""
    held = SpaceRole.objects.filter(user=request.user).exclude(space__kind__in=Space.PRIVATE)
    held = held.select_related("space").order_by("space__name", "space")
    rows = list(held.annotate(people=Count("space__members", distinct=True)))
    context = {
        "present": [row for row in rows if row.space.archived_at is None],
        "archived": [row for row in rows if row.space.archived_at is not None],
        "invitations": SpaceInvitation.objects.visible_to(request.user)
        .select_related("space", "invited_by")
        .order_by("pk"),
        "may_make": lifecycle.may_make_spaces(request.user),
    }
    return render(request, "chat/spaces/list.html", context)


@require_GET
def space(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Show the conversations of a space that the person can see, newest activity first, after the cursor `after`."""
    held = own_role(request.user, space_id)
    found = spaces.visible_in(held.space, request.user).select_related("owner").only(*COLUMNS)
    if "after" in request.GET:
        try:
            edge = sidebar.ListCursor.read(request.GET["after"])
        except ValueError:
            raise Http404 from None
        found = found.filter(active_at__lte=edge.active_at).exclude(active_at=edge.active_at, id__gte=edge.session_id)
    shown = list(found[: PAGE_SESSIONS + 1])
    is_first = "after" not in request.GET
    context = {
        "groups": [
            (when, rows_html(sessions, request.user))
            for when, sessions in sidebar.by_day(shown[:PAGE_SESSIONS], request.user)
        ],
        "next": sidebar.next_cursor(shown, PAGE_SESSIONS),
        "is_first": is_first,
    }
    if is_first:
        context |= {
            "faces": faces_of(held.space),
            "known": extensions.memory().space_overview(request.user, held.space),
            # What is written in the field begins a conversation of this id.
            "begun_id": uuid.uuid4(),
            "client_id": uuid.uuid4(),
        }
    return tab_page(request, held, "conversations", "chat/spaces/conversations.html", context)


@dataclass(frozen=True)
class Face:
    """A member as the head of a space shows them: their initials, and their name."""

    initials: str
    name: str


def faces_of(space: Space) -> list[Face]:
    """Return the members of `space` who joined first, at most SHOWN_MAX_ITEMS."""
    held = space.roles.select_related("user").order_by("since", "user")[:SHOWN_MAX_ITEMS]
    names = [str(each.user) for each in held]
    return [Face("".join(part[0] for part in name.split()[:2]).upper(), name) for name in names]


def rows_html(sessions: Iterable[ChatSession], user: User) -> SafeString:
    """Return the rows of `sessions`, whose times `user` sees by their own clock."""
    only_you, moment_of = _("Only you"), short_moments()
    rows = [
        SESSION.filled(
            {
                "id": str(session.pk),
                "name": session.name,
                "whose": str(session.owner) if session.shared_at else only_you,
                "active": moment_of(user.local(session.active_at)),
            }
        )
        for session in sessions
    ]
    return mark_safe("".join(rows))  # noqa: S308 - rows of a template


def short_moments() -> Callable[[dt.datetime], str]:
    """Return a function that writes local times in the SHORT_DATETIME_FORMAT of the active language, which ends with
    the TIME_FORMAT. What comes before it is the same for all times of a day, and made once."""
    time_format = get_format("TIME_FORMAT")
    of_day = get_format("SHORT_DATETIME_FORMAT").removesuffix(time_format)
    before = cache(lambda day: dateformat.format(day, of_day))
    return lambda local: before(local.date()) + dateformat.format(local, time_format)


@require_GET
def space_viewers(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Show who can see the space, and why."""
    held = own_role(request.user, space_id)
    return tab_page(request, held, "", "chat/spaces/viewers.html", {"viewers": viewers.viewers(held.space)})
