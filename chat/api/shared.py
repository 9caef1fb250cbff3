"""The routes of the HTTP API for sharing a conversation with the members of a space."""

import uuid

from ninja import Field, Router, Schema
from ninja.responses import Status

from chat.api.access import managed_session, own_session, refusals, session_out
from chat.api.shapes import SessionOut
from chat.conversations.shared import share as sharing
from chat.models import ChatSession
from oneclaw.models import Space, User
from oneclaw.web.api import ApiError, KeyedRequest, RequestBody, responses

router = Router(tags=["conversations"])


class ShareIn(RequestBody):
    """The space with whose members a conversation is shared."""

    space: int = Field(description="Its id. You must be an owner or editor of it.")


class SharingOut(Schema):
    """What its members would see."""

    messages: int = Field(description="The messages so far, which become visible with their earlier versions.")
    files: int
    people: int = Field(description="How many other members the space has.")
    names: list[str]


@router.get("/sessions/{uuid:session_id}/sharing", response=responses(SharingOut, 404, 409, 422))
def sharing_preview(request: KeyedRequest, session_id: uuid.UUID, space: int) -> SharingOut:
    """Get what becomes visible, and to whom, when you share a conversation with `space`."""
    found = begun_session(request.auth, session_id)
    chosen = space_of(request.auth, space)
    about = sharing.about(found, chosen)
    return SharingOut(messages=about.messages, files=about.files, people=about.people, names=about.names)


@router.post("/sessions/{uuid:session_id}/share", response=responses(SessionOut, 404, 409, 422))
def share_session(request: KeyedRequest, session_id: uuid.UUID, asked: ShareIn) -> SessionOut:
    """Share a conversation that you have begun with the members of a space: all messages so far become visible to
    them, and owners and editors continue it."""
    found = begun_session(request.auth, session_id)
    chosen = space_of(request.auth, asked.space)
    with refusals():
        try:
            sharing.share(request.auth, found, chosen)
        except sharing.NotShareableWithSpaceError as refusal:
            raise ApiError(409, "not_shareable", refusal.sentence) from None
    return session_out(request.auth, session_id)


@router.post("/sessions/{uuid:session_id}/unshare", response=responses({204: None}, 404, 409))
def unshare_session(request: KeyedRequest, session_id: uuid.UUID) -> Status[None]:
    """Make a shared conversation private to the person who began it."""
    found = managed_session(request.auth, session_id)
    with refusals():
        sharing.unshare(request.auth, found)
    return Status(204, None)


def begun_session(user: User, session_id: uuid.UUID) -> ChatSession:
    """Return the conversation that the person has begun. Raise ApiError for another one."""
    found = own_session(user, session_id, "owner")
    if found.owner_id != user.pk:
        raise ApiError(409, "read_only", "Only the person who began a conversation shares it.")
    return found


def space_of(user: User, space_id: int) -> Space:
    """Return the space with which the person may share. Raise ApiError when there is none."""
    found = next((space for space in sharing.spaces_for(user) if space.pk == space_id), None)
    if found is None:
        raise ApiError(422, "no_space", sharing.NoSpaceError().sentence)
    return found
