"""Frames by POST, for a page whose WebSocket is blocked: one frame in, the answer to it as another one out."""

import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpResponseBase, JsonResponse
from django.views.decorators.http import require_POST

from chat.conversations import branches, presence, transcript
from chat.live import rooms
from chat.live.consumer import choice_in, decoded, error_frame, identifier, message_number, mode_in
from chat.live.draft import Composed
from chat.live.errors import REFUSED, Refusal, refusal_of
from chat.live.outbox import Frame
from chat.models import Turn
from chat.turns import commands, start
from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import checked
from oneclaw.threads import in_database


@login_required
@require_POST
async def post_frame(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponseBase:
    """`send`, `edit`, `show`, `stop`, `retry` or `continue` in this conversation, with the ids of the socket."""
    user = await request.auser()
    frame: dict[str, Any] = {}
    try:
        frame = decoded(request.body.decode(errors="surrogateescape"), None)
        await in_database(presence.look_in, user)
        answer = await answered(user, session_id, frame)
    except REFUSED as error:
        answer = error_frame(*refusal_of(error), frame.get("client_id"))
    return JsonResponse(answer)


async def answered(user: User, session_id: uuid.UUID, frame: dict[str, Any]) -> Frame:
    match frame["type"]:
        case "send":
            return await sent(user, session_id, frame)
        case "edit":
            client_id, text = (
                identifier(frame, "client_id"),
                checked(frame.get("text"), longest=settings.MESSAGE_LENGTH),
            )
            accepted = await start.edit(user, message_number(frame), client_id, text, choice_in(frame))
            return rooms.ack_frame(accepted.message, duplicate=accepted.duplicate)
        case "show":
            session = await in_database(branches.show, user, message_number(frame))
            return rooms.ready_frame(session_id, session.last_seq, reset=True)
        case "stop":
            number = message_number(frame) if frame.get("message") is not None else None
            await in_database(transcript.request_stop, user, session_id, number)
            return {"type": "pong"}
        case "retry" | "continue":
            return await tried_again(user, session_id, frame)
    raise Refusal("bad_frame", "This frame needs a socket.")


async def sent(user: User, session_id: uuid.UUID, frame: dict[str, Any]) -> Frame:
    client_id = identifier(frame, "client_id")
    composed, mode = Composed.read(frame.get("text"), frame.get("files")), mode_in(frame)
    if reason := composed.ends_because:
        await in_database(commands.obey, user, session_id, reason)
        return rooms.ended_frame(session_id, client_id, reason)
    written = (composed.text, mode, choice_in(frame), composed.files)
    accepted = await start.send(user, session_id, client_id, *written)
    return rooms.ack_frame(accepted.message, duplicate=accepted.duplicate)


async def tried_again(user: User, session_id: uuid.UUID, frame: dict[str, Any]) -> Frame:
    answer = await start.again(user, message_number(frame), frame["type"], choice_in(frame))
    if frame["type"] == Turn.Kind.CONTINUE:
        return rooms.message_frame(answer)
    return rooms.ready_frame(session_id, answer.seq, reset=True)
