"""Define the tool memory_get, by which the model reads what an address names."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from chat.context import results
from chat.extensions import Tool, ToolCall, ToolError, ToolResult
from chat.models import ChatSession
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.index import attached_files, transcripts
from memory.models import MemoryDocument
from memory.policy.addresses import located
from memory.policy.paths import RECENT_NAME, BadPathError, checked_path, is_in_skill
from memory.policy.switches import Switch
from memory.tools import citing, library
from memory.tools.reading import SEARCH, ReadText, read_max_chars, readable_by
from oneclaw.reasons import Reason

# The lines that one call reads when it does not say how many, and at most.
READING_MAX_LINES = 500


def memory_get(call: ToolCall) -> ToolResult:
    """Return lines of what the path of `call` names: a document, a conversation, a file that was attached to a message,
    a file of a library, or the result of an earlier call. Raise ToolError when the session may read none there."""
    access = readable_by(call)
    path, start, count = call.input["path"], call.input.get("from_line", 1), call.input.get("lines", READING_MAX_LINES)
    if of_library := library.ADDRESS.fullmatch(path):
        return library.read_file(call, access, int(of_library[1]), from_line=start, lines=count)
    lines, more = lines_at(access, path)
    read = ReadText.of(lines[start - 1 : start - 1 + count], read_max_chars())
    if read.lines:
        summary = Reason("memory.read", {"path": path, "first": start, "last": start + read.lines - 1})
    else:
        summary = Reason("memory.length", {"path": path, "count": len(lines)})
    read_part = {"path": path, "from_line": start, "lines": read.lines, "total_lines": len(lines)}
    return ToolResult(read_part | more | read.fields, summary)


def lines_at(access: MemoryAccess, path: str) -> tuple[Sequence[str], dict[str, Any]]:
    """Return the lines of what `path` names, and what else the model is sent about it. Raise ToolError `not_found`."""
    if of_call := results.ADDRESS.fullmatch(path):
        return results.lines_of(results.text_of_call(access.session, of_call[1])), {}
    if (attached := attached_files.read(access, path)) is not None:
        return attached.text.split("\n"), {"file": attached.name, "note": library.NOTICE}
    content = transcripts.read(access, path)
    if content is None and (document := find_document(access, path)) is not None:
        content = document.content
    if content is None:
        raise ToolError("not_found", f"There is no memory file “{path}”.", Reason("memory.missing", {"path": path}))
    return content.removesuffix("\n").split("\n"), {}


def find_document(access: MemoryAccess, path: str) -> MemoryDocument | None:
    """Return the document at `path` that a conversation may read; None without one.

    A path alone is of the space that it writes. A document of the shared space that a private one reads, too, has the
    path that memory/policy/addresses.py gives it. A skill is read as its person approved it (memory/skills/), and not
    as a document.
    """
    space_id, path = located(path)
    try:
        path = checked_path(path)
    except BadPathError:
        return None
    if is_in_skill(path) or (Switch.RECENT if path == RECENT_NAME else Switch.SAVED) not in access.on:
        return None
    spaces = [space for space in access.spaces if space_id in (None, space.pk)]
    # A path without a space is also found in the shared one, as earlier conversations know it.
    found = (space.documents.present().filter(path=path).first() for space in spaces)
    return next((document for document in found if document is not None), None)


def lookup_hint(session: ChatSession) -> str:
    """Return how the model finds messages of `session` that a summary has replaced; "" when it may not."""
    tools = {SEARCH.name, GET.name} - set(session.agent.tools_off)
    access = access_of(session)
    if len(tools) < 2 or not access.reads_its_own_transcript or not access.keeps_transcript:
        return ""
    return (
        f"What was said in them is found word for word by {SEARCH.name} (the results with the path "
        f"{session.get_absolute_url()}), and {GET.name} reads around a result."
    )


def file_notes(session: ChatSession, through_seq: int) -> list[str]:
    """Return how the model reads each file again that was attached to the messages of `session` up to `through_seq`,
    which a summary replaces; [] when it has no tool for that."""
    access = access_of(session)
    if GET.name in session.agent.tools_off or not access.may_search:
        return []
    return attached_files.ways_to(access, through_seq, GET.name)


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
    offered=lambda session: access_of(session).may_search,
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
