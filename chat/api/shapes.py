"""Schemas of the HTTP API for conversations: agents, models, sessions, messages, answers."""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from chat.answering import WITHOUT_MEMORY_KEY
from chat.api.route_shapes import RouteIn, RouteOut, SessionTokensOut, session_tokens
from chat.conversations import model_choice
from chat.library.totals import ListedTotals
from chat.models import Agent, ContextRound, Message, Turn
from chat.rendering import details
from chat.rendering.shown import ShownMessage
from oneclaw.web.api import PAGE_DEFAULT_ROWS, RequestBody


class AgentOut(Schema):
    """An agent that can be chosen for a new conversation."""

    slug: str = Field(examples=["oneclaw"])
    name: str = Field(examples=["OneClaw"])
    model: str = Field(description="Answers where a message names none.")
    is_default: bool
    is_own: bool = Field(description="Whether you made it; the others are everybody's.")

    @classmethod
    def of(cls, agent: Agent, user_id: int) -> "AgentOut":
        return cls(
            slug=agent.slug,
            name=agent.name,
            model=model_choice.model_of_agent(agent, user_id),
            is_default=agent.is_default,
            is_own=agent.owner_id is not None,
        )


class ModelOut(Schema):
    """A model that a message may name."""

    name: str = Field(examples=["claude-sonnet-5-5"])
    label: str
    is_default: bool
    efforts: list[str] = Field(
        description="The levels of effort that it accepts.", examples=[["low", "medium", "high"]]
    )
    memory: bool = Field(description="Whether it is sent anything of your memory.")


class SessionOut(Schema):
    """A conversation without its messages."""

    id: uuid.UUID
    title: str = Field(examples=["Tea in Lisbon"])
    mode: str = Field(description="agent, chat (memory is read only) or temporary (no memory, in no list).")
    agent: str = Field(description="The slug of who answers.")
    model: str = Field(description="Which model answers.")
    effort: str = Field(description="How much it thinks and writes; empty: the server's default.")
    pinned: bool
    archived: bool
    space: int | None = Field(description="The space that it is in, besides your own.")
    shared: bool = Field(description="Whether the members of the space see it; its editors continue it.")
    memory: str = Field(description="Which memory it reads: all (yours and the space's), own, space or none.")
    ended: bool
    last_seq: int = Field(description="The place of its newest message.")
    tokens: SessionTokensOut
    rounds: int = Field(description="How often the model was sent a summary or shortened results in place of messages.")
    route: RouteOut | None = Field(description="Null for a conversation that was begun on the page.")
    parent: uuid.UUID | None = Field(description="The conversation that it was forked from, or that began it.")
    created_at: dt.datetime
    active_at: dt.datetime

    @classmethod
    def of(cls, found: ListedTotals) -> "SessionOut":
        """Return the schema of a conversation in a list."""
        session = found.session
        return cls(
            id=session.pk,
            title=session.title,
            mode=session.mode,
            agent=session.agent.slug,
            model=model_choice.model_of(session),
            effort=model_choice.effort_of(session),
            pinned=found.position.pinned_at is not None,
            archived=found.position.archived_at is not None,
            space=session.space_id,
            shared=session.is_shared,
            memory=session.memory,
            ended=session.ended_at is not None,
            last_seq=session.last_seq,
            tokens=session_tokens(found.tokens),
            rounds=found.rounds,
            route=RouteOut.of(session),
            parent=session.parent_id,
            created_at=session.created_at,
            active_at=session.active_at,
        )


class TokensOut(Schema):
    """The token usage of the request for this message."""

    input: int
    cached: int = Field(description="Read from the provider's cache, in addition to `input`.")
    written_to_cache: int
    output: int

    @classmethod
    def of(cls, message: Message) -> "TokensOut":
        used = details.tokens_of([message])
        return cls(input=used.read, cached=used.cached, written_to_cache=used.written_to_cache, output=used.written)


class FileOut(Schema):
    name: str
    kind: str
    size: int = Field(description="In bytes.")


class FailureOut(Schema):
    """Why an answer failed."""

    code: str = Field(examples=["overloaded"])
    text: str


class MessageOut(Schema):
    """One message. An answer that calls tools is several messages, one for each request to the model."""

    id: str
    seq: int = Field(description="Its place in the conversation.")
    role: str = Field(description="user or assistant.")
    text: str
    author: str = Field(description="In a shared conversation, the name of the member who wrote it; else empty.")
    by: str = Field(description="session or schedule when another conversation or a schedule wrote it; else empty.")
    status: str = Field(description="running, complete, stopped, interrupted or failed.")
    model: str = Field(description="Which model wrote it; empty for yours.")
    without_memory: bool = Field(
        description="Whether it is an answer whose model was sent nothing of anybody's memory.", default=False
    )
    tokens: TokensOut | None = None
    tools: list[str] = Field(description="The tools that it calls.", examples=[["memory_search"]])
    files: list[FileOut] = Field(description="What you attached.")
    error: FailureOut | None = None
    created_at: dt.datetime
    finished_at: dt.datetime | None = None

    @classmethod
    def of(cls, shown: ShownMessage) -> "MessageOut":
        """Return the schema of a message whose turn is loaded."""
        message = shown.message
        return cls(
            id=str(message.pk),
            seq=message.seq,
            role=message.role,
            author=shown.author.name if shown.author else "",
            by=message.meta.get("by", ""),
            text=message.text,
            status=message.status,
            model=message.model,
            without_memory=bool(message.meta.get(WITHOUT_MEMORY_KEY)),
            tokens=TokensOut.of(message) if message.usage else None,
            tools=[use["name"] for use in message.tool_uses()],
            files=[
                FileOut(name=block.get("name", ""), kind=block.get("kind", ""), size=block.get("size", 0))
                for block in message.content
                if block["type"] == "attachment"
            ],
            error=failure_of(message.turn) if message.status == Message.Status.FAILED else None,
            created_at=message.created_at,
            finished_at=message.finished_at,
        )


class AnswerOut(Schema):
    """All that answers one message."""

    status: str = Field(description="running, complete, stopped, interrupted or failed.")
    text: str
    error: FailureOut | None = None
    messages: list[MessageOut]

    @classmethod
    def of(cls, turn: Turn, messages: Sequence[Message]) -> "AnswerOut":
        return cls(
            status=turn.status,
            text="\n\n".join(message.text for message in messages if message.text),
            error=failure_of(turn),
            messages=[MessageOut.of(ShownMessage(message)) for message in messages],
        )


class SessionsOut(Schema):
    items: list[SessionOut]
    next: str | None = Field(default=None, description="The cursor of the next page; null on the last one.")


class SessionWithMessages(SessionOut):
    messages: list[MessageOut] = Field(description=f"The newest ones that are shown, at most {PAGE_DEFAULT_ROWS}.")
    has_earlier: bool


class MessagesOut(Schema):
    items: list[MessageOut]
    next: int | None = Field(
        default=None, description="What to pass as `after` for the next page; null on the last one."
    )


class SessionChange(RequestBody):
    """The changes of a conversation. A missing field or null leaves the value as it is."""

    title: str | None = Field(default=None, examples=["Tea"])
    pinned: bool | None = None
    archived: bool | None = None
    space: int | None = Field(default=None, description="Moves it into this space; 0 moves it out of every space.")
    memory: Literal["all", "own", "space", "none"] | None = Field(
        default=None, description="Which memory it reads from now on; with none, nothing of it is remembered."
    )


class ResetOut(Schema):
    """The end of a conversation."""

    ended: uuid.UUID
    session: uuid.UUID | None = Field(description="With which its route goes on; null when it is of none.")


class CompactIn(RequestBody):
    """A request for a summary of earlier messages."""

    focus: str = Field(
        default="", description="What it is to keep especially.", examples=["the decisions about the harbour"]
    )


class RoundChange(RequestBody):
    """The change of a round."""

    summary: str = Field(description="Your text, which the model reads in place of the summary.")


class RoundOut(Schema):
    """A recorded change of what the model is sent: a summary of older messages, or shortened results of tools."""

    number: int
    kind: str = Field(description="compact (a summary) or prune (shortened results).")
    state: str = Field(description="making, ready, used, undone, superseded, stopped or failed.")
    reason: str = Field(description="threshold, messages, overflow, command or pause.")
    maker: str = Field(description="Who wrote the summary: api, model, extract (no model), or person (you).")
    through_seq: int = Field(description="The place of the last message that it covers.")
    focus: str
    summary: str
    kept: list[str] = Field(description="Names and numbers that are kept word for word beside the summary.")
    tokens_before: int
    tokens_after: int
    created_at: dt.datetime
    used_at: dt.datetime | None = Field(description="When a request was made with it first.")

    @classmethod
    def of(cls, round: ContextRound) -> "RoundOut":
        """Return the schema of `round`, whose last message is loaded."""
        return cls(
            number=round.number,
            kind=round.kind,
            state=round.state,
            reason=round.reason,
            maker=round.maker,
            through_seq=round.through.seq,
            focus=round.focus,
            summary=round.summary,
            kept=round.supplement.get("identifiers", []),
            tokens_before=round.tokens_before,
            tokens_after=round.tokens_after,
            created_at=round.created_at,
            used_at=round.used_at,
        )


class RoundsOut(Schema):
    items: list[RoundOut]
    next: int | None = Field(
        default=None, description="What to pass as `after` for the next page; null on the last one."
    )


class ContextOut(Schema):
    """The request that would be sent now, without your next message, and the tokens that it takes."""

    used_tokens: int
    window_tokens: int = Field(description="The most that a request may take.")
    parts: dict[str, int] = Field(description="Estimated tokens by what takes them.", examples=[{"conversation": 812}])
    request: dict[str, Any] = Field(description="The body of the request, in the form of the model's API.")


class MessageIn(RequestBody):
    """The message that you send."""

    text: str = Field(description="Markdown, or a command such as /new or /compact.", examples=["Hello!"])
    session: uuid.UUID | None = Field(default=None, description="In which conversation; a new one begins without it.")
    route: RouteIn | None = Field(
        default=None, description="Instead of `session`: where it comes from. The server finds the conversation."
    )
    client_id: uuid.UUID | None = Field(
        default=None, description="Made by you. Sent again with the same one, it is stored once."
    )
    model: str | None = Field(default=None, max_length=100, description="One of /models, from this message on.")
    effort: str | None = Field(
        default=None,
        max_length=100,
        description="low, medium, high, xhigh, max, or empty for the agent's, from this message on.",
    )
    agent: str | None = Field(
        default=None, max_length=100, description="One of /agents; the first message of a conversation decides."
    )
    mode: Literal["agent", "chat", "temporary"] | None = Field(default=None, description="As `agent`.")
    space: int | None = Field(
        default=None, description="In which of /spaces a new conversation begins; it is private to you."
    )
    memory: Literal["all", "own", "space", "none"] | None = Field(
        default=None, description="Which memory it reads, from this message on."
    )
    pasted: list[tuple[int, int]] | None = Field(
        default=None,
        description="What of `text` you pasted, as ranges of its code points: it is not taken as your own words. "
        "Without it, you have typed all of it.",
    )


class SentOut(Schema):
    """The sequence number of your message, and the state of its answer."""

    session: uuid.UUID | None = Field(description="Its conversation; null for a command of a route without any.")
    client_id: uuid.UUID
    message: str | None = Field(default=None, description="Its id; null for a command.")
    seq: int | None = Field(default=None, description="Its place; pass it as `after` to read the answer.")
    duplicate: bool = Field(default=False, description="Whether it was stored before.")
    ended: str | None = Field(default=None, description="Of a command: why the conversation has ended.")
    notice: str | None = Field(
        default=None, description="Of /compact, /undo-compact, /context and /link: what was done."
    )
    answer: AnswerOut | None = Field(default=None, description="With `wait`: the answer, perhaps still running.")


def failure_of(turn: Turn | None) -> FailureOut | None:
    """Return why the turn failed, in English; None when it did not."""
    if turn is None or not turn.error_code:
        return None
    return FailureOut(code=turn.error_code, text=turn.error.in_english if turn.error else "")
