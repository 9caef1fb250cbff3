"""Tool calls: check the arguments, run the tool, and turn its result into a block for the model and a card.

The available tools are in chat/extensions/registry.py. A call whose result takes long is a WaitingCall until the turn
has awaited the result.
"""

import contextlib
import json
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from django.db import Error, OperationalError, connection
from jsonschema import Draft202012Validator

from chat import extensions
from chat.answering import answers_without_memory
from chat.extensions import PendingCall, Tool, ToolCall, ToolError, ToolResult
from chat.models import ChatSession, Message, Turn
from chat.rendering.cards import Card
from chat.turns import hooks
from chat.turns.commands import call_in
from oneclaw.llm import Block
from oneclaw.models import User
from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)

# How much of a result its card shows.
RESULT_SHOWN_MAX_CHARS = 4_000
# How much of one value in it.
FIELD_SHOWN_MAX_CHARS = 1_000
# Marks that one call may give to passages of its result.
CALL_MAX_MARKS = 100
# The calls of one answer that are run, and of those that only read how many at the same time.
CALLS_MAX_COUNT, GROUP_MAX_COUNT = 16, 4
# How long a call may wait for a row lock; a write takes milliseconds.
LOCK_WAIT_SECONDS = 5


@dataclass(frozen=True)
class WaitingCall:
    """A tool_use block of `answer` whose result is not there yet."""

    session: ChatSession
    answer: Message
    use: Block
    pending: PendingCall
    # What the page shows until then.
    card: Card
    started: float

    def finished(self, result: ToolResult) -> tuple[Block, Card]:
        """Return the API's tool_result block, and the card for the page. Sync."""
        result = replace(result, lines=[*result.lines, *self.pending.lines])
        return finished(self.session, self.answer, self.use, result, self.started)


def call_tool(turn: Turn, answer: Message, use: Block, broken: str) -> tuple[Block, Card] | WaitingCall:
    """Run one tool_use block of `answer`; return the API's tool_result block, and the card for the page. Sync.

    `broken` says why the arguments could not be parsed (cut off, malformed), or is ""; such a call is not run. Every
    error becomes a result for the model.
    """
    started = time.monotonic()
    session = ChatSession.objects.select_related("owner", "agent", "space").get(pk=turn.session_id)
    try:
        result = run(turn, session, answer, use, broken)
    except ToolError as error:
        result = failed(error)
    if isinstance(result, PendingCall):
        meanwhile = replace(result.meanwhile, lines=[*result.meanwhile.lines, *result.lines])
        card: Card = {**card_of(use, meanwhile, "", started), "state": "running"}
        card.pop("seconds", None)
        return WaitingCall(session, answer, use, result, card, started)
    return finished(session, answer, use, result, started)


def not_run(use: Block) -> tuple[Block, Card]:
    """Return the block and the card of a call that is one too many of its answer."""
    message = f"Not run: of one answer, at most {CALLS_MAX_COUNT} calls are. Call it again in the next one, if needed."
    result = failed(ToolError("too_many_calls", message, Reason("call.too_many", {"most": CALLS_MAX_COUNT})))
    text = json.dumps(result.content)
    block: Block = {"type": "tool_result", "tool_use_id": use["id"], "content": text, "is_error": True}
    return block, card_of(use, result, text, time.monotonic())


def in_groups(uses: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield the calls `uses` in order: those that may run at the same time together, every other one alone."""
    group: list[Block] = []
    for use in uses:
        reads = extensions.tool_named(use["name"]).only_reads
        if group and not (reads and len(group) < GROUP_MAX_COUNT):
            yield group
            group = []
        group.append(use)
        if not reads:
            yield group
            group = []
    if group:
        yield group


def failed(error: ToolError) -> ToolResult:
    """Return the result of a call that had no effect."""
    content = {"error": {"code": error.code, "message": error.message}}
    return ToolResult(content, error.reason or "", is_error=True)


def finished(
    session: ChatSession, answer: Message, use: Block, result: ToolResult, started: float
) -> tuple[Block, Card]:
    """Return the block and the card of a call with its `result`, as the hooks leave it. Sync."""
    if not isinstance(result.content, str):
        result = replace(result, content=json.dumps(result.content, ensure_ascii=False))
    result = hooks.before_result_is_stored(session, answer, use, result)
    text = result.content
    block: Block = {"type": "tool_result", "tool_use_id": use["id"], "content": text}
    if result.is_error:
        block["is_error"] = True
    return block, card_of(use, result, text, started)


def card_of(use: Block, result: ToolResult, text: str, started: float) -> Card:
    """Return the card of a call with its `result`, of which the model is sent `text`."""
    card: Card = {
        "state": "failed" if result.is_error else "done",
        "summary": as_stored(result.summary),
        "lines": [as_stored(line) for line in result.lines],
        "undo": result.undo,
        "made": result.made,
        "result": text[:RESULT_SHOWN_MAX_CHARS],
        # The mark of a passage is for the model.
        "fields": {name: value for name, value in readable_fields(text).items() if name != "mark"},
        "seconds": round(time.monotonic() - started, 3),
    }
    if result.addresses:
        card["addresses"] = list(result.addresses)
    if result.kept:
        card["kept"] = dict(result.kept)
    if result.made is not None:
        card["since"] = extensions.tool_updates(use["name"], [result.made]).get(result.made)
    return card


def as_stored(text: str | Reason) -> str | dict[str, Any]:
    """Return a summary or line in the form of a card in Message.meta."""
    return text.as_json if isinstance(text, Reason) else text


def readable_fields(text: str) -> dict[str, str | bool]:
    """Return the texts, numbers and truth values of a JSON object, by their names, shortened; {} for any other result.
    Pure."""
    try:
        found = json.loads(text) if text.startswith("{") else None
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    values = {name: value for name, value in found.items() if isinstance(value, str | int | float) and value != ""}
    return {
        name: value if isinstance(value, bool) else str(value)[:FIELD_SHOWN_MAX_CHARS] for name, value in values.items()
    }


def run(turn: Turn, session: ChatSession, answer: Message, use: Block, broken: str) -> ToolResult | PendingCall:
    """Find the tool of the block `use`, check its arguments, and call it. Raise ToolError when the call fails."""
    by_command = call_in(turn.prompt) is not None
    is_away = answers_without_memory(session, turn.asked_by_id)
    tool = extensions.find_tool(session, use["name"], by_command=by_command, is_away=is_away)
    if broken:
        raise ToolError("validation_error", broken, Reason("call.arguments_broken"))
    validate(tool, use["input"])
    asked = ToolCall(
        use["id"],
        tool.name,
        use["input"],
        person_of(answer, session),
        session,
        answer.pk,
        marks_after(answer, use["id"]),
    )
    call, lines = hooks.before_tool_call(asked, tool)
    try:
        with lock_timeout(LOCK_WAIT_SECONDS):
            result = tool.call(call)
            return with_lines(result, lines) if lines else result
    except ToolError:
        raise
    except Exception as error:
        if is_lock_timeout(error):
            message = "Somebody else is writing there: this was given up. Call it again."
            raise ToolError("busy", message, Reason("call.busy")) from error
        # Any app can add a tool, and a bug in it must not end the turn.
        logger.exception("The tool %s failed.", tool.name)
        kind = type(error).__name__
        reason = Reason("call.failed", {"name": tool.name, "error": kind})
        raise ToolError("tool_failed", f"The tool {tool.name} failed: {kind}.", reason) from error


def marks_after(answer: Message, use_id: str) -> tuple[int, int]:
    """Return where the marks of a call of `answer` begin: no other passage of the conversation has the same mark."""
    ids = [use["id"] for use in answer.tool_uses()]
    return (answer.seq, CALL_MAX_MARKS * ids.index(use_id)) if use_id in ids else (0, 0)


def person_of(answer: Message, session: ChatSession) -> User:
    """Return the person for whom the calls of `answer` act: in a shared session who asked for it.

    Raise ToolError when they may not write there any more.
    """
    if not session.is_shared or answer.turn is None:
        return session.owner
    person = answer.turn.asked_by or session.owner
    if not ChatSession.objects.continued_by(person).filter(pk=session.pk).exists():
        message = "The person who asked may not write in this conversation any more: the call was not run."
        raise ToolError("not_a_member", message, Reason("call.not_a_member"))
    return person


def with_lines(result: ToolResult | PendingCall, lines: list[Reason]) -> ToolResult | PendingCall:
    """Return `result` with more lines of its card."""
    if isinstance(result, PendingCall):
        return replace(result, lines=lines)
    return replace(result, lines=[*result.lines, *lines])


@contextlib.contextmanager
def lock_timeout(seconds: float) -> Iterator[None]:
    """Make queries inside the block fail when they wait longer than `seconds` for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {round(seconds * 1000)}")
    try:
        yield
    finally:
        # A broken connection has no setting to reset.
        with contextlib.suppress(Error), connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


def is_lock_timeout(error: BaseException) -> bool:
    """Return whether `error` is a query that failed because another transaction held a lock."""
    return isinstance(error, OperationalError) and isinstance(error.__cause__, psycopg.errors.LockNotAvailable)


def validate(tool: Tool, arguments: Any) -> None:
    """Check `arguments` against the tool's schema and size limit. Raise ToolError `validation_error` when they fail."""
    size = len(json.dumps(arguments).encode())
    most = tool.input_max_bytes
    if size > most:
        reason = Reason("call.arguments_too_large", {"size": size, "most": most})
        raise ToolError("validation_error", f"The arguments have {size:,} bytes; at most {most:,} are taken.", reason)
    if tool.earlier_schema is not None and Draft202012Validator(tool.earlier_schema).is_valid(arguments):
        return
    errors = sorted(Draft202012Validator(tool.input_schema).iter_errors(arguments), key=lambda error: str(error.path))
    for error in errors:
        if error.validator == "required":
            missing = next(name for name in error.validator_value if name not in arguments)
            raise parameter_missing(missing)
        where = ".".join(str(part) for part in error.path)
        # Some models write null for a parameter that they leave out.
        if error.validator == "type" and error.instance is None and where in tool.input_schema.get("required", []):
            raise parameter_missing(where)
        if not where:
            raise ToolError("validation_error", error.message, Reason("call.arguments_wrong"))
        message = f"Parameter '{where}': {error.message}"
        raise ToolError("validation_error", message, Reason("call.parameter_wrong", {"name": where}))


def parameter_missing(name: str) -> ToolError:
    """Return the error for the parameter `name` that is missing or empty."""
    message = f"Parameter '{name}' is required and must be non-empty."
    return ToolError("validation_error", message, Reason("call.parameter_missing", {"name": name}))
