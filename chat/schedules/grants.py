"""Which tools a beat is offered: reading ones, and those writing ones that its schedule grants by name."""

from collections.abc import Sequence

from chat import extensions
from chat.extensions import Tool
from chat.models import ChatSession, Schedule

# A beat is offered these whenever they are installed and its conversation may use them.
READING_TOOLS = ("memory_search", "memory_get", "sessions_list", "sessions_history", "read_result")
# No schedule can grant these: by them a beat would begin other work, speak as a session, or make schedules.
NEVER_GRANTED = ("sessions_spawn", "sessions_send", "schedule", "heartbeat_respond")


def grantable_tools() -> dict[str, str]:
    """Return {name: label} of the tools that a person may grant."""
    known = extensions.tool_labels()
    return {name: label for name, label in known.items() if name not in READING_TOOLS + NEVER_GRANTED}


def tools_of(schedule: Schedule, session: ChatSession) -> Sequence[Tool]:
    """Return the tools of a beat of `schedule` in its hidden `session`, in the order of their names."""
    granted = set(READING_TOOLS) | (set(schedule.tools) - set(NEVER_GRANTED))
    return [tool for tool in extensions.tools_for(session) if tool.name in granted]
