"""The one place where an app plugs into the chat.

In its AppConfig.ready() an app registers one object with everything that it brings:

    extensions.register(Extension("dice", tools=[Tool("roll_dice", "Roll a die.", schema, roll)]))

The chat reads what is registered each time it needs it, and runs as well when nothing is. What the parts are stands in
types.py, what is registered in registry.py. Lifecycle signals stand in chat/signals.py.
"""

from chat.extensions.registry import (
    find_tool,
    installed,
    is_about_memory,
    register,
    tool_heading,
    tool_labels,
    tool_updates,
    tools_for,
    unregister,
)
from chat.extensions.types import (
    ContextItem,
    Detail,
    Extension,
    MessageContext,
    PromptSection,
    SearchResult,
    Since,
    Tool,
    ToolCall,
    ToolCommand,
    ToolError,
    ToolResult,
)

__all__ = [
    "ContextItem",
    "Detail",
    "Extension",
    "MessageContext",
    "PromptSection",
    "SearchResult",
    "Since",
    "Tool",
    "ToolCall",
    "ToolCommand",
    "ToolError",
    "ToolResult",
    "find_tool",
    "installed",
    "is_about_memory",
    "register",
    "tool_heading",
    "tool_labels",
    "tool_updates",
    "tools_for",
    "unregister",
]
