"""The routes of the HTTP API for shared links; they call the same code as the pages."""

import datetime as dt
import uuid
from typing import Literal, cast

from django.urls import reverse
from ninja import Router, Schema
from ninja.responses import Status
from pydantic import Field

from chat.api.access import session_out
from chat.api.shapes import SessionOut
from chat.api.shared import begun_session
from chat.models import SharedLink
from chat.transfer import link_copies
from chat.transfer import share as sharing
from oneclaw.text import UserFacingError
from oneclaw.web.api import ApiError, KeyedRequest, RequestBody, responses

router = Router(tags=["conversations"])
Scope = Literal["everybody", "signed_in", "space"]


class LinkIn(RequestBody):
    """A link to a copy of a conversation as it is now."""

    scope: Scope = Field("everybody", description="Who may open it.")
    space: int | None = Field(None, description="With the scope `space`: whose members may open it.")
    period: Literal["day", "week", "month", "never"] = Field("week", description="When it expires.")


class LinkOut(Schema):
    """A link that you have shared."""

    id: int
    session: uuid.UUID
    title: str
    scope: Scope
    space: int | None = Field(description="Whose members may open it; null also for a space that you have left.")
    created_at: dt.datetime
    expires_at: dt.datetime | None
    address: str | None = Field(None, description="Only in the answer that makes it.")

    @classmethod
    def of(cls, link: SharedLink, address: str | None = None) -> "LinkOut":
        """Return the schema of `link`."""
        return cls(
            id=link.pk,
            session=link.session_id,
            title=link.title,
            scope=cast(Scope, link.scope),
            space=link.space_id,
            created_at=link.created_at,
            expires_at=link.expires_at,
            address=address,
        )


class CopyIn(RequestBody):
    """The last part of a link's address."""

    token: str = Field(max_length=200)


@router.get("/links", response=responses(list[LinkOut]))
def link_list(request: KeyedRequest) -> list[LinkOut]:
    """List the links to your conversations, newest first."""
    links = SharedLink.objects.visible_to(request.auth).defer("snapshot")
    return [LinkOut.of(link) for link in sharing.with_open_spaces(request.auth, links)]


@router.post("/sessions/{uuid:session_id}/links", response=responses(LinkOut, 404, 409, 422))
def make_link(request: KeyedRequest, session_id: uuid.UUID, asked: LinkIn) -> LinkOut:
    """Share a copy of a conversation by a link."""
    session = begun_session(request.auth, session_id)
    try:
        link, token = sharing.share(request.auth, session, asked.period, asked.scope, asked.space)
    except UserFacingError as refused:
        raise ApiError(422, "not_shared", refused.sentence) from refused
    return LinkOut.of(link, request.build_absolute_uri(reverse("shared", args=[token])))


@router.delete("/links/{int:link_id}", response=responses({204: None}, 404))
def revoke_link(request: KeyedRequest, link_id: int) -> Status[None]:
    """Revoke a link."""
    if not sharing.revoke(request.auth, SharedLink.objects.visible_to(request.auth).filter(pk=link_id)):
        raise not_found()
    return Status(204, None)


@router.post("/links/copy", response=responses(SessionOut, 404, 422))
def copy_link(request: KeyedRequest, copied: CopyIn) -> SessionOut:
    """Continue what another person shared with you in a private copy."""
    link = sharing.find(copied.token, request.auth)
    if link is None:
        raise not_found()
    try:
        made = link_copies.copy_link(request.auth, link)
    except link_copies.NotCopyableError as refused:
        raise ApiError(422, "not_copied", refused.sentence) from refused
    return session_out(request.auth, made.pk)


def not_found() -> ApiError:
    """Return the refusal of a link that is not there, or not for the person."""
    return ApiError(404, "not_found", "There is no such link.")
