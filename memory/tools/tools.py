"""What the model may do with memory: save a line, search, read."""

import datetime as dt
import logging
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import transaction
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from chat.models import ChatSession
from chat.turns.tools import Tool, ToolCall, ToolError, ToolResult, parameter_missing, waited_in_vain
from memory.documents import write
from memory.documents.write import Append, Author, Separator, Source
from memory.index import transcripts
from memory.models import MemoryRevision
from memory.policy import switches, tombstones
from memory.policy.access import find_document, own_space, sources_of, spaces_of
from memory.policy.paths import CURATED, DOCUMENT_MAX_BYTES
from memory.policy.secrets import masked
from memory.policy.tombstones import LineForgottenError
from memory.prompt.given import place_of
from memory.search.manager import HybridSearchManager
from memory.search.passage import Said
from memory.tools import contradictions, decisions, saved
from memory.tools.calls import operation_key
from oneclaw.models import Space, User
from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)

# Unicode code points of one saved memory.
LONGEST_CONTENT = 5000
# Bytes of JSON up to which a longer one is told so in its own sentence: more than a model can say at once.
LARGEST_ARGUMENTS = 8 * 1024 * 1024
# What the model is told of a line that must not come back.
FORGOTTEN = (
    "Nothing was saved: the person has had this forgotten. If they want it remembered again, they can write it into "
    "MEMORY.md themselves, on the memory page."
)
# Lines and characters that memory_get shows at once.
MOST_LINES = 500
MOST_CHARACTERS = 20_000


def save_memory(call: ToolCall) -> ToolResult:
    """Append to MEMORY.md of the person's own space. The same call, made again, saves nothing twice; nor do the same
    words. Secrets are masked."""
    content = call.input["content"]
    if not content.strip():
        raise parameter_missing("content")
    if len(content) > LONGEST_CONTENT:
        reason = Reason("memory.too_long", {"most": LONGEST_CONTENT})
        raise ToolError("validation_error", "Parameter 'content' must be 5,000 characters or less.", reason)
    content, secret = masked(content)
    author = Author(
        Source.TOOL,
        call.user,
        message_id=call.message_id,
        reason=Reason("change.saved"),
        operation_key=operation_key(call.message_id, call.id),
    )
    try:
        space = own_space(call.session)
        if tombstones.of_space(space.pk).is_in_text(content):
            raise LineForgottenError(CURATED)
        if known_at := place_of(content, call.session):
            return already_known(known_at, content)
        revision = keep(space, headed(call.user, content), author, ask=bool(secret))
    except LineForgottenError as error:
        raise ToolError("forgotten", FORGOTTEN, Reason("memory.line_forgotten")) from error
    except (write.DocumentError, write.BadText) as error:
        with translation.override("en"):
            raise ToolError("save_failed", f"Failed to save memory: {error}", refusal_of(error)) from error
    except (DatabaseFailure, OSError) as error:
        if waited_in_vain(error):
            raise  # which the model is told
        logger.exception("A memory could not be saved.")
        told = "Failed to save memory: the database did not take it."
        raise ToolError("save_failed", told, Reason("memory.not_stored")) from error
    if revision is None:
        return already_known(CURATED, content)
    result: dict[str, Any] = {"saved": True, "path": CURATED}
    lines: list[str | Reason] = [content]
    if secret:
        kinds = " and ".join(secret)
        result["masked"] = f"A {kinds} was left out. Tell the person, and ask whether it was meant to be kept."
        lines.append(Reason("memory.secret_left_out", {"kinds": secret}))
    if contradicted := compared(revision, content, call.user.day()):
        result["contradicts"] = [{"line": other.line, "text": other.text} for other in contradicted]
        result["ask"] = "Show the person both, and ask which is right. Both are kept until they decide."
        lines += [
            Reason("memory.contradicted", {"line": other.line, "text": first_line(other.text)})
            for other in contradicted
        ]
    return ToolResult(result, CURATED, lines, undo=reverse("memory_undo", args=[revision.pk]), made=revision.pk)


@transaction.atomic
def keep(space: Space, entry: Append, author: Author, *, ask: bool) -> MemoryRevision | None:
    """Write it into MEMORY.md, together with the question about a secret that was left out."""
    revision = write.apply(space, CURATED, entry, author)
    if revision is not None and ask:
        decisions.ask_about_secret(revision)
    return revision


def compared(revision: MemoryRevision, content: str, today: dt.date) -> list[contradictions.Contradicted]:
    """What the saved memory contradicts; the person is asked about each. It is saved, whatever fails here."""
    try:
        found = contradictions.find(revision.space, CURATED, content, today)
        for contradicted in found:
            decisions.ask_about_contradiction(revision, contradicted)
        return found
    except DatabaseFailure:
        logger.exception("A new memory was not compared with older ones.")
        return []


def already_known(path: str, content: str) -> ToolResult:
    """Nothing is saved, because it stands there in the same words."""
    summary = Reason("memory.already_known", {"path": path})
    return ToolResult({"saved": False, "already_known": True, "path": path}, summary, [content])


def refusal_of(error: write.DocumentError | write.BadText) -> Reason:
    """Return what the card says of an entry that MEMORY.md cannot take."""
    if isinstance(error, write.DocumentTooLargeError):
        return Reason("memory.document_too_large", {"path": CURATED, "size": error.size, "most": DOCUMENT_MAX_BYTES})
    if isinstance(error, write.BadText):
        return Reason("memory.unstorable", {"path": CURATED})
    return Reason("memory.not_stored")


def headed(user: User, content: str) -> Append:
    """What is appended to MEMORY.md: the entry, under a heading with the time when the setting says so."""
    if settings.MEMORY_TIMESTAMPS:
        text = f"## {user.local():%Y-%m-%d %H:%M}\n\n{entry(content)}"
        return Append(text, Separator.PARAGRAPH, unless_there=content)
    return Append(entry(content), Separator.LIST, unless_there=content)


def entry(content: str) -> str:
    """How a memory stands in MEMORY.md, its words unchanged: one line as a list item; anything that has a form of
    its own (several lines, a list, a heading, code, a quotation) as a paragraph of its own."""
    has_form = "\n" in content.rstrip("\n") or content.startswith(("- ", "* ", "+ ", "#", ">", "```", "~~~", " ", "\t"))
    return content if has_form else f"- {content}"


def memory_search(call: ToolCall) -> ToolResult:
    """The passages of memory that fit a question best."""
    query = call.input["query"]
    if not query.strip():
        raise parameter_missing("query")
    passages = HybridSearchManager(spaces_of(call.session), sources_of(call.session)).search(
        query,
        max_results=call.input.get("max_results", settings.SEARCH_RESULTS),
        min_score=call.input.get("min_score", settings.SEARCH_FLOOR),
        today=call.user.day(),
    )
    found: list[dict[str, Any]] = [
        {
            "path": passage.path,
            "start_line": passage.start_line,
            "end_line": passage.end_line,
            "score": round(passage.score, 3),
            "snippet": passage.snippet,
            **labels(passage.said),
        }
        for passage in passages
    ]
    lines = [f"{place(hit)} {first_line(hit['snippet'])}" for hit in found]
    summary = Reason("memory.found", {"number": len(found)}) if found else Reason("memory.found_nothing")
    return ToolResult({"results": found}, summary, lines)


def labels(said: "Said | None") -> dict[str, str]:
    """What a result says of the conversation that it comes from; nothing of one that comes from a document."""
    if said is None:
        return {}
    return {"source": "conversation", "title": said.title, "date": said.at.date().isoformat(), "role": said.role}


def place(hit: dict[str, Any]) -> str:
    """Where a result stands, for the person's card."""
    if "source" in hit:
        return f"{hit['title']}, {hit['date']}:"
    return f"{hit['path']}:{hit['start_line']}–{hit['end_line']}"


def memory_get(call: ToolCall) -> ToolResult:
    """Lines of one memory file. What is not there and what is somebody else's look the same."""
    path, start, count = call.input["path"], call.input.get("from_line", 1), call.input.get("lines", MOST_LINES)
    content = transcripts.read(call.session, path)
    if content is None:
        document = find_document(call.session, path)
        if document is None:
            raise ToolError("not_found", f"There is no memory file “{path}”.", Reason("memory.missing", {"path": path}))
        content = document.content
    lines = content.removesuffix("\n").split("\n")
    shown = lines[start - 1 : start - 1 + count]
    text = "\n".join(shown)
    result: dict[str, Any] = {"path": path, "from_line": start, "lines": len(shown), "total_lines": len(lines)}
    if len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS]
        result |= {"cut": True, "lines": text.count("\n") + 1}
    last = start + result["lines"] - 1
    if shown:
        summary = Reason("memory.read", {"path": path, "first": start, "last": last})
    else:
        summary = Reason("memory.length", {"path": path, "count": len(lines)})
    return ToolResult(result | {"text": text}, summary)


def searches(session: ChatSession) -> bool:
    return bool(sources_of(session))


def writes(session: ChatSession) -> bool:
    return session.mode == ChatSession.Mode.AGENT and switches.is_on(session.owner, switches.Switch.SAVED)


def first_line(text: str, longest: int = 120) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= longest else line[: longest - 1] + "…"


SAVE = Tool(
    "save_memory",
    "Save one durable fact about the person, their preferences, decisions or projects to their long-term memory "
    "(MEMORY.md). Use it whenever they ask you to remember something, and when they tell you something that will "
    "still matter in later conversations. Write one self-contained sentence in their language, with names and full "
    "dates. Never save passwords, keys or other secrets.",
    {
        "type": "object",
        "properties": {
            "content": {"type": "string", "description": "What to remember: 1 to 5,000 characters, Markdown allowed."}
        },
        "required": ["content"],
    },
    save_memory,
    offered=writes,
    about_memory=True,
    label=_("Save to memory"),
    headings={
        "running": _("Saving to memory …"),
        "done": _("Saved to memory"),
        "failed": _("Could not save to memory"),
    },
    largest_input=LARGEST_ARGUMENTS,
    since=saved.since,
)

SEARCH = Tool(
    "memory_search",
    "Search everything remembered about the person: saved facts, notes of past conversations, and the conversations "
    "themselves (results with the source “conversation”: what was said then, not what holds now). Use it before "
    "you answer questions about earlier conversations, people, dates, decisions, preferences or plans.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, in natural words and with names."},
            "max_results": {"type": "integer", "minimum": 1, "maximum": 60, "description": "At most so many results."},
            "min_score": {"type": "number", "minimum": 0, "maximum": 1, "description": "The least score of a result."},
        },
        "required": ["query"],
    },
    memory_search,
    offered=searches,
    about_memory=True,
    label=_("Search memory"),
    headings={"running": _("Searching memory …"), "done": _("Searched memory"), "failed": _("Could not search memory")},
)

GET = Tool(
    "memory_get",
    "Read lines of one memory file, for example around a result of memory_search: MEMORY.md holds the saved facts, "
    "memory/YYYY-MM-DD.md the notes of a day, /c/… a conversation.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, as memory_search names it."},
            "from_line": {"type": "integer", "minimum": 1, "description": "The first line, from 1. Default 1."},
            "lines": {"type": "integer", "minimum": 1, "maximum": MOST_LINES, "description": "How many lines."},
        },
        "required": ["path"],
    },
    memory_get,
    offered=searches,
    about_memory=True,
    label=_("Read memory files"),
    headings={"running": _("Reading memory …"), "done": _("Read memory"), "failed": _("Could not read memory")},
)
