"""Declare what an app offers to be added to a message, besides the files of the person's computer."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from chat.models import ChatSession
from oneclaw.models import User
from oneclaw.text import StrOrPromise


@dataclass(frozen=True)
class Pick:
    """Something that may be added to a message: its `key` in the app, its name, a few words about it, and its size in
    bytes."""

    key: str
    name: str
    about: str
    size: int


@dataclass(frozen=True)
class PickingScope:
    """For whom and where something is picked: in `session`, None before its first message, then in the space with this
    id, if any, in which the conversation is to begin."""

    user: User
    session_id: UUID
    session: ChatSession | None = None
    space_id: int | None = None


@dataclass(frozen=True)
class Picker:
    """What an app offers to be added to a message. What is picked is an attachment with a source
    (chat/attachments/chosen.py); the app's MessageContext sends its text. Sync, may use the ORM."""

    # Returns what may be picked there whose name has every one of the words, at most the given number.
    found: Callable[[PickingScope, list[str], int], list[Pick]]
    # Returns what has this key, if it may be picked there; None otherwise.
    pick: Callable[[PickingScope, str], Pick | None]
    # Returns the URL of the page of what has this key; "" when this person may not see it.
    address: Callable[[User, str], str]
    # The name of the page on which people add to it, and of its URL pattern.
    page_label: StrOrPromise
    page_url_name: str
