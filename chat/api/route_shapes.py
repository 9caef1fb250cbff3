"""Schemas of the HTTP API for routes of messages from outside, and for the tokens of a conversation."""

from typing import Annotated

from ninja import Schema
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from chat.conversations.keys import Sender
from chat.library.totals import SessionTokens
from chat.models import ChatSession, SessionRoute
from oneclaw.web.api import RequestBody

# By the functional syntax, because `in` is no name in Python.
SessionTokensOut = TypedDict(
    "SessionTokensOut",
    {
        "used": Annotated[int, Field(description="What the server of the model counted for the newest request.")],
        "window": Annotated[int, Field(description="The most that a request may take.")],
        "in": Annotated[int, Field(description="Read by the model in all requests, without `cached`.")],
        "out": Annotated[int, Field(description="Written by the model.")],
        "cached": Annotated[int, Field(description="Read from the provider's cache.")],
        "cost": Annotated[
            float | None, Field(description="In US dollars; null when ONECLAW_PRICES lacks one of its models.")
        ],
    },
)


def session_tokens(tokens: SessionTokens) -> SessionTokensOut:
    """Return `tokens` in the form of the API."""
    return {
        "used": tokens.used,
        "window": tokens.window,
        "in": tokens.read,
        "out": tokens.written,
        "cached": tokens.cached,
        "cost": tokens.cost,
    }


class RouteOut(Schema):
    """Say where the messages of a conversation come from."""

    key: str = Field(examples=["agent:oneclaw:user:7:telegram:dm:123"])
    channel: str = Field(examples=["telegram"])
    account: str
    peer: str = Field(description="The sender of the newest message.")
    current: bool = Field(description="Whether the next message goes to this conversation.")

    @classmethod
    def of(cls, session: ChatSession) -> "RouteOut | None":
        """Return the schema of the route of `session`, which is loaded; None when it is of none."""
        route = session.route
        if route is None:
            return None
        current = route.session_id == session.pk
        return cls(key=route.key, channel=route.channel, account=route.account, peer=route.peer, current=current)


def printable(text: str) -> str:
    """Return `text`, the name of a sender. Raise ValueError for one with white space around it or hidden characters."""
    if text != text.strip() or not text.isprintable():
        raise ValueError("it must have no hidden characters, and no white space around it")
    return text


class RouteIn(RequestBody):
    """Name where a message comes from. Who you are is decided by your key."""

    channel: str = Field(
        max_length=SessionRoute.CHANNEL_MAX_CHARS,
        pattern=r"^[a-z0-9][a-z0-9_-]*$",
        description="The kind of messenger: small letters, digits, - and _.",
        examples=["telegram"],
    )
    account: Annotated[str, AfterValidator(printable)] = Field(
        default="", max_length=SessionRoute.ACCOUNT_MAX_CHARS, description="Which of your accounts there received it."
    )
    peer: Annotated[str, AfterValidator(printable)] = Field(
        min_length=1, max_length=SessionRoute.PEER_MAX_CHARS, description="Who sent it there.", examples=["123"]
    )

    @property
    def sender(self) -> Sender:
        return Sender(self.channel, self.peer, self.account)
