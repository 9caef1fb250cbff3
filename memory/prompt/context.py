"""Select the workspace files, the curated memory and the recent conversations for a system prompt, within a budget of
characters."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from chat import extensions
from chat.extensions import ContextFile, ContextFiles, ContextItem
from chat.models import ChatSession
from memory.access.decided import MemoryAccess
from memory.documents.foreign import foreign_lines
from memory.policy import switches
from memory.policy.addresses import address_in
from memory.policy.paths import AGENTS, CURATED, CURATED_ALTERNATIVE, RECENT_NAME, WORKSPACE_FILES
from memory.policy.suggested import usable_files
from memory.prompt.items import CURATED as CURATED_KIND
from memory.prompt.items import FILE, RECENT, SPACE_CURATED, SPACE_FILE, name_in_prompt, piece, shown
from memory.text.recent_sections import conversation_spans
from oneclaw.llm.quoting import kept_chars, omission_marker
from oneclaw.models import Space

# The part of one file, and of all files, that a prompt holds. The room of the curated memory and of the summaries of
# recent conversations is reserved.
FILE_MAX_CHARS, ALL_FILES_MAX_CHARS = 20_000, 60_000
RECENT_MAX_CHARS = 6_000
# The instructions and the curated memory of the shared space that a private conversation is in.
SPACE_AGENTS_MAX_CHARS, SPACE_CURATED_MAX_CHARS = 10_000, 20_000
# Of a shared space, no other workspace file is in a prompt: they describe a person and an assistant.
SPACE_FILES = (AGENTS, CURATED, CURATED_ALTERNATIVE)
# A file of which less would be left is left out, and the prompt says where to read it.
FILE_MIN_CHARS = 500


def context_items(access: MemoryAccess) -> list[ContextItem]:
    """Return the pieces of files that a prompt of a conversation holds, in order: of the space that it writes, then of
    the shared space that a private one is in, as far as it reads them."""
    found = file_items(access.home.space, access.on, access) if access.reads_home else []
    return found + space_items(access.second.space, access.on) if access.second else found


def space_items(space: Space, on: frozenset[str]) -> list[ContextItem]:
    """Return the pieces of the instructions and of the curated memory of the shared `space`, for a private session."""
    files = {AGENTS: (SPACE_FILE, SPACE_AGENTS_MAX_CHARS)}
    if {switches.Switch.SAVED, switches.Switch.PRELOADED} <= on:
        files[CURATED] = (SPACE_CURATED, SPACE_CURATED_MAX_CHARS)
    rows = {path: (version, content) for path, version, content in _documents(space) if path in files}
    found: list[ContextItem] = []
    for path, (kind, budget) in files.items():
        if path in rows:
            found += shortened(kind, address_in(space, path), *rows[path], budget)
    for item in found:
        item["whose"] = name_in_prompt(space.name)
    return found


def file_items(space: Space, on: frozenset[str], access: MemoryAccess | None = None) -> list[ContextItem]:
    """Return the pieces of the files of `space` that a prompt holds, in order, when the switches `on` are on.

    Of a shared space these are its instructions and MEMORY.md. Blank files are left out, MEMORY.md and recent
    conversations while they, or the preloading of MEMORY.md, are switched off, and the summary of the conversation of
    `access`, for which hooks may change the list. A sub-session has only two files. Every other file has at least one
    piece, even if there is no room for any of its text.
    """
    found = {path: (version, content) for path, version, content in _documents(space)}
    if access is not None and access.head_files is not None:
        found = {path: found[path] for path in access.head_files if path in found}
    if not space.is_private:
        found = {path: found[path] for path in SPACE_FILES if path in found}
    if not {switches.Switch.SAVED, switches.Switch.PRELOADED} <= on:
        found.pop(CURATED, None)
        found.pop(CURATED_ALTERNATIVE, None)
    recent = []
    if switches.Switch.RECENT in on and RECENT_NAME in found:
        foreign = foreign_lines(space, [RECENT_NAME])
        recent = recent_items(*found[RECENT_NAME], str(access.session.pk) if access else "", foreign)
    curated = CURATED if CURATED in found else CURATED_ALTERNATIVE
    stored = [ContextFile(path, found[path][1]) for path in (*WORKSPACE_FILES, curated) if path in found]
    stored = list(dict.fromkeys(stored))
    files = [file for file in changed_by_hooks(access.session, stored) if file.text.strip()] if access else stored

    def pieces_of(kind: str, file: ContextFile, budget: int) -> list[ContextItem]:
        version = found.get(file.path, (0, ""))[0]
        pieces = list(shortened(kind, file.path, version, file.text, budget))
        return pieces if file in stored else [without_source(each) for each in pieces]

    of_curated = [
        each for file in files if file.path == curated for each in pieces_of(CURATED_KIND, file, FILE_MAX_CHARS)
    ]
    left = ALL_FILES_MAX_CHARS - shown_chars(of_curated) - shown_chars(recent)
    items: list[ContextItem] = []
    for file in files:
        if file.path != curated:
            budget = min(FILE_MAX_CHARS, left)
            pieces = pieces_of(FILE, file, budget if budget >= FILE_MIN_CHARS else 0)
            left -= shown_chars(pieces)
            items += pieces
    return items + of_curated + recent


def _documents(space: Space) -> Iterator[tuple[str, int, str]]:
    """Yield path, version and content of each file of `space` for a prompt that is not blank and may be used."""
    rows = space.documents.present().filter(path__in=[*WORKSPACE_FILES, CURATED_ALTERNATIVE, RECENT_NAME])
    return (row for row in usable_files(rows) if row[2].strip())


def recent_items(
    version: int, content: str, but_session: str, foreign: frozenset[str] = frozenset()
) -> list[ContextItem]:
    """Return the newest sections of Recent Conversations.md, whole ones, without that of the session `but_session`, and
    without those with a line of `foreign`, which was made from text of others: such a section is found by a search."""
    items: list[ContextItem] = []
    room = RECENT_MAX_CHARS
    for session_id, start, end in conversation_spans(content):
        end = start + len(content[start:end].rstrip())
        if not foreign.isdisjoint(content[start:end].split("\n")):
            continue
        room -= end - start
        if room < 0:
            break
        if session_id == but_session:
            room += end - start
            continue
        items.append(piece(RECENT, RECENT_NAME, version, content, start, end))
    return items


def changed_by_hooks(session: ChatSession, files: list[ContextFile]) -> Iterable[ContextFile]:
    """Return `files` as the hooks of the point context_files leave them."""
    if not extensions.hooks_at(ContextFiles):
        return files
    asked = ContextFiles(user_id=session.owner_id, session_id=session.pk, files=tuple(files))
    return extensions.run_hooks(asked).value.files


def without_source(item: ContextItem) -> ContextItem:
    """Return a piece of a file that a hook wrote: no version of a document has these lines."""
    return {**item, "revision": None, "lines": []}


def shortened(kind: str, path: str, version: int, content: str, budget: int) -> list[ContextItem]:
    """Return `content` without surrounding white space as one piece, or as its head and its tail when it has more than
    `budget` characters."""
    start, end = len(content) - len(content.lstrip()), len(content.rstrip())
    if end - start <= budget:
        return [piece(kind, path, version, content, start, end)]
    head, tail = kept_chars(budget)
    first = piece(kind, path, version, content, start, start + head)
    first["left_out"] = end - start - head - tail
    return [first, piece(kind, path, version, content, end - tail, end)]


def shown_chars(items: Iterable[ContextItem]) -> int:
    """Return how many characters of the documents the model is sent with `items`."""
    return sum(len(shown(item)) for item in items)


def by_document(items: Iterable[ContextItem]) -> Iterator[tuple[ContextItem, str]]:
    """Yield the first piece of each document, with the text of all its pieces as the model is sent it."""
    for _, pieces in groupby(items, key=lambda item: (item["kind"], item["path"])):
        first, *more = pieces
        text, before = shown(first), first
        for item in more:
            if item["kind"] == RECENT:
                text += "\n\n" + shown(item)
                continue
            rest = f"find them in {item['path']} with memory_search, or read them with memory_get"
            text += omission_marker(before.get("left_out", 0), rest) + shown(item)
            before = item
        yield first, text.strip("\n") if not shown(first) else text


@dataclass(frozen=True)
class CutFile:
    """A file that a prompt does not hold whole: how many characters of it are sent, and how many it has."""

    path: str
    sent: int
    total: int


def cut_files(space: Space, on: frozenset[str]) -> list[CutFile]:
    """Return the files of `space` that are longer than their part of a prompt, when the switches `on` are on."""
    found = []
    for path, pieces in groupby(file_items(space, on), key=lambda item: item["path"]):
        listed = list(pieces)
        if left_out := sum(item.get("left_out", 0) for item in listed):
            sent = shown_chars(listed)
            found.append(CutFile(path, sent, sent + left_out))
    return found
