"""What a program may see, write in and manage, and the refusals of the API."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from chat.api.shapes import SessionOut
from chat.conversations import lifecycle
from chat.library.totals import read_totals
from chat.live.errors import CLIENT_ERRORS, code_and_sentence, retry_after
from chat.models import ChatSession, ChatSessionQuerySet, placed
from oneclaw.models import User
from oneclaw.web.api import ApiError

# The HTTP status of a protocol error code; 422 for every other one.
STATUS = {
    "not_found": 404,
    "conflict": 409,
    "busy": 409,
    "read_only": 409,
    "other_mode": 409,
    "other_agent": 409,
    "too_many_turns": 429,
    "too_many_requests": 429,
    "budget_used_up": 429,
    "maintenance": 429,
}


@contextmanager
def refusals() -> Iterator[None]:
    """Refuse with the codes and sentences of the socket."""
    try:
        yield
    except CLIENT_ERRORS as error:
        code, sentence = code_and_sentence(error)
        raise ApiError(STATUS.get(code, 422), code, sentence, retry_after(error)) from error


def own_session(user: User, session_id: uuid.UUID, *related: str) -> ChatSession:
    """Return the session that the person may see, `placed` for them, with its agent and its `related` rows.

    Raise ApiError alike for a deleted, a hidden and an unknown one.
    """
    visible = placed(ChatSession.objects.visible_to(user), user)
    return found_or_refused(visible.select_related("agent", *related), session_id)


def written_session(user: User, session_id: uuid.UUID) -> ChatSession:
    """Return the session that the person may write in. Raise ApiError: `read_only` when they may only read it."""
    return allowed(user, session_id, ChatSession.objects.continued_by(user))


def managed_session(user: User, session_id: uuid.UUID) -> ChatSession:
    """Return the session that the person may rename and delete. Raise ApiError: `read_only` when they may only see
    it."""
    return allowed(user, session_id, ChatSession.objects.managed_by(user))


def allowed(user: User, session_id: uuid.UUID, sessions: ChatSessionQuerySet) -> ChatSession:
    """Return the session that the person may see, if it is one of `sessions`. Raise ApiError."""
    found = own_session(user, session_id)
    if found.is_shared and not sessions.filter(pk=found.pk).exists():
        raise ApiError(409, *code_and_sentence(lifecycle.NotAWriterError()))
    return found


def session_out(user: User, session_id: uuid.UUID) -> SessionOut:
    """Return the person's session in the form of the API. Raise NotFound as `own_session`."""
    visible = placed(ChatSession.objects.visible_to(user), user)
    for found in read_totals(visible.filter(pk=session_id)):
        return SessionOut.of(found)
    raise not_found_error()


def found_or_refused(sessions: ChatSessionQuerySet, session_id: uuid.UUID) -> ChatSession:
    found = sessions.filter(pk=session_id).first()
    if found is None:
        raise not_found_error()
    return found


def not_found_error() -> ApiError:
    return ApiError(404, *code_and_sentence(lifecycle.SessionNotFoundError()))
