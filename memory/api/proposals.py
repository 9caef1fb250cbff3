"""Serve the proposals for the memory of shared spaces over the HTTP API: list, make and answer them."""

import datetime as dt
from typing import Literal

from ninja import Query, Router, Schema
from pydantic import Field

from memory.api.routes import errors_as_answers, readable_space
from memory.models import Proposal
from memory.policy.tombstones import LineForgottenError
from memory.tools import proposals
from memory.trust.proposals import decline, withdraw
from oneclaw.web.api import PAGE_DEFAULT_ROWS, PAGE_MAX_ROWS, ApiError, KeyedRequest, RequestBody, responses
from oneclaw.web.pagination import decode_cursor, encode_cursor

router = Router(tags=["memory"])


class ProposalOut(Schema):
    """A line that a member proposes for MEMORY.md of a shared space."""

    id: int
    space: int
    text: str
    kind: str = Field(description="How it was made: saved, line, written, assistant or api; rules: instructions.")
    base_version: int | None = Field(description="Of instructions: the version of AGENTS.md that the author saw.")
    state: str = Field(description="waiting, accepted, declined or withdrawn.")
    author: str | None
    decided_by: str | None
    decided_at: dt.datetime | None
    accepted_text: str = Field(description="As it was accepted; empty until then.")
    created_at: dt.datetime

    @classmethod
    def of(cls, row: Proposal) -> "ProposalOut":
        return cls(
            id=row.pk,
            space=row.space_id,
            text=row.text,
            kind=row.kind,
            base_version=row.base_version,
            state=row.state,
            author=str(row.author) if row.author else None,
            decided_by=str(row.decided_by) if row.decided_by else None,
            decided_at=row.decided_at,
            accepted_text=row.accepted_text,
            created_at=row.created_at,
        )


class ProposalsOut(Schema):
    items: list[ProposalOut]
    next: str | None = Field(default=None, description="The cursor of the next page; null on the last one.")


class NewProposal(RequestBody):
    text: str = Field(min_length=1, max_length=proposals.TEXT_MAX_CHARS)


class ProposalAnswer(RequestBody):
    answer: Literal["accept", "decline", "withdraw"]
    text: str | None = Field(default=None, description="With accept: the text as you edited it.")
    seen_version: int | None = Field(
        default=None,
        ge=0,
        description="With accept of instructions: the version of AGENTS.md that they replace, if not base_version.",
    )


@router.get("/spaces/{int:space_id}/proposals", response=responses(ProposalsOut, 404, 422))
def proposal_list(
    request: KeyedRequest,
    space_id: int,
    state: Literal["waiting", "accepted", "declined", "withdrawn"] | None = None,
    cursor: str = "",
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> ProposalsOut:
    """Return the proposals for a space of yours, the newest first; those of one state with `state`."""
    space = readable_space(request.auth, space_id)
    found = Proposal.objects.visible_to(request.auth).filter(space=space).select_related("author", "decided_by")
    if state is not None:
        found = found.filter(state=state)
    if cursor:
        found = found.filter(pk__lt=decode_cursor(cursor, int)[0])
    rows = list(found.order_by("-pk")[: limit + 1])
    more = encode_cursor(rows[limit - 1].pk) if len(rows) > limit else None
    return ProposalsOut(items=[ProposalOut.of(row) for row in rows[:limit]], next=more)


@router.post("/spaces/{int:space_id}/proposals", response=responses(ProposalOut, 403, 404, 409, 413, 422))
def propose(request: KeyedRequest, space_id: int, proposal: NewProposal) -> ProposalOut:
    """Propose a line. It is written at once where no second person is needed; readers may propose, too."""
    space = readable_space(request.auth, space_id)
    if space.is_private or space.archived_at is not None:
        raise ApiError(403, "read_only", "Nothing can be proposed for this space.")
    try:
        with errors_as_answers():
            row = proposals.propose(space, proposal.text, request.auth, Proposal.Kind.API)
    except (proposals.ProposalError, LineForgottenError) as error:
        raise ApiError(409, "refused", str(error)) from error
    return ProposalOut.of(row)


@router.post(
    "/spaces/{int:space_id}/proposals/{int:proposal_id}", response=responses(ProposalOut, 403, 404, 409, 413, 422)
)
def answer_proposal(request: KeyedRequest, space_id: int, proposal_id: int, answer: ProposalAnswer) -> ProposalOut:
    """Accept, decline or, as its author, withdraw a proposal. The first answer counts: read the state that you get."""
    rows = Proposal.objects.visible_to(request.auth).select_related("space", "author", "decided_by")
    row = rows.filter(pk=proposal_id, space=space_id).first()
    if row is None:
        raise ApiError(404, "not_found", "There is no such proposal.")
    try:
        with errors_as_answers():
            done = row.is_waiting and answered(row, answer, request)
    except proposals.NotYoursToDecideError as error:
        raise ApiError(403, "read_only", str(error)) from error
    except (proposals.ProposalError, LineForgottenError) as error:
        raise ApiError(409, "refused", str(error)) from error
    found = rows.get(pk=proposal_id)
    if not done and found.is_waiting:
        raise ApiError(403, "read_only", "Another owner or editor of the space has to decide this.")
    return ProposalOut.of(found)


def answered(row: Proposal, answer: ProposalAnswer, request: KeyedRequest) -> bool:
    """Carry out the answer; return whether it was possible."""
    if answer.answer == "accept":
        return not proposals.accept(row, request.auth, answer.text, answer.seen_version).is_waiting
    return (decline if answer.answer == "decline" else withdraw)(row, request.auth)
