"""Serve the suggestions over the HTTP API: list what waits for a yes, accept and decline it."""

import datetime as dt
from typing import Literal

from ninja import Query, Router, Schema
from pydantic import Field

from memory.access.rights import may_edit
from memory.api.routes import errors_as_answers
from memory.models import Suggestion
from memory.tools.suggestions import accept
from memory.trust.suggestions import decline, waiting_for
from oneclaw.web.api import PAGE_DEFAULT_ROWS, PAGE_MAX_ROWS, ApiError, KeyedRequest, RequestBody, responses
from oneclaw.web.pagination import decode_cursor, encode_cursor

router = Router(tags=["memory"])


class SuggestionOut(Schema):
    """A text that waits for your yes before it becomes memory."""

    id: int
    space: int
    path: str = Field(description="The document that it is for.")
    text: str
    kind: str = Field(description="Of its source, such as attachment, pasted, tool or instructions.")
    source: str = Field(description="One sentence about where it came from.")
    created_at: dt.datetime

    @classmethod
    def of(cls, row: Suggestion) -> "SuggestionOut":
        return cls(
            id=row.pk,
            space=row.space_id,
            path=row.path,
            text=row.text,
            kind=row.kind,
            source=row.origin.in_english,
            created_at=row.created_at,
        )


class SuggestionsOut(Schema):
    items: list[SuggestionOut]
    next: str | None = Field(default=None, description="The cursor of the next page; null on the last one.")


class SuggestionAnswer(RequestBody):
    answer: Literal["accept", "decline"]


class SuggestionState(Schema):
    status: str = Field(description="waiting, accepted or declined.")


@router.get("/memory/suggestions", response=responses(SuggestionsOut, 422))
def suggestion_list(
    request: KeyedRequest, cursor: str = "", limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS)
) -> SuggestionsOut:
    """Return what waits for your yes, the newest first."""
    found = waiting_for(request.auth).order_by("-pk")
    if cursor:
        found = found.filter(pk__lt=decode_cursor(cursor, int)[0])
    rows = list(found[: limit + 1])
    more = encode_cursor(rows[limit - 1].pk) if len(rows) > limit else None
    return SuggestionsOut(items=[SuggestionOut.of(row) for row in rows[:limit]], next=more)


@router.post("/memory/suggestions/{int:suggestion_id}", response=responses(SuggestionState, 403, 404, 409, 413, 422))
def answer_suggestion(request: KeyedRequest, suggestion_id: int, answer: SuggestionAnswer) -> SuggestionState:
    """Accept a suggestion, which writes its text, or decline it. The first answer counts."""
    row = Suggestion.objects.visible_to(request.auth).select_related("space").filter(pk=suggestion_id).first()
    if row is None:
        raise ApiError(404, "not_found", "There is no such suggestion.")
    if not may_edit(request.auth, row.space, row.path):
        raise ApiError(403, "read_only", "You may not change this document of the space.")
    if answer.answer == "accept":
        with errors_as_answers():
            accept(row, request.auth)
    else:
        decline(row)
    row.refresh_from_db()
    return SuggestionState(status=row.status)
