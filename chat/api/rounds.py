"""The routes of the HTTP API for what the model is sent of a conversation, and for its summaries."""

import uuid

from ninja import Query, Router
from ninja.responses import Status

from chat.api.access import own_session, refusals, written_session
from chat.api.shapes import CompactIn, ContextOut, RoundChange, RoundOut, RoundsOut
from chat.compaction import changes, planning
from chat.context.inspection import body_of, next_request
from chat.models import ContextRound
from oneclaw.web.api import PAGE_DEFAULT_ROWS, PAGE_MAX_ROWS, ApiError, KeyedRequest, responses

router = Router(tags=["conversations"])


@router.get("/sessions/{uuid:session_id}/context", response=responses(ContextOut, 404))
def context(request: KeyedRequest, session_id: uuid.UUID) -> ContextOut:
    """Get the request that the model would be sent now, without your next message, and what takes its tokens."""
    session = own_session(request.auth, session_id)
    inspected, breakdown = next_request(session)
    return ContextOut(
        used_tokens=breakdown.meter.used_tokens,
        window_tokens=breakdown.meter.window_tokens,
        parts={part.value: count for part, count, _ in breakdown.bars()},
        request=body_of(session, inspected),
    )


@router.post("/sessions/{uuid:session_id}/compact", response=responses({202: RoundOut}, 404, 409, 422))
def compact(request: KeyedRequest, session_id: uuid.UUID, asked: CompactIn) -> Status[RoundOut]:
    """Ask for a summary of older messages, which the model reads from your next message on."""
    session = written_session(request.auth, session_id)
    with refusals():
        try:
            return Status(202, RoundOut.of(planning.ask(session, asked.focus)))
        except planning.NothingToCompactError:
            raise ApiError(409, "nothing_to_compact", "There is too little to summarise.") from None


@router.get("/sessions/{uuid:session_id}/rounds", response=responses(RoundsOut, 404, 422))
def round_list(
    request: KeyedRequest,
    session_id: uuid.UUID,
    after: int = Query(0, ge=0, lt=2**31, description="Rounds with a number above this one."),
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> RoundsOut:
    """List the summaries of a conversation, and what was shortened in it, in order."""
    session = own_session(request.auth, session_id)
    rounds = session.context_rounds.for_readers(session).filter(number__gt=after).order_by("number")
    found = list(rounds.select_related("through").defer("block", "steps", "text")[: limit + 1])
    more = found[limit - 1].number if len(found) > limit else None
    return RoundsOut(items=[RoundOut.of(each) for each in found[:limit]], next=more)


@router.patch("/sessions/{uuid:session_id}/rounds/{int:number}", response=responses(RoundOut, 404, 409, 422))
def change_round(request: KeyedRequest, session_id: uuid.UUID, number: int, change: RoundChange) -> RoundOut:
    """Replace a summary by your own text, which the model reads from your next message on."""
    own_round(request, session_id, number)
    with refusals():
        try:
            return RoundOut.of(changes.edit(request.auth, session_id, number, change.summary))
        except (changes.RoundNotFoundError, changes.NotASummaryError) as refusal:
            raise ApiError(409, "not_a_summary", refusal.sentence) from None


@router.delete("/sessions/{uuid:session_id}/rounds/{int:number}", response=responses({204: None}, 404))
def undo_round(request: KeyedRequest, session_id: uuid.UUID, number: int) -> Status[None]:
    """Undo a round: the model is sent again what it replaced. One that is being made is stopped."""
    own_round(request, session_id, number)
    changes.undo(request.auth, session_id, number)
    return Status(204, None)


def own_round(request: KeyedRequest, session_id: uuid.UUID, number: int) -> ContextRound:
    """Return the round of a conversation that the person may write in. Raise ApiError when there is none."""
    session = written_session(request.auth, session_id)
    found: ContextRound | None = session.context_rounds.for_readers(session).filter(number=number).first()
    if found is None:
        raise ApiError(404, "not_found", str(changes.RoundNotFoundError()))
    return found
