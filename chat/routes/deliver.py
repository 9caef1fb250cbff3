"""Deliver messages from outside: find or begin the conversation of their route, and store them in it once.

Two first messages at once make one conversation: one process at a time makes a route, and what decides about its
conversation happens under the lock of its row.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import transaction

from chat.conversations import lifecycle, model_choice, transcript
from chat.conversations.keys import RouteScope, Sender, conversation_key, route_key
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.conversations.pasted import Ranges
from chat.models import Agent, ChatSession, MemoryChoice, Message, SessionRoute, Turn
from chat.routes import identities, resets
from chat.routes.resets import LockedRoute
from oneclaw.locks import hold
from oneclaw.models import User


@dataclass(frozen=True)
class Incoming:
    """A message from outside that is to be stored. `mode` and the agent of `choice` are for a route without any."""

    sender: Sender
    client_id: uuid.UUID
    text: str
    mode: str | None = None
    choice: Choice = NO_CHOICE
    files: Sequence[uuid.UUID] = ()
    pasted: Ranges = ()


def key_of(user: User, agent: Agent, sender: Sender) -> str:
    """Return the key of the route of messages from `sender` to `agent`. The scope `main` is for the peers of its owner;
    with it, another peer has a conversation of its own."""
    scope = RouteScope(agent.dm_scope or settings.DM_SCOPE)
    if scope == RouteScope.MAIN and not identities.is_owner(user, sender):
        # What is private to a person is shared with nobody else.
        scope = RouteScope.PER_PEER
    if scope == RouteScope.PER_PEER:
        sender = replace(sender, peer=identities.canonical_peer(user, sender))
    return route_key(agent.slug, user.pk, scope, sender)


def current_session(user: User, sender: Sender, choice: Choice = NO_CHOICE) -> ChatSession | None:
    """Return the current conversation of messages from `sender`; None before the first one. Raise NotOfferedError."""
    key = key_of(user, model_choice.agent_for(user, choice), sender)
    return ChatSession.objects.private_to(user).filter(current_of__key=key).select_related("agent").first()


def is_busy(user: User, incoming: Incoming) -> bool:
    """Return whether an answer is running in the current conversation of the route of `incoming`."""
    session = current_session(user, incoming.sender, incoming.choice)
    return session is not None and Turn.objects.running().filter(session=session).exists()


@transaction.atomic
def accept(
    user: User, incoming: Incoming, holder: uuid.UUID | None = None, *, ends_by: str = ""
) -> transcript.AcceptedMessage:
    """Store a message in the current conversation of its route, as `transcript.accept` does; deduplicate by the route
    and its client_id, also after a reset.

    A reset that is due comes first. With `ends_by`, the reason of a command, the route goes on in a new conversation in
    any case. Raise the errors of `transcript.accept`.
    """
    agent = model_choice.agent_for(user, incoming.choice)
    is_owner = identities.is_owner(user, incoming.sender)
    if not is_owner:
        incoming = replace(incoming, choice=replace(incoming.choice, memory=MemoryChoice.NONE))
    session, locked = lock_or_make(user, agent, incoming)
    route = locked.route
    known = Message.objects.filter(session__route=route, client_id=incoming.client_id)
    known_in = known.values_list("session", flat=True).first()
    if known_in is None:
        session = begun_anew(session, locked, ends_by)
        session = kept_apart(session, is_owner=is_owner)
    message = (user, known_in or session.pk, incoming.client_id, incoming.text, holder)
    if known_in is not None:
        return transcript.accept(*message, files=incoming.files)
    choice = replace(incoming.choice, agent=None)
    peer = "" if is_owner else incoming.sender.peer
    written = (*message, incoming.mode, choice, incoming.files)
    accepted = transcript.accept(*written, pasted=incoming.pasted, peer=peer)
    record_sender(route, incoming.sender)
    return accepted


def begun_anew(session: ChatSession, locked: LockedRoute, ends_by: str) -> ChatSession:
    """Return the conversation for the next message of the locked route: `session`, or the one that follows it.

    Raise SessionBusyError when a reset is due while a turn is running.
    """
    cause: str | None = ends_by if session.last_seq else ""
    if not cause:
        cause = resets.due_cause(session, locked)
        if cause:
            transcript.refuse_if_busy(session)
    return (lifecycle.end(session, cause) if cause else None) or session


def kept_apart(session: ChatSession, *, is_owner: bool) -> ChatSession:
    """Return the conversation for the owner or for another peer: the locked `session` if it is that, else one that
    follows it. Another peer's has no memory. Raise SessionBusyError while a turn is running."""
    memory = MemoryChoice.ALL if is_owner else MemoryChoice.NONE
    is_of_other = session.messages.filter(meta__has_key=Message.PEER_KEY).exists()
    is_fitting = not is_of_other if is_owner else session.memory == memory and (is_of_other or not session.last_seq)
    if is_fitting:
        return session
    if session.last_seq:
        transcript.refuse_if_busy(session)
        session = lifecycle.end(session, "reset") or session
    session.memory = memory
    session.save(update_fields=["memory"])
    return session


def lock_or_make(user: User, agent: Agent, incoming: Incoming) -> tuple[ChatSession, LockedRoute]:
    """Lock and return the current conversation of the route of `incoming`, and the route. Both are made if needed."""
    key = key_of(user, agent, incoming.sender)
    while (found := lock_current(user, key)) is None:
        make(user, agent, key, incoming)
    return found


def lock_current(user: User, key: str) -> tuple[ChatSession, LockedRoute] | None:
    """Lock and return the current conversation of the route `key`, and the route; None when there is none yet."""
    current = ChatSession.objects.private_to(user).filter(current_of__key=key).select_related("owner", "agent")
    while session := current.select_for_update(no_key=True, of=("self",)).first():
        found = resets.lock_route(session)
        # Else another process has pointed the route at another conversation meanwhile.
        if found is not None and found.route.key == key:
            return session, found
    return None


def make(user: User, agent: Agent, key: str, incoming: Incoming) -> None:
    """Store the route `key` with an empty conversation, unless another process has done so."""
    # Not the route's row: all others lock that after its conversation.
    hold(f"route {key}")
    if ChatSession.objects.private_to(user).filter(current_of__key=key).exists():
        return
    sender = incoming.sender
    about = {"channel": sender.channel, "account": sender.account, "peer": sender.peer}
    route, _ = SessionRoute.objects.get_or_create(key=key, defaults={"owner": user, "agent": agent, **about})
    session_id = uuid.uuid4()
    route.session = ChatSession.objects.create(
        pk=session_id,
        key=conversation_key(agent.slug, user.pk, session_id),
        owner=user,
        agent=agent,
        mode=incoming.mode or ChatSession.Mode.AGENT,
        model=model_choice.checked_model(user.pk, incoming.choice),
        effort=model_choice.checked_effort(incoming.choice),
        memory=model_choice.checked_memory(incoming.choice, space_id=None),
        route=route,
    )
    route.started_at = route.last_person_at = route.check_at = None
    route.save()


def record_sender(route: SessionRoute, sender: Sender) -> None:
    """Record in the locked `route` that its newest message is from `sender`."""
    about = {"channel": sender.channel, "account": sender.account, "peer": sender.peer}
    if any(getattr(route, name) != value for name, value in about.items()):
        SessionRoute.objects.filter(pk=route.pk).update(**about)


@dataclass(frozen=True)
class EndedRoute:
    """The conversation of a route that a command has ended, and the one with which the route goes on."""

    session_id: uuid.UUID
    follower_id: uuid.UUID


@transaction.atomic
def end_current(
    user: User, sender: Sender, client_id: uuid.UUID, reason: str, choice: Choice = NO_CHOICE
) -> EndedRoute | None:
    """End the current conversation of messages from `sender`, once per `client_id`; None when nothing was said in it.

    Raise NotOfferedError.
    """
    found = lock_current(user, key_of(user, model_choice.agent_for(user, choice), sender))
    if found is None:
        return None
    session, route = found[0], found[1].route
    if route.reset_key == client_id:
        ended = route.sessions.exclude(pk=session.pk).order_by("created_at").last()
        return EndedRoute(ended.pk, session.pk) if ended else None
    follower = lifecycle.end(session, reason) if session.last_seq else None
    if follower is None:
        return None
    SessionRoute.objects.filter(pk=route.pk).update(reset_key=client_id)
    return EndedRoute(session.pk, follower.pk)
