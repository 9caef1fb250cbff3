"""Session keys: texts that say which conversation a message belongs to (docs/glossary.md). Pure.

    conversation      agent:<slug>:user:<id>:<uuid>
    its sub-session   agent:<slug>:user:<id>:sub:<uuid>
    a scheduled turn  agent:<slug>:user:<id>:beat:<uuid>
    a route           agent:<slug>:user:<id>:main, or with the peer, its channel and its account in front of it

The person is in every key, so that no two people share one. A part from outside is percent-encoded: it cannot contain
the separator, and two different routes have different keys.
"""

import uuid
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

# The account of a route that names none.
DEFAULT_ACCOUNT = "default"


class RouteScope(StrEnum):
    """Which messages from outside share one conversation of a person."""

    MAIN = "main"
    PER_PEER = "per-peer"
    PER_CHANNEL_PEER = "per-channel-peer"
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"


@dataclass(frozen=True)
class Sender:
    """Name where a message from outside comes from: a peer of a channel, such as a chat of a messenger, and the account
    of the channel that received it."""

    channel: str
    peer: str
    account: str = ""


def conversation_key(agent_slug: str, user_id: int, session_id: uuid.UUID) -> str:
    """Return the key of a conversation."""
    return f"{_prefix(agent_slug, user_id)}:{session_id}"


def sub_session_key(agent_slug: str, user_id: int, session_id: uuid.UUID) -> str:
    """Return the key of a conversation that another one began."""
    return f"{_prefix(agent_slug, user_id)}:sub:{session_id}"


def beat_key(agent_slug: str, user_id: int, session_id: uuid.UUID) -> str:
    """Return the key of the conversation of a scheduled turn."""
    return f"{_prefix(agent_slug, user_id)}:beat:{session_id}"


def owned_by(key: str, user_id: int, agent_slug: str) -> str:
    """Return the key of the same conversation when it is that of another person."""
    return f"{_prefix(agent_slug, user_id)}:{key.split(':', 4)[4]}"


def route_key(agent_slug: str, user_id: int, scope: RouteScope, sender: Sender) -> str:
    """Return the key of the route of messages from `sender`.

    With `RouteScope.PER_PEER`, `sender.peer` is the canonical peer of linked identities.
    """
    prefix = _prefix(agent_slug, user_id)
    if scope == RouteScope.MAIN:
        return f"{prefix}:main"
    peer = ["dm", _encoded(sender.peer)]
    if scope == RouteScope.PER_PEER:
        return ":".join([prefix, *peer])
    channel = _encoded(sender.channel)
    if scope == RouteScope.PER_CHANNEL_PEER:
        return ":".join([prefix, channel, *peer])
    return ":".join([prefix, channel, _encoded(sender.account or DEFAULT_ACCOUNT), *peer])


def _prefix(agent_slug: str, user_id: int) -> str:
    return f"agent:{_encoded(agent_slug)}:user:{user_id}"


def _encoded(part: str) -> str:
    return quote(part, safe="")
