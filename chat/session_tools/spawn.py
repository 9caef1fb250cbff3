"""The tool sessions_spawn: the model gives a task to a sub-session, whose turn runs in this process."""

from collections.abc import Awaitable

from chat.conversations.shown import just_stored
from chat.extensions import PendingCall, ToolCall, ToolResult
from chat.live.publisher import TurnPublisher
from chat.live.wait import until_answered
from chat.session_tools import children, results, wording
from chat.session_tools.children import BegunTask
from chat.session_tools.limits import SPAWN_WAIT_MAX_SECONDS, TASK_MAX_CHARS
from chat.turns import running
from chat.turns.tools import parameter_missing
from oneclaw.models import User
from oneclaw.threads import in_database

SCHEMA = {
    "type": "object",
    "properties": {
        "task": {
            "type": "string",
            "maxLength": TASK_MAX_CHARS,
            "description": "What is to be done, with all that must be known for it.",
        },
        "agent": {"type": "string", "description": "The agent that does it. Default: this one."},
        "model": {"type": "string", "description": "The model that does it. Default: that of this conversation."},
        "context": {
            "type": "string",
            "enum": ["isolated", "fork"],
            "description": "isolated (default): it knows only the task. fork: it knows this conversation, too.",
        },
        "wait": {
            "type": "integer",
            "minimum": 0,
            "maximum": SPAWN_WAIT_MAX_SECONDS,
            "description": "Seconds to wait for its result. Default: 60. 0: the result comes with a later message.",
        },
    },
    "required": ["task"],
    "additionalProperties": False,
}
DEFAULT_WAIT_SECONDS = 60


def sessions_spawn(call: ToolCall) -> PendingCall:
    """Begin the sub-session that `call` asks for, and wait for its result as long as it says. Raise ToolError."""
    if not call.input["task"].strip():
        raise parameter_missing("task")
    begun = children.begin(call)
    seconds = call.input.get("wait", DEFAULT_WAIT_SECONDS)
    meanwhile = ToolResult(wording.running_text(begun.task), "", made=begun.task.pk)
    return PendingCall(meanwhile, lambda: run(begun, call, seconds), is_long=seconds > 0)


def run(begun: BegunTask, call: ToolCall, seconds: float) -> Awaitable[ToolResult]:
    """Run the turn of a new sub-session in this process, and return what is awaited for the result of the call."""
    if begun.turn is not None and begun.answer is not None:
        prompt = just_stored(begun.prompt, origin_title=call.session.name)
        running.start(begun.turn, begun.answer, TurnPublisher, prompt)
    return result(begun, call.user, seconds)


async def result(begun: BegunTask, user: User, seconds: float) -> ToolResult:
    """Return the result of the call: of the sub-session, if it ends within `seconds`."""
    if seconds:
        await until_answered(user, begun.prompt, seconds)
    return await in_database(results.of_call, begun.task.pk)
