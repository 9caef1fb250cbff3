"""Frames by POST, for a page whose WebSocket is blocked: one frame in, the answer to it as another one out."""

import uuid
from typing import Any

from django.http import HttpResponseBase, JsonResponse
from django.views.decorators.http import require_POST

from chat.conversations import presence
from chat.live.errors import CLIENT_ERRORS, FrameError, code_and_sentence, retry_after
from chat.live.frames import OpenFrame, PingFrame, WritingFrame, client_frame, decoded
from chat.live.handle import handle
from chat.live.server_frames import ServerFrame, error_frame
from oneclaw.people.requests import SignedInRequest
from oneclaw.threads import in_database


@require_POST
async def post_frame(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponseBase:
    """Carry out `send`, `edit`, `show`, `stop`, `retry` or `continue` in this conversation."""
    user = await request.auser()
    fields: dict[str, Any] = {}
    answer: ServerFrame
    try:
        fields = decoded(request.body.decode(errors="surrogateescape"))
        frame = client_frame(fields | {"session": session_id})
        await in_database(presence.arrive_unless_recent, user)
        if isinstance(frame, OpenFrame | PingFrame | WritingFrame):
            raise FrameError("bad_frame", "This frame needs a socket.")
        answer = (await handle(user, frame, session_id)).frame()
    except CLIENT_ERRORS as error:
        answer = error_frame(*code_and_sentence(error), fields.get("client_id"), retry_after(error))
    return JsonResponse(answer)
