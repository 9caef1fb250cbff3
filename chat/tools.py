"""Tools that a model may call: their schema, validation and call.

An app registers a tool once, in its AppConfig.ready():

    registry.register(Tool("save_memory", description, input_schema, call))

A `ToolSet` is then made for one session and one turn, so that no tool carries another person's context.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chat.models import ChatSession
from oneclaw.models import User


class ToolError(Exception):
    """What the model is told when a call did nothing. `code` is stable, `message` one sentence."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code, self.message = code, message


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
    the person's card."""

    content: Any
    summary: str
    lines: list[str] = field(default_factory=list)
    is_error: bool = False


@dataclass(frozen=True)
class Tool:
    """A tool: `input_schema` is a JSON Schema object; `call` is sync, may use the ORM, and runs in a worker thread."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    call: Callable[[ToolCall], ToolResult]
    # Whether this session may use it; None: every session may.
    offered: Callable[[ChatSession], bool] | None = None


class ToolRegistry:
    """The tools that the installed apps brought, by name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> Tool:
        if self._tools.get(tool.name, tool) != tool:
            raise ValueError(f"Two tools are named {tool.name}.")
        self._tools[tool.name] = tool
        return tool

    def for_session(self, session: ChatSession) -> list[Tool]:
        """What this session may use, in the order of their names (stable, for the provider's cache)."""
        tools = (self._tools[name] for name in sorted(self._tools))
        return [tool for tool in tools if tool.offered is None or tool.offered(session)]


registry = ToolRegistry()
