"""The registry of extensions, and the tools that they bring."""

import json
from collections.abc import Collection, Mapping, Sequence

from chat.answering import answers_without_memory
from chat.extensions.run_hooks import set_hooks
from chat.extensions.types import CallUpdate, Extension, SentPassage, Tool, ToolCall, ToolError, ToolResult
from chat.models import ChatSession
from oneclaw.reasons import Reason

_extensions: dict[str, Extension] = {}


def register(extension: Extension) -> Extension:
    """Register `extension` and return it.

    Raise ValueError when another extension has its name, or one of its tools, commands or hooks.
    """
    if len(hook_names(extension)) < len(extension.hooks):
        raise ValueError(f"Two hooks of {extension.name} have one name at one point.")
    for other in installed():
        taken = {other.name} & {extension.name}
        taken |= {tool.name for tool in other.tools} & {tool.name for tool in extension.tools}
        taken |= other.commands.keys() & extension.commands.keys()
        taken |= hook_names(other) & hook_names(extension)
        if taken:
            raise ValueError(f"Two extensions bring {', '.join(sorted(taken))}: {other.name} and {extension.name}.")
    _extensions[extension.name] = extension
    set_hooks(hook for each in installed() for hook in each.hooks)
    return extension


def unregister(extension: Extension) -> None:
    """Remove `extension` from the registry. Raise KeyError when it is not registered."""
    del _extensions[extension.name]
    set_hooks(hook for each in installed() for hook in each.hooks)


def installed() -> list[Extension]:
    """Return the extensions in the order of their names (stable, for the provider's cache)."""
    return [_extensions[name] for name in sorted(_extensions)]


def installed_for(session: ChatSession, *, is_away: bool | None = None) -> list[Extension]:
    """Return the extensions that take part in `session`: in a shared one those that act for its space alone, and with a
    model that is sent no memory those that hold none. `is_away`: whether it is such a model; None: as it is now."""
    found = [each for each in installed() if each.for_spaces or not session.is_shared]
    if found and (answers_without_memory(session) if is_away is None else is_away):
        return [each for each in found if not each.holds_memory]
    return found


def hook_names(extension: Extension) -> set[str]:
    """Return the names of the hooks of `extension`, each with its point."""
    return {f"{hook.point}: {hook.name}" for hook in extension.hooks}


def tools_for(session: ChatSession, *, is_away: bool | None = None) -> list[Tool]:
    """Return the tools that `session` may use, in the order of their names (stable, for the provider's cache);
    `is_away` as in `installed_for`."""
    on = (tool for _, tool in sorted(_tools().items()) if is_turned_on(tool, session))
    offered = [tool for tool in on if is_offered(tool, session, is_away=is_away)]
    has_reader = any(tool.reads_results and not tool.is_spare for tool in offered)
    return [tool for tool in offered if not (tool.is_spare and has_reader)]


def is_turned_on(tool: Tool, session: ChatSession) -> bool:
    """Return whether the agent of `session` has not turned `tool` off and, where it must be turned on first, the agent
    or the person has done so: a person's own agent has a choice of its own."""
    if tool.name in session.agent.tools_off:
        return False
    chosen = set(session.agent.tools_on or ())
    if session.agent.owner_id is None:
        chosen.update(session.owner.tools_on or ())
    return not tool.is_optional or tool.name in chosen


def may_keep(tool: Tool, session: ChatSession, *, is_away: bool | None = None) -> bool:
    """Return whether a head of `session` that defines `tool` may go on defining it: also when it would not be in a new
    head, unless it was turned off by choice. `is_away` as in `installed_for`."""
    choice = session.owner.tools_on if session.agent.owner_id is None else session.agent.tools_on
    if tool.is_optional and choice is not None and not is_turned_on(tool, session):
        return False
    return tool.name not in session.agent.tools_off and is_offered(tool, session, is_away=is_away)


def is_offered(tool: Tool, session: ChatSession, *, by_command: bool = False, is_away: bool | None = None) -> bool:
    """Return whether `session` may use `tool`: a shared one only a tool that acts for its space alone, and one with a
    model that is sent no memory only a tool that has none, unless no model reads the call (`by_command`). `is_away` as
    in `installed_for`."""
    if session.is_shared and not tool.for_spaces:
        return False
    if tool.about_memory and not by_command and (answers_without_memory(session) if is_away is None else is_away):
        return False
    return tool.offered is None or tool.offered(session)


def find_tool(session: ChatSession, name: str, *, by_command: bool = False, is_away: bool | None = None) -> Tool:
    """Return the tool `name`. Raise ToolError `unknown_tool` when `session` may not use it or it does not exist.

    `by_command`: for a command of the person, which no model reads; `is_away` as in `installed_for`.
    """
    tool = _tools().get(name)
    if (
        tool
        and is_offered(tool, session, by_command=by_command, is_away=is_away)
        and (is_turned_on(tool, session) or (may_keep(tool, session, is_away=is_away) and is_in_head(name, session)))
    ):
        return tool
    message = f"There is no tool named “{name}” in this conversation."
    raise ToolError("unknown_tool", message, Reason("call.unknown_tool", {"name": name}))


def tool_named(name: str) -> Tool:
    """Return the tool `name`, or one without any properties when no extension brings it any more."""
    return _tools().get(name) or Tool(name, "", {}, _refuse)


def is_in_head(name: str, session: ChatSession) -> bool:
    """Return whether the requests of `session` define a tool `name`, as a head of an earlier release may."""
    return session.head is not None and any(tool["name"] == name for tool in session.head.tools or ())


def optional_tools() -> dict[str, str]:
    """Return {name: label} of the tools that are offered only where an agent or a person has turned them on."""
    known = _tools()
    return {name: label for name, label in tool_labels().items() if known[name].is_optional}


def tools_to_keep(session: ChatSession, *, is_away: bool | None = None) -> set[str]:
    """Return the names of the tools that a head of `session` may go on defining; `is_away` as in `installed_for`."""
    return {name for name, tool in _tools().items() if may_keep(tool, session, is_away=is_away)}


def tool_labels() -> dict[str, str]:
    """Return {name: label shown to people} of every tool."""
    return {name: str(tool.label) or _readable(name) for name, tool in sorted(_tools().items())}


def tool_heading(name: str, state: str, summary: object = "") -> str:
    """Return the heading of a call's card in `state` with this `summary`, as it is stored.

    The tool may have a heading for the reason that the summary is. Return the tool's name when it is not installed any
    more.
    """
    tool, reason = tool_named(name), Reason.of(summary)
    of_state = tool.headings.get(state, _readable(name))
    return str(tool.headings.get(reason.code, of_state) if reason else of_state)


def field_label(name: str, field: str) -> str:
    """Return the label of an argument of the tool `name`, or of a field of its results."""
    return str(tool_named(name).field_labels.get(field, "")) or _readable(field)


def tool_updates(name: str, made: Sequence[int], csrf_token: str = "") -> Mapping[int, CallUpdate]:
    """Return {number: update} for what earlier calls of the tool `name` have made, whose numbers are `made`.

    Empty for a tool without `Tool.since`.
    """
    since = tool_named(name).since
    return since(made, csrf_token) if since else {}


def reader_of_results(offered: Collection[str]) -> str:
    """Return the name of the tool among those `offered` that reads the rest of long results; "" without one."""
    found = [tool for name, tool in sorted(_tools().items()) if name in offered and tool.reads_results]
    return next((tool.name for tool in sorted(found, key=lambda tool: tool.is_spare)), "")


def passages_of_result(name: str, text: str) -> list[SentPassage]:
    """Return the passages of a result of the tool `name` that an answer may cite; `text` is as the tool made it."""
    passages = tool_named(name).passages
    if passages is None or not text.startswith("{"):
        return []
    try:
        found = json.loads(text)
    except ValueError:
        # A hook has changed it.
        return []
    return passages(found) if isinstance(found, dict) else []


def has_memory_command(text: str) -> bool:
    """Return whether a line of `text` begins with a command that calls a tool of memory, such as "/remember"."""
    commands = (item for each in installed() for item in each.commands.items())
    words = {word for word, command in commands if tool_named(command.tool).about_memory}
    return any(line.split(maxsplit=1)[0].lower() in words for line in text.splitlines() if line.strip())


def open_work_of(session: ChatSession) -> list[str]:
    """Return the sentences of the extensions that are kept with a summary of the messages of `session`."""
    return [sentence for each in installed() if each.open_work for sentence in each.open_work(session)]


def _refuse(call: ToolCall) -> ToolResult:
    raise ToolError("unknown_tool", f"There is no tool named “{call.name}”.")


def _tools() -> dict[str, Tool]:
    return {tool.name: tool for extension in _extensions.values() for tool in extension.tools}


def _readable(name: str) -> str:
    return name.replace("_", " ").capitalize()
