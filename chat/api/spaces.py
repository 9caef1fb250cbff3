"""The routes of the HTTP API for shared spaces and their members; they call the same code as the pages."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.models import QuerySet
from ninja import Query, Router
from ninja.responses import Status

from chat.api.space_shapes import (
    DeletionOut,
    GroupOut,
    MemberIn,
    MemberOut,
    MembersOut,
    RoleIn,
    SharedSpaceOut,
    SpaceChange,
    SpaceIn,
    SpaceInvitationOut,
)
from oneclaw.models import Group, Space, SpaceGroup, SpaceInvitation, SpaceMember, SpaceRole, User
from oneclaw.people import space_invitations
from oneclaw.spaces import deletion, lifecycle, members
from oneclaw.text import InvalidTextError
from oneclaw.web.api import PAGE_DEFAULT_ROWS, PAGE_MAX_ROWS, ApiError, KeyedRequest, responses

router = Router(tags=["spaces"])


@router.get("/spaces", response=responses(list[SharedSpaceOut]))
def space_list(request: KeyedRequest, archived: bool = False) -> list[SharedSpaceOut]:
    """List your shared spaces by name: those in use, or the archived ones."""
    held = roles_of(request.auth).filter(space__archived_at__isnull=not archived)
    return [SharedSpaceOut.of(role) for role in held.order_by("space__name", "space")]


@router.post("/spaces", response=responses(SharedSpaceOut, 403, 422))
def make_space(request: KeyedRequest, space: SpaceIn) -> SharedSpaceOut:
    """Make a space, which you own."""
    if not lifecycle.may_make_spaces(request.auth):
        raise ApiError(403, "read_only", lifecycle.MayNotMakeSpacesError().sentence)
    with refusals():
        draft = lifecycle.checked_draft(**space.model_dump())
    made = lifecycle.create(request.auth, draft)
    return SharedSpaceOut.of(own_role(request.auth, made.pk))


@router.get("/spaces/{int:space_id}", response=responses(SharedSpaceOut, 404))
def space(request: KeyedRequest, space_id: int) -> SharedSpaceOut:
    """Get one of your shared spaces."""
    return SharedSpaceOut.of(own_role(request.auth, space_id))


@router.patch("/spaces/{int:space_id}", response=responses(SharedSpaceOut, 403, 404, 422))
def change_space(request: KeyedRequest, space_id: int, change: SpaceChange) -> SharedSpaceOut:
    """Change a space that you own, archive it, or undo that."""
    found = owned(request.auth, space_id)
    fields = change.model_dump(exclude_none=True)
    is_archived = fields.pop("archived", None)
    names = ("name", "description", "colour", "kind", "needs_second_person", "links_for_everybody")
    if fields:
        with refusals():
            lifecycle.update(found, lifecycle.checked_draft(**{name: getattr(found, name) for name in names} | fields))
    if is_archived is not None:
        lifecycle.archive(found) if is_archived else lifecycle.unarchive(found)
    return SharedSpaceOut.of(own_role(request.auth, space_id))


@router.delete("/spaces/{int:space_id}", response=responses(DeletionOut, 403, 404, 409))
def delete_space(
    request: KeyedRequest,
    space_id: int,
    dry_run: bool = Query(False, description="Only say what would go."),
    digest: str = Query("", max_length=100, description="Of a dry run: delete only if just that would go."),
) -> DeletionOut:
    """Delete a space that you own with what is in it; it cannot be undone."""
    found = owned(request.auth, space_id)
    with refusals():
        plan = deletion.plan(found) if dry_run else deletion.delete(found, request.auth, digest or None)
    return DeletionOut(deleted=not dry_run, counts=dict(plan.counts), digest=plan.digest)


@router.get("/spaces/{int:space_id}/members", response=responses(MembersOut, 404, 422))
def member_list(
    request: KeyedRequest,
    space_id: int,
    after: int = Query(0, ge=0, lt=2**62, description="Members with an id after this one."),
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> MembersOut:
    """List the members of a space, and its groups."""
    found = own_role(request.auth, space_id).space
    rows = list(found.members.filter(pk__gt=after).select_related("user").order_by("pk")[: limit + 1])
    groups = found.groups.select_related("group").order_by("pk")
    return MembersOut(
        members=[MemberOut.of(row) for row in rows[:limit]],
        groups=[GroupOut.of(held) for held in groups],
        next=rows[limit - 1].pk if len(rows) > limit else None,
    )


@router.post("/spaces/{int:space_id}/members", response=responses(MembersOut, 403, 404, 409, 422))
def add_member(request: KeyedRequest, space_id: int, member: MemberIn) -> MembersOut:
    """Invite a person to a space that you own, who is in it after accepting that, or give a group a role at once."""
    found = owned(request.auth, space_id)
    with refusals():
        if member.group:
            group = Group.objects.filter(name=member.group).first()
            if group is None:
                raise ApiError(422, "invalid", "group: There is no group of this name.")
            held = members.add_group(found, group, member.role, by=request.auth)
            return MembersOut(members=[], groups=[GroupOut.of(held)])
        invited = space_invitations.invite(found, member.email, member.role, by=request.auth)
    return MembersOut(members=[], groups=[], invited=[invited.email])


@router.patch("/spaces/{int:space_id}/members/{int:member_id}", response=responses(MemberOut, 403, 404, 409))
def change_member(request: KeyedRequest, space_id: int, member_id: int, change: RoleIn) -> MemberOut:
    """Change the role of a member of a space that you own."""
    member = member_of(owned(request.auth, space_id), member_id)
    with refusals():
        members.change_role(member, change.role, by=request.auth)
    return MemberOut.of(SpaceMember.objects.select_related("user").get(pk=member_id))


@router.delete("/spaces/{int:space_id}/members/{int:member_id}", response=responses({204: None}, 403, 404, 409))
def remove_member(request: KeyedRequest, space_id: int, member_id: int) -> Status[None]:
    """Take the role of a member of a space that you own away."""
    member = member_of(owned(request.auth, space_id), member_id)
    with refusals():
        members.remove(member, by=request.auth)
    return Status(204, None)


@router.post("/spaces/{int:space_id}/members/{int:member_id}/hand-over", response=responses(SharedSpaceOut, 403, 404))
def hand_over_space(request: KeyedRequest, space_id: int, member_id: int) -> SharedSpaceOut:
    """Make a member the owner in your place; you stay as an editor."""
    found = owned(request.auth, space_id)
    with refusals():
        members.hand_over(found, request.auth, member_of(found, member_id))
    return SharedSpaceOut.of(own_role(request.auth, space_id))


@router.delete("/spaces/{int:space_id}/groups/{int:group_id}", response=responses({204: None}, 403, 404))
def remove_group(request: KeyedRequest, space_id: int, group_id: int) -> Status[None]:
    """Take the role of a group in a space that you own away; `group_id` is the id in the list of members."""
    found = owned(request.auth, space_id)
    held = SpaceGroup.objects.filter(space=found, pk=group_id).first()
    if held is None:
        raise not_found()
    with refusals():
        members.remove(held, by=request.auth)
    return Status(204, None)


@router.post("/spaces/{int:space_id}/leave", response=responses({204: None}, 404, 409))
def leave_space(request: KeyedRequest, space_id: int) -> Status[None]:
    """Give your own role in a space up."""
    found = own_role(request.auth, space_id).space
    with refusals():
        members.leave(found, request.auth)
    return Status(204, None)


@router.get("/space-invitations", response=responses(list[SpaceInvitationOut]))
def space_invitation_list(request: KeyedRequest) -> list[SpaceInvitationOut]:
    """List your open invitations to spaces."""
    found = SpaceInvitation.objects.visible_to(request.auth).select_related("space", "invited_by")
    return [SpaceInvitationOut.of(invitation) for invitation in found.order_by("pk")]


@router.post("/space-invitations/{int:invitation_id}", response=responses(SharedSpaceOut, 404))
def accept_space_invitation(request: KeyedRequest, invitation_id: int) -> SharedSpaceOut:
    """Accept an invitation of yours: you are in the space then."""
    with refusals():
        joined = space_invitations.accept(request.auth, invitation_id)
    return SharedSpaceOut.of(own_role(request.auth, joined.pk))


@router.delete("/space-invitations/{int:invitation_id}", response=responses({204: None}, 404))
def decline_space_invitation(request: KeyedRequest, invitation_id: int) -> Status[None]:
    """Decline an invitation of yours."""
    with refusals():
        space_invitations.decline(request.auth, invitation_id)
    return Status(204, None)


def roles_of(user: User) -> QuerySet[SpaceRole]:
    """Return the roles of `user` in shared spaces, with the spaces."""
    return SpaceRole.objects.filter(user=user).exclude(space__kind__in=Space.PRIVATE).select_related("space")


def own_role(user: User, space_id: int) -> SpaceRole:
    """Return the role of `user` in the space. Raise ApiError 404 alike for a space that is not there."""
    held = roles_of(user).filter(space=space_id).first()
    if held is None:
        raise not_found()
    return held


def owned(user: User, space_id: int) -> Space:
    """Return the space, which `user` owns. Raise ApiError 404 without a role there, 403 with another one."""
    held = own_role(user, space_id)
    if held.role != SpaceMember.Role.OWNER:
        raise ApiError(403, "read_only", "Only owners of this space do that.")
    return held.space


def member_of(space: Space, member_id: int) -> SpaceMember:
    """Return the member of `space`. Raise ApiError 404 when there is none."""
    member = space.members.filter(pk=member_id).first()
    if member is None:
        raise not_found()
    return member


def not_found() -> ApiError:
    """Return the refusal of what is not there, or not the person's."""
    return ApiError(404, "not_found", "There is no such space.")


@contextmanager
def refusals() -> Iterator[None]:
    """Refuse with the status, the code and the sentence of the error."""
    try:
        yield
    except lifecycle.SpaceNotFoundError:
        raise not_found() from None
    except (members.LastOwnerError, members.AlreadyMemberError, deletion.ChangedPlanError) as error:
        raise ApiError(409, "conflict", error.sentence) from error
    except (members.MembersError, InvalidTextError) as error:
        raise ApiError(422, "invalid", error.sentence) from error
