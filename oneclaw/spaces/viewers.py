"""Say who can see a row, why, and since when: `viewers(of)`, the one function behind “Who can see this?”.

An app registers a function for each kind of its rows, as `viewers.register` does for spaces here.
"""

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import cast

from django.db.models import Q
from django.utils.translation import gettext

from oneclaw.models import GroupMember, Space, SpaceMember, User
from oneclaw.reasons import Reason

ROLES = (SpaceMember.Role.OWNER, SpaceMember.Role.EDITOR, SpaceMember.Role.READER)


@dataclass(frozen=True)
class Ground:
    """A reason why a person can see a row, and since when; None: since it exists."""

    reason: Reason
    since: dt.datetime | None = None


@dataclass(frozen=True)
class Viewer:
    """A person who can see a row, for one or several reasons. `person` None: everybody of whom the reason is true."""

    person: User | None
    grounds: tuple[Ground, ...]

    @property
    def name(self) -> str:
        """Return the person's name as others see it."""
        return str(self.person) if self.person else gettext("Others")

    @property
    def since(self) -> dt.datetime | None:
        """Return since when the first of the grounds is true; None: since the row exists."""
        moments = [ground.since for ground in self.grounds]
        return None if None in moments else min(cast(list[dt.datetime], moments), default=None)


@singledispatch
def viewers(of: object) -> list[Viewer]:
    """Return who can see the row `of` now: people in the order of their names, then everybody else.

    Raise TypeError for a row of which no app says that.
    """
    raise TypeError(f"Nobody says who can see a {type(of).__name__}.")


@viewers.register
def viewers_of_space(space: Space) -> list[Viewer]:
    """Return the people with a role in `space`, of their own or through groups; of a private one, its owner."""
    if space.is_private:
        return [Viewer(space.owner, (Ground(Reason("viewer.own")),))]
    grounds: dict[User, list[Ground]] = {}
    for member in space.members.select_related("user"):
        reason = Reason(f"viewer.{member.role}", {"space": space.name})
        grounds.setdefault(member.user, []).append(Ground(reason, member.since))
    held = {row.group_id: row for row in space.groups.select_related("group")}
    for inside in GroupMember.objects.filter(group__in=held).select_related("user") if held else ():
        row = held[inside.group_id]
        reason = Reason(f"viewer.group_{row.role}", {"space": space.name, "group": row.group.name})
        grounds.setdefault(inside.user, []).append(Ground(reason, max(row.since, inside.since)))
    return by_name(Viewer(person, tuple(found)) for person, found in grounds.items() if person.is_active)


def by_name(found: Iterable[Viewer]) -> list[Viewer]:
    """Return `found` in the order of names, everybody else last."""
    return sorted(found, key=lambda viewer: (viewer.person is None, viewer.name.casefold()))


def with_admins(found: list[Viewer], permission: str, roles: Collection[str] = ()) -> list[Viewer]:
    """Return `found` and the administrators who can open such rows in the admin by `permission`, such as
    "memory.view_memorydocument", or by one of `roles`, which have it."""
    app, codename = permission.split(".")
    own = Q(user_permissions__content_type__app_label=app, user_permissions__codename=codename)
    of_group = Q(groups__permissions__content_type__app_label=app, groups__permissions__codename=codename)
    staff = User.objects.filter(is_active=True, is_staff=True)
    admins = staff.filter(Q(is_superuser=True) | Q(role__in=roles) | own | of_group).distinct()
    ground = Ground(Reason("viewer.admin"))
    named = {viewer.person: viewer for viewer in found}
    for admin in admins:
        before = named[admin].grounds if admin in named else ()
        named[admin] = Viewer(admin, (*before, ground))
    return by_name(named.values())
