"""Schemas of the HTTP API for shared spaces and their members."""

import datetime as dt
from typing import Literal

from ninja import Schema
from pydantic import Field

from oneclaw.models import Space, SpaceGroup, SpaceInvitation, SpaceMember, SpaceRole
from oneclaw.web.api import RequestBody

Role = Literal["owner", "editor", "reader"]
Kind = Literal["project", "team"]


class SharedSpaceOut(Schema):
    """A shared space of yours."""

    id: int
    name: str = Field(examples=["Engine room"])
    description: str
    kind: Kind
    colour: int = Field(description="1 to 8; 0 is none.")
    role: Role = Field(description="Your role: the highest of your own and those of your groups.")
    archived: bool = Field(description="Whether nothing in it changes any more.")
    needs_second_person: bool = Field(description="Whether a proposal for its memory needs a second person.")
    links_for_everybody: bool = Field(
        description="Whether shared conversations may be shared by links with people outside of the space."
    )
    since: dt.datetime = Field(description="Since when you are in it.")

    @classmethod
    def of(cls, held: SpaceRole) -> "SharedSpaceOut":
        """Return the schema of the space of a role."""
        space = held.space
        return cls(
            id=space.pk,
            name=space.name,
            description=space.description,
            kind="team" if space.kind == Space.Kind.TEAM else "project",
            colour=space.colour,
            role=role_of(held.role),
            archived=space.archived_at is not None,
            needs_second_person=space.needs_second_person,
            links_for_everybody=space.links_for_everybody,
            since=held.since,
        )


class SpaceIn(RequestBody):
    """A new space."""

    name: str = Field(examples=["Engine room"])
    description: str = ""
    kind: Kind = "project"
    colour: int = 0
    needs_second_person: bool = False
    links_for_everybody: bool = False


class SpaceChange(RequestBody):
    """The changes of a space. A missing field or null leaves the value as it is."""

    name: str | None = None
    description: str | None = None
    kind: Kind | None = None
    colour: int | None = None
    needs_second_person: bool | None = None
    links_for_everybody: bool | None = None
    archived: bool | None = None


class MemberOut(Schema):
    """A person with a role in a space."""

    id: int
    email: str
    name: str
    role: Role
    since: dt.datetime

    @classmethod
    def of(cls, member: SpaceMember) -> "MemberOut":
        user = member.user
        return cls(id=member.pk, email=user.email, name=str(user), role=role_of(member.role), since=member.since)


class GroupOut(Schema):
    """A group whose people all have a role in a space."""

    id: int
    name: str
    role: Role
    since: dt.datetime

    @classmethod
    def of(cls, held: SpaceGroup) -> "GroupOut":
        return cls(id=held.pk, name=held.group.name, role=role_of(held.role), since=held.since)


class MembersOut(Schema):
    members: list[MemberOut]
    groups: list[GroupOut]
    invited: list[str] = Field(default_factory=list, description="Of a new invitation: its address.")
    next: int | None = Field(default=None, description="What to pass as `after` for more members; null at the end.")


class MemberIn(RequestBody):
    """A person or a group that is to have a role."""

    email: str = Field(default="", description="Of the person to invite.", examples=["grace@example.org"])
    group: str = Field(default="", description="In place of `email`: the name of a group.")
    role: Role = "editor"


class SpaceInvitationOut(Schema):
    """An invitation of yours to a space."""

    id: int
    space: str = Field(description="The name of the space.", examples=["Engine room"])
    role: Role
    invited_by: str | None = Field(description="The name of who invited you; null when the account is gone.")
    created_at: dt.datetime

    @classmethod
    def of(cls, invitation: SpaceInvitation) -> "SpaceInvitationOut":
        """Return the schema of `invitation`."""
        return cls(
            id=invitation.pk,
            space=invitation.space.name,
            role=role_of(invitation.role),
            invited_by=str(invitation.invited_by) if invitation.invited_by else None,
            created_at=invitation.created_at,
        )


class RoleIn(RequestBody):
    """Another role."""

    role: Role


class DeletionOut(Schema):
    """What goes with a space, or has gone with it."""

    deleted: bool
    counts: dict[str, int] = Field(examples=[{"members": 2, "documents": 3, "shared_conversations": 1}])
    digest: str = Field(description="Identifies these counts; pass it to delete just that.")


def role_of(role: str) -> Role:
    """Return the role as the API names it."""
    return "owner" if role == "owner" else "editor" if role == "editor" else "reader"
