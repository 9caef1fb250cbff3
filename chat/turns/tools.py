"""Tools that a model may call: their schema, validation and call.

An app registers a tool once, in its AppConfig.ready():

    registry.register(Tool("save_memory", description, input_schema, call))

Whose turn it is travels with each `ToolCall`, so that no tool carries another person's context.
"""

import contextlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import psycopg
from django.db import Error, OperationalError, connection
from jsonschema import Draft202012Validator

from chat.models import ChatSession, Message, Turn
from oneclaw.models import User
from oneclaw.reasons import Reason, other
from oneclaw.text import Words

logger = logging.getLogger(__name__)

# Bytes of JSON that a call's arguments may have.
LARGEST_INPUT = 64 * 1024
# Characters of a result that its card shows.
LONGEST_SHOWN = 4_000
# Seconds that a call may wait for a row that somebody else is writing; writing one takes milliseconds.
PATIENCE = 5


class ToolError(Exception):
    """What the model is told when a call did nothing: `code` is stable, `message` one sentence in English. `reason` is
    what the person's card says; without one, the message."""

    def __init__(self, code: str, message: str, reason: Reason | None = None):
        super().__init__(message)
        self.code, self.message = code, message
        self.reason = reason or other(message)


@dataclass(frozen=True)
class ToolCall:
    """One call that a model made. `id` is the API's tool_use id; with `message_id` it is unique for ever."""

    id: str
    name: str
    input: Mapping[str, Any]
    user: User
    session: ChatSession
    message_id: int | None = None


@dataclass(frozen=True)
class ToolResult:
    """What a call brought: `content` for the model (a string, or what JSON can say), `summary` and `lines` for
    the person's card, and `undo`: the address of a page where the person can take back what the call did.

    A summary and a line are text as it is, such as a path, or a Reason, which is worded when the card is shown."""

    content: Any
    summary: str | Reason
    lines: Sequence[str | Reason] = ()
    is_error: bool = False
    undo: str = ""
    # What the call made, by a number that its tool understands: by it the card learns what became of it since.
    made: int | None = None


class Since(TypedDict):
    """What became of what a call made: shown on its card in place of what was true when the call ended."""

    # In place of the card's own; "" leaves that.
    heading: str
    # Safe HTML that stands below the card's lines, such as a question to the person.
    html: str
    can_undo: bool


@dataclass(frozen=True)
class Tool:
    """A tool: `input_schema` is a JSON Schema object; `call` is sync, may use the ORM, and runs in a worker thread."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    call: Callable[[ToolCall], ToolResult]
    # Whether this session may use it; None: every session may.
    offered: Callable[[ChatSession], bool] | None = None
    # What its card is headed with, by state: running, done, failed.
    headings: Mapping[str, Words] = field(default_factory=dict)
    # What became since of what calls have made (`ToolResult.made`). Sync, may use the ORM. The second argument is a
    # form's CSRF token, or "" where the page sends it by itself.
    since: Callable[[Sequence[int], str], Mapping[int, Since]] | None = None
    # Whether what it is told and what it brings is of a person's memory: others are not shown it.
    about_memory: bool = False
    # More for a tool that has a sentence of its own for what is too long.
    largest_input: int = LARGEST_INPUT
    # What people see it called where they switch it on and off.
    label: Words = ""


def plain(name: str) -> str:
    return name.replace("_", " ").capitalize()


class ToolRegistry:
    """The tools that the installed apps brought, by name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> Tool:
        if self._tools.get(tool.name, tool) != tool:
            raise ValueError(f"Two tools are named {tool.name}.")
        self._tools[tool.name] = tool
        return tool

    def forget(self, tool: Tool) -> None:
        del self._tools[tool.name]

    def heading(self, name: str, state: str) -> str:
        """What the card of a call is headed with; a tool that is not there any more is called by its name."""
        return str(self._tools[name].headings.get(state, plain(name))) if name in self._tools else plain(name)

    def since(self, name: str, made: Sequence[int], csrf_token: str = "") -> Mapping[int, Since]:
        """What became since of what calls of this tool have made; nothing of a tool that does not follow it."""
        tool = self._tools.get(name)
        return tool.since(made, csrf_token) if tool is not None and tool.since is not None else {}

    def is_about_memory(self, name: str) -> bool:
        return name in self._tools and self._tools[name].about_memory

    def for_session(self, session: ChatSession) -> list[Tool]:
        """What this session may use, in the order of their names (stable, for the provider's cache)."""
        tools = (self._tools[name] for name in sorted(self._tools))
        on = (tool for tool in tools if tool.name not in session.agent.tools_off)
        return [tool for tool in on if tool.offered is None or tool.offered(session)]

    def labels(self) -> dict[str, str]:
        """Every tool's name, and what people see it called."""
        return {name: str(self._tools[name].label) or plain(name) for name in sorted(self._tools)}

    def find(self, session: ChatSession, name: str) -> Tool:
        """The tool, or ToolError `unknown_tool`."""
        for tool in self.for_session(session):
            if tool.name == name:
                return tool
        told = f"There is no tool named “{name}” in this conversation."
        raise ToolError("unknown_tool", told, Reason("call.unknown_tool", {"name": name}))


registry = ToolRegistry()


def call_tool(turn: Turn, answer: Message, use: dict[str, Any], broken: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one tool_use block of `answer`: the API's tool_result block, and the card for the page. Sync.

    `broken` says what is wrong with the arguments as they arrived (cut, malformed); such a call changes nothing.
    Whatever goes wrong becomes a result that the model can read.
    """
    started = time.monotonic()
    try:
        result = run(turn, answer, use, broken)
    except ToolError as error:
        told = {"error": {"code": error.code, "message": error.message}}
        result = ToolResult(told, error.reason or "", is_error=True)
    text = result.content if isinstance(result.content, str) else json.dumps(result.content, ensure_ascii=False)
    block = {"type": "tool_result", "tool_use_id": use["id"], "content": text}
    if result.is_error:
        block["is_error"] = True
    card: dict[str, Any] = {
        "state": "failed" if result.is_error else "done",
        "summary": as_kept(result.summary),
        "lines": [as_kept(line) for line in result.lines],
        "undo": result.undo,
        "made": result.made,
        "result": text[:LONGEST_SHOWN],
        "seconds": round(time.monotonic() - started, 3),
    }
    if result.made is not None:
        card["since"] = registry.since(use["name"], [result.made]).get(result.made)
    return block, card


def as_kept(text: str | Reason) -> str | dict[str, Any]:
    """Return a summary or line as a card of Message.meta holds it."""
    return text.as_json if isinstance(text, Reason) else text


def run(turn: Turn, answer: Message, use: dict[str, Any], broken: str) -> ToolResult:
    session = ChatSession.objects.select_related("owner", "agent", "space").get(pk=turn.session_id)
    tool = registry.find(session, use["name"])
    if broken:
        raise ToolError("validation_error", broken, Reason("call.arguments_broken"))
    validate(tool, use["input"])
    call = ToolCall(use["id"], tool.name, use["input"], session.owner, session, answer.pk)
    try:
        with waiting_at_most(PATIENCE):
            return tool.call(call)
    except ToolError:
        raise
    except Exception as error:
        if waited_in_vain(error):
            told = "Somebody else is writing there: this was given up. Call it again."
            raise ToolError("busy", told, Reason("call.busy")) from error
        # A tool comes from any app: its fault must not end the conversation.
        logger.exception("The tool %s failed.", tool.name)
        kind = type(error).__name__
        reason = Reason("call.failed", {"name": tool.name, "error": kind})
        raise ToolError("tool_failed", f"The tool {tool.name} failed: {kind}.", reason) from error


@contextlib.contextmanager
def waiting_at_most(seconds: float) -> Iterator[None]:
    """Whatever waits longer for a lock meanwhile fails, so that no call holds a connection for ever."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {round(seconds * 1000)}")
    try:
        yield
    finally:
        # A connection that broke meanwhile has no setting left to take back.
        with contextlib.suppress(Error), connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


def waited_in_vain(error: BaseException) -> bool:
    """Whether a query was given up because somebody else kept what it needs locked."""
    return isinstance(error, OperationalError) and isinstance(error.__cause__, psycopg.errors.LockNotAvailable)


def validate(tool: Tool, arguments: Any) -> None:
    """ToolError `validation_error` unless the arguments fit the tool's schema and size."""
    size = len(json.dumps(arguments).encode())
    most = tool.largest_input
    if size > most:
        reason = Reason("call.arguments_too_large", {"size": size, "most": most})
        raise ToolError("validation_error", f"The arguments have {size:,} bytes; at most {most:,} are taken.", reason)
    errors = sorted(Draft202012Validator(tool.input_schema).iter_errors(arguments), key=lambda error: str(error.path))
    for error in errors:
        if error.validator == "required":
            missing = next(name for name in error.validator_value if name not in arguments)
            raise parameter_missing(missing)
        where = ".".join(str(part) for part in error.path)
        if not where:
            raise ToolError("validation_error", error.message, Reason("call.arguments_wrong"))
        told = f"Parameter '{where}': {error.message}"
        raise ToolError("validation_error", told, Reason("call.parameter_wrong", {"name": where}))


def parameter_missing(name: str) -> ToolError:
    """Return what is raised for a parameter that is not there, or is empty."""
    told = f"Parameter '{name}' is required and must be non-empty."
    return ToolError("validation_error", told, Reason("call.parameter_missing", {"name": name}))
