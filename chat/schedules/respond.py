"""Define the tool heartbeat_respond, which ends a beat. Only beats are offered it; it is not in the registry."""

from chat.extensions import Tool, ToolCall, ToolResult
from chat.schedules.quiet import NOTE_MAX_CHARS, TEXT_MAX_CHARS

RESPOND_NAME = "heartbeat_respond"


def respond(call: ToolCall) -> ToolResult:
    """Return that the answer was taken; chat/schedules/ask.py reads it from the call."""
    return ToolResult("Taken. This turn is over.", "")


RESPOND = Tool(
    RESPOND_NAME,
    "End this scheduled turn: tell the person something, or stay quiet.",
    {
        "type": "object",
        "properties": {
            "tell": {"type": "boolean", "description": "Whether the person gets `text` as a message."},
            "text": {"type": "string", "maxLength": TEXT_MAX_CHARS, "description": "The message, in Markdown."},
            "note": {
                "type": "string",
                "maxLength": NOTE_MAX_CHARS,
                "description": "One line for the next turns of this schedule: what was found and sent.",
            },
        },
        "required": ["tell"],
        "additionalProperties": False,
    },
    respond,
)
