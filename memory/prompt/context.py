"""Select the workspace files and the curated memory for a system prompt, within a budget of characters."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from chat import extensions
from chat.extensions import ContextFile, ContextFiles, ContextItem
from chat.models import ChatSession
from memory.policy import switches
from memory.policy.access import own_space
from memory.policy.paths import CURATED, WORKSPACE_FILES
from memory.prompt.items import CURATED as CURATED_KIND
from memory.prompt.items import FILE, piece, shown
from oneclaw.llm.quoting import kept_chars, omission_marker

# The name of a file that is used when the first one is missing or blank.
ALTERNATIVE_NAMES = {CURATED: "memory.md"}
# The part of one file, and of all files, that a prompt holds.
FILE_MAX_CHARS, ALL_FILES_MAX_CHARS = 20_000, 60_000


def context_items(session: ChatSession) -> list[ContextItem]:
    """Return the pieces of the own space's files that a prompt holds, in order, within both budgets.

    Blank files are left out, and MEMORY.md while saved memory is off. Hooks may change the list before.
    """
    paths = list(WORKSPACE_FILES)
    if not switches.is_on(session.owner, switches.Switch.SAVED):
        paths = [path for path in paths if path not in (CURATED, *ALTERNATIVE_NAMES.values())]
    names = [*paths, *(ALTERNATIVE_NAMES[path] for path in paths if path in ALTERNATIVE_NAMES)]
    documents = own_space(session).documents.present().filter(path__in=names)
    found = {path: (version, content) for path, version, content in documents.values_list("path", "version", "content")}
    curated, stored = "", []
    for path in dict.fromkeys(paths):
        name = path if found.get(path, (0, ""))[1].strip() else ALTERNATIVE_NAMES.get(path, path)
        if name in found:
            stored.append(ContextFile(name, found[name][1]))
            curated = name if path == CURATED else curated
    items: list[ContextItem] = []
    left = ALL_FILES_MAX_CHARS
    for file in changed_by_hooks(session, [file for file in stored if file.text.strip()]):
        if file.text.strip() and left:
            kind = CURATED_KIND if file.path == curated else FILE
            pieces = shortened(kind, file.path, found.get(file.path, (0, ""))[0], file.text, min(FILE_MAX_CHARS, left))
            left = max(0, left - sum(len(text) for _, text in by_document(pieces)))
            items += pieces if file in stored else map(without_source, pieces)
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


def by_document(items: Iterable[ContextItem]) -> Iterator[tuple[ContextItem, str]]:
    """Yield the first piece of each document, with the text of all its pieces as the model is sent it."""
    for _, pieces in groupby(items, key=lambda item: (item["kind"], item["path"])):
        first, *more = pieces
        text, before = shown(first), first
        for item in more:
            rest = f"find them in {item['path']} with memory_search, or read them with memory_get"
            text += omission_marker(before.get("left_out", 0), rest) + shown(item)
            before = item
        yield first, text
