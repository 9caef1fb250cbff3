"""The extensions that the installed apps have registered, and the tools among them."""

from collections.abc import Mapping, Sequence

from chat.extensions.types import Extension, Since, Tool, ToolError
from chat.models import ChatSession
from oneclaw.reasons import Reason

_extensions: dict[str, Extension] = {}


def register(extension: Extension) -> Extension:
    """Add what an app brings. ValueError when another extension has the name, or one of its tools or commands."""
    for other in installed():
        taken = {other.name} & {extension.name}
        taken |= {tool.name for tool in other.tools} & {tool.name for tool in extension.tools}
        taken |= other.commands.keys() & extension.commands.keys()
        if taken:
            raise ValueError(f"Two extensions bring {', '.join(sorted(taken))}: {other.name} and {extension.name}.")
    _extensions[extension.name] = extension
    return extension


def unregister(extension: Extension) -> None:
    """Take away what `register` added."""
    del _extensions[extension.name]


def installed() -> list[Extension]:
    """Return the extensions in the order of their names (stable, for the provider's cache)."""
    return [_extensions[name] for name in sorted(_extensions)]


def tools_for(session: ChatSession) -> list[Tool]:
    """Return what this session may use, in the order of the tools' names (stable, for the provider's cache)."""
    on = (tool for name, tool in sorted(_tools().items()) if name not in session.agent.tools_off)
    return [tool for tool in on if tool.offered is None or tool.offered(session)]


def find_tool(session: ChatSession, name: str) -> Tool:
    """Return the tool that the session may use by this name. Raises ToolError `unknown_tool`."""
    for tool in tools_for(session):
        if tool.name == name:
            return tool
    message = f"There is no tool named “{name}” in this conversation."
    raise ToolError("unknown_tool", message, Reason("call.unknown_tool", {"name": name}))


def tool_labels() -> dict[str, str]:
    """Return every tool's name, and what people see it called."""
    return {name: str(tool.label) or _plain(name) for name, tool in sorted(_tools().items())}


def tool_heading(name: str, state: str) -> str:
    """Return the heading of a call's card; of a tool that is not installed any more, its name."""
    tool = _tools().get(name)
    return str(tool.headings.get(state, _plain(name))) if tool else _plain(name)


def tool_updates(name: str, made: Sequence[int], csrf_token: str = "") -> Mapping[int, Since]:
    """Return what became since of what calls of this tool have made; nothing for a tool that does not follow it."""
    tool = _tools().get(name)
    return tool.since(made, csrf_token) if tool and tool.since else {}


def is_about_memory(name: str) -> bool:
    """Return whether the tool's arguments and results are of a person's memory."""
    tool = _tools().get(name)
    return tool is not None and tool.about_memory


def _tools() -> dict[str, Tool]:
    return {tool.name: tool for extension in _extensions.values() for tool in extension.tools}


def _plain(name: str) -> str:
    return name.replace("_", " ").capitalize()
