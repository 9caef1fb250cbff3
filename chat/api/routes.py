"""The routes of the HTTP API for conversations; they call the same code as page and socket."""

import uuid
from typing import Literal

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from ninja import Query, Router
from ninja.responses import Status

from chat.api.access import managed_session, own_session, refusals, session_out, written_session
from chat.api.shapes import (
    AgentOut,
    AnswerOut,
    MessageIn,
    MessageOut,
    MessagesOut,
    ModelOut,
    ResetOut,
    SentOut,
    SessionChange,
    SessionOut,
    SessionsOut,
    SessionWithMessages,
)
from chat.conversations import lifecycle, model_choice, presence, transcript
from chat.conversations.model_choice import Choice
from chat.conversations.shared import stopping
from chat.conversations.shown import read_with_authors
from chat.library import organise, spaces
from chat.library.totals import read_totals
from chat.live.frames import MessageFrameFields, SendFrame, frame_of
from chat.live.handle import Commanded, Ended, Queued, handle
from chat.live.routed import Delivered, handle_routed
from chat.live.wait import until_answered
from chat.models import Agent, ChatSession, Message, Turn, default_agent, placed
from chat.transfer.downloads import download_of
from oneclaw import llm
from oneclaw.audit.holds import HeldError
from oneclaw.models import User
from oneclaw.text import validated_text
from oneclaw.threads import in_database
from oneclaw.web.api import PAGE_DEFAULT_ROWS, PAGE_MAX_ROWS, ApiError, Key, KeyedRequest, responses
from oneclaw.web.limits.at_once import give_back_slot
from oneclaw.web.pagination import aware_moment, decode_cursor, encode_cursor

router = Router(tags=["conversations"])

# The namespace of the ids of sessions that a client_id begins: the same session each time.
SESSION_NAMESPACE = uuid.UUID("6f1c3c0e-6d0a-4d0c-9f57-0c1a3f4b7d21")
WAIT_MAX_SECONDS = 60


@router.get("/models", response=responses(list[ModelOut]))
def models(request: KeyedRequest) -> list[ModelOut]:
    """List the models that a message may name."""
    offered = model_choice.models_for(request.auth.pk).items()
    return [
        ModelOut(
            name=name,
            label=label,
            is_default=name == settings.MODEL,
            efforts=list(llm.cached_facts(name).efforts),
            memory=not llm.answers_without_memory(name),
        )
        for name, label in offered
    ]


@router.get("/agents", response=responses(list[AgentOut]))
def agents(request: KeyedRequest) -> list[AgentOut]:
    """List the agents that can be chosen, the default first."""
    default_agent()
    return [AgentOut.of(agent, request.auth.pk) for agent in Agent.objects.visible_to(request.auth)]


@router.get("/sessions", response=responses(SessionsOut, 422))
def session_list(
    request: KeyedRequest,
    archived: bool = False,
    channel: str = Query("", max_length=40, description="Only conversations of routes of this channel."),
    cursor: str = "",
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> SessionsOut:
    """List your conversations, the last active first: those in the list, or the archived ones; no temporary ones."""
    own = placed(ChatSession.objects.visible_to(request.auth), request.auth).written()
    found = own.filter(Q(my_archived_at__isnull=not archived))
    if cursor:
        at, pk = decode_cursor(cursor, aware_moment, uuid.UUID)
        found = found.filter(Q(active_at__lt=at) | Q(active_at=at, pk__lt=pk))
    if channel:
        found = found.filter(route__channel=channel)
    shown = read_totals(found.order_by("-active_at", "-pk")[: limit + 1])
    last = shown[limit - 1].session if len(shown) > limit else None
    more = encode_cursor(last.active_at.isoformat(), str(last.pk)) if last else None
    return SessionsOut(items=[SessionOut.of(each) for each in shown[:limit]], next=more)


@router.get("/sessions/{uuid:session_id}", response=responses(SessionWithMessages, 404))
def session(request: KeyedRequest, session_id: uuid.UUID) -> SessionWithMessages:
    """Get one conversation with its newest messages. What you read here stays unread on the page."""
    found = own_session(request.auth, session_id)
    newest = read_with_authors(said(found).order_by("-seq")[: PAGE_DEFAULT_ROWS + 1])
    messages = [MessageOut.of(message) for message in reversed(newest[:PAGE_DEFAULT_ROWS])]
    about = session_out(request.auth, session_id).model_dump()
    return SessionWithMessages(**about, messages=messages, has_earlier=len(newest) > PAGE_DEFAULT_ROWS)


@router.get("/sessions/{uuid:session_id}/messages", response=responses(MessagesOut, 404, 422))
def message_list(
    request: KeyedRequest,
    session_id: uuid.UUID,
    after: int = Query(0, ge=0, lt=2**62, description="Messages with a place after this one."),
    limit: int = Query(PAGE_DEFAULT_ROWS, ge=1, le=PAGE_MAX_ROWS),
) -> MessagesOut:
    """List the shown messages of a conversation, in order."""
    later = said(own_session(request.auth, session_id)).filter(seq__gt=after).order_by("seq")
    found = read_with_authors(later[: limit + 1])
    more = found[limit - 1].message.seq if len(found) > limit else None
    return MessagesOut(items=[MessageOut.of(message) for message in found[:limit]], next=more)


@router.patch("/sessions/{uuid:session_id}", response=responses(SessionOut, 404, 409, 422))
def change_session(request: KeyedRequest, session_id: uuid.UUID, change: SessionChange) -> SessionOut:
    """Rename, pin or archive a conversation, or undo that; move it into a space; or choose which memory it reads."""
    user = request.auth
    with refusals(), transaction.atomic():
        found = own_session(user, session_id)
        if found.is_temporary and (change.pinned is not None or change.archived is not None):
            raise ApiError(
                409, "temporary", "A temporary conversation is in no list: it can be deleted, or left alone."
            )
        if change.title is not None:
            lifecycle.rename(
                managed_session(user, session_id), validated_text(change.title, max_chars=200, name=_("The title"))
            )
        if change.pinned is not None:
            organise.organise(user, [session_id], "pin" if change.pinned else "unpin")
        if change.archived is not None:
            organise.organise(user, [session_id], "archive" if change.archived else "unarchive")
        if change.space is not None:
            to = spaces.found_open(user, change.space) if change.space else None
            try:
                spaces.move(user, session_id, to)
            except (spaces.SharedConversationError, HeldError) as error:
                raise ApiError(409, "shared" if found.is_shared else "held", error.sentence) from None
        if change.memory is not None:
            if written_session(user, session_id).is_temporary:
                raise model_choice.NoSuchMemoryError
            locked = lifecycle.lock(user, session_id)
            transcript.refuse_if_busy(locked)
            model_choice.apply_choice(user.pk, locked, Choice(memory=change.memory))
    return session_out(user, session_id)


@router.delete("/sessions/{uuid:session_id}", response=responses({204: None}, 404))
def delete_session(request: KeyedRequest, session_id: uuid.UUID) -> Status[None]:
    """Delete a conversation. /restore brings it back, unless it was temporary."""
    managed_session(request.auth, session_id)
    organise.organise(request.auth, [session_id], "delete")
    return Status(204, None)


@router.post("/sessions/{uuid:session_id}/restore", response=responses(SessionOut, 404))
def restore_session(request: KeyedRequest, session_id: uuid.UUID) -> SessionOut:
    """Bring a deleted conversation back."""
    organise.organise(request.auth, [session_id], "restore")
    return session_out(request.auth, session_id)


@router.post("/sessions/{uuid:session_id}/stop", response=responses({202: None}, 404))
def stop(request: KeyedRequest, session_id: uuid.UUID) -> Status[None]:
    """Ask the answer that runs in the conversation to stop; what it has said stays."""
    stopping.request_stop(request.auth, written_session(request.auth, session_id).pk, None)
    return Status(202, None)


@router.post("/sessions/{uuid:session_id}/reset", response=responses(ResetOut, 404))
def reset(request: KeyedRequest, session_id: uuid.UUID) -> ResetOut:
    """End a conversation, as the command /reset does; its route goes on in a new one."""
    follower = lifecycle.end(managed_session(request.auth, session_id), "reset")
    return ResetOut(ended=session_id, session=follower.pk if follower else None)


@router.get("/sessions/{uuid:session_id}/export", response=responses({200: None}, 404), auth=Key(is_async=True))
async def export(
    request: KeyedRequest, session_id: uuid.UUID, format: Literal["md", "json"] = "json"
) -> HttpResponseBase:
    """Download a conversation as JSON (docs/export.md), or as Markdown for reading."""
    found = await in_database(own_session, request.auth, session_id, "owner", "folder")
    return await in_database(download_of, request.auth, found, format)


@router.post("/messages", response=responses({200: SentOut, 202: SentOut}, 404, 409, 413, 422), auth=Key(is_async=True))
async def send(
    request: KeyedRequest,
    message: MessageIn,
    wait: float = Query(0, ge=0, le=WAIT_MAX_SECONDS, description="Seconds to wait for the answer."),
) -> Status[SentOut]:
    """Send a message. 202: it is stored and being answered; 200: with `wait`, the answer has ended."""
    user, client_id = request.auth, message.client_id or uuid.uuid4()
    with refusals():
        await in_database(presence.arrive_unless_recent, user)
        done = await (sent_to_route if message.route else sent_to_session)(user, message, client_id)
    sent = SentOut(session=done.session_id, client_id=client_id, ended=done.ended, notice=done.notice)
    if done.stored is None:
        return Status(200, sent)
    stored = done.stored.message
    sent.message, sent.seq, sent.duplicate = str(stored.pk), stored.seq, done.stored.duplicate
    if wait:
        give_back_slot(request)
        turn = await until_answered(user, stored, wait)
        sent.answer = await in_database(answer_of, turn) if turn else None
    is_over = sent.answer is not None and sent.answer.status != Turn.Status.RUNNING
    return Status(200 if is_over else 202, sent)


async def sent_to_session(user: User, message: MessageIn, client_id: uuid.UUID) -> Delivered:
    """Send `message` to the conversation that it names, or to a new one."""
    session_id = message.session or uuid.uuid5(SESSION_NAMESPACE, f"{user.pk}:{client_id}")
    if message.session is not None:
        await in_database(own_session, user, message.session)
    fields = message.model_dump(exclude={"route"}) | {"client_id": client_id, "session": session_id}
    outcome = await handle(user, frame_of(SendFrame, **fields))
    if isinstance(outcome, Commanded):
        return Delivered(session_id, notice=str(outcome.reason))
    if isinstance(outcome, Queued):
        return Delivered(session_id, notice=_("The message waits for the answer that is running."))
    if isinstance(outcome, Ended):
        return Delivered(outcome.follower_id if outcome.first else session_id, outcome.first, outcome.reason)
    return Delivered(session_id, outcome)


async def sent_to_route(user: User, message: MessageIn, client_id: uuid.UUID) -> Delivered:
    """Send `message` to the conversation of its route."""
    if message.route is None or message.session is not None:
        raise ApiError(422, "invalid", "session: Name a conversation or a route, not both.")
    if message.mode == ChatSession.Mode.TEMPORARY:
        raise ApiError(422, "invalid", "mode: The conversation of a route cannot be temporary.")
    fields = message.model_dump(exclude={"route", "session"}) | {"client_id": client_id}
    return await handle_routed(user, message.route.sender, frame_of(MessageFrameFields, **fields))


def said(session: ChatSession) -> QuerySet[Message]:
    """Return the shown messages of a conversation, without the results of tools."""
    return session.messages.shown().said().select_related("turn").defer("html")


def answer_of(turn: Turn) -> AnswerOut:
    rounds = turn.messages.filter(role=Message.Role.ASSISTANT).order_by("seq").select_related("turn")
    return AnswerOut.of(turn, list(rounds))
