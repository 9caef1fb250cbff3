"""Define the tool memory_get, by which the model reads what an address names."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from chat.context import results
from chat.extensions import Tool, ToolCall, ToolError, ToolResult
from chat.models import ChatSession
from memory.index import attached_files, transcripts
from memory.policy.access import find_document, is_shared, may_search, sources_of
from memory.tools import citing, library
from memory.tools.reading import SEARCH, ReadText, read_max_chars, require_member
from oneclaw.reasons import Reason

# The lines that one call reads when it does not say how many, and at most.
READING_MAX_LINES = 500


def memory_get(call: ToolCall) -> ToolResult:
    """Return lines of what the path of `call` names: a document, a conversation, a file that was attached to a message,
    a file of a library, or the result of an earlier call. Raise ToolError when the session may read none there."""
    require_member(call)
    path, start, count = call.input["path"], call.input.get("from_line", 1), call.input.get("lines", READING_MAX_LINES)
    if of_library := library.ADDRESS.fullmatch(path):
        return library.read_file(call, int(of_library[1]), from_line=start, lines=count)
    lines, more = lines_at(call.session, path)
    read = ReadText.of(lines[start - 1 : start - 1 + count], read_max_chars())
    if read.lines:
        summary = Reason("memory.read", {"path": path, "first": start, "last": start + read.lines - 1})
    else:
        summary = Reason("memory.length", {"path": path, "count": len(lines)})
    read_part = {"path": path, "from_line": start, "lines": read.lines, "total_lines": len(lines)}
    return ToolResult(read_part | more | read.fields, summary)


def lines_at(session: ChatSession, path: str) -> tuple[Sequence[str], dict[str, Any]]:
    """Return the lines of what `path` names, and what else the model is sent about it. Raise ToolError `not_found`."""
    if of_call := results.ADDRESS.fullmatch(path):
        return results.lines_of(results.text_of_call(session, of_call[1])), {}
    if (attached := attached_files.read(session, path)) is not None:
        return attached.text.split("\n"), {"file": attached.name, "note": library.NOTICE}
    content = transcripts.read(session, path)
    if content is None and (document := find_document(session, path)) is not None:
        content = document.content
    if content is None:
        raise ToolError("not_found", f"There is no memory file “{path}”.", Reason("memory.missing", {"path": path}))
    return content.removesuffix("\n").split("\n"), {}


def lookup_hint(session: ChatSession) -> str:
    """Return how the model finds messages of `session` that a summary has replaced; "" when it may not."""
    tools = {SEARCH.name, GET.name} - set(session.agent.tools_off)
    sources = sources_of(session)
    # In a private one, its own messages are its owner's; in a shared one, its space's.
    finds_own = sources.shared_transcripts if is_shared(session) else sources.transcripts_of is not None
    if len(tools) < 2 or not finds_own or not transcripts.is_kept(session):
        return ""
    return (
        f"What was said in them is found word for word by {SEARCH.name} (the results with the path "
        f"{session.get_absolute_url()}), and {GET.name} reads around a result."
    )


def file_notes(session: ChatSession, through_seq: int) -> list[str]:
    """Return how the model reads each file again that was attached to the messages of `session` up to `through_seq`,
    which a summary replaces; [] when it has no tool for that."""
    if GET.name in session.agent.tools_off or not may_search(session):
        return []
    return attached_files.ways_to(session, through_seq, GET.name)


GET = Tool(
    "memory_get",
    "Read what an address names: MEMORY.md, memory/YYYY-MM-DD.md (the notes of a day), /c/… (a conversation), /d/… or "
    "/files/… (a file), /results/… (a long result).",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "from_line": {"type": "integer", "minimum": 1},
            "lines": {"type": "integer", "minimum": 1, "maximum": READING_MAX_LINES},
        },
        "required": ["path"],
    },
    memory_get,
    offered=may_search,
    only_reads=True,
    for_spaces=True,
    about_memory=True,
    reads_results=True,
    passages=citing.found_by_reading,
    label=_("Read memory files"),
    headings={"running": _("Reading memory …"), "done": _("Read memory"), "failed": _("Could not read memory")},
    field_labels={
        "path": _("File"),
        "from_line": _("From line"),
        "lines": _("Lines"),
        "total_lines": _("Lines in the file"),
        "text": _("Text"),
        "cut": _("Shortened"),
    },
)
