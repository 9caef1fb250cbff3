"""Build the pieces of documents that memory adds to a prompt, as data (chat.extensions.ContextItem). Pure.

A piece holds whole lines, even if the model is sent only a part of a line, so that lines can be compared when one is
forgotten or repeated.
"""

import re
from collections.abc import Callable, Sequence

from chat.extensions import MEMORY_NAME, ContextItem
from memory.policy.tombstones import BLANK

# The name of the extension under which the chat stores the pieces.
NAME = MEMORY_NAME
# Kinds: a workspace file, the curated memory, a recalled passage, and text of which no pieces are recorded.
FILE, CURATED, RECALLED, TEXT = "file", "curated", "recalled", "text"
# Kind: the summary of a recent conversation.
RECENT = "recent"
# Kinds: the instructions and the curated memory of the shared space that a private conversation is in.
SPACE_FILE, SPACE_CURATED = "space_file", "space_curated"
# Kinds: a document of a library that the person added to the message, passages of one that is too long for that, and
# one that may not be read any more.
DOCUMENT, DOCUMENT_PART, DOCUMENT_LOST = "document", "document_part", "document_lost"
OF_DOCUMENTS = (DOCUMENT, DOCUMENT_PART, DOCUMENT_LOST)
# Characters of a space's name in a prompt.
NAME_MAX_CHARS = 80
# Kinds: lines that were added to the curated memory and removed from it since the model was sent it.
ADDED, REMOVED = "added", "removed"
# Kinds: such lines of the curated memory of the shared space that a private conversation is in.
SPACE_ADDED, SPACE_REMOVED = "space_added", "space_removed"
OF_SPACE = (SPACE_FILE, SPACE_CURATED, SPACE_ADDED, SPACE_REMOVED)
# The unsent part of a line that is kept with a piece; a longer one is cut off.
LINE_MAX_CHARS = 10_000


def piece(kind: str, path: str, revision: int, content: str, start: int, end: int) -> ContextItem:
    """Return the piece of the document at `path` of which the model is sent content[start:end]."""
    begin, last = content.rfind("\n", 0, start) + 1, content.find("\n", end)
    last = len(content) if last < 0 else last
    if start == end:
        # Of a line of which nothing is sent nothing is kept.
        begin = last = start
    is_cut = max(start - begin, last - end) > LINE_MAX_CHARS
    if is_cut:
        begin, last = start, end
    lines = [content.count("\n", 0, begin) + 1, content.count("\n", 0, last) + 1]
    item = ContextItem(kind=kind, path=path, revision=revision, lines=lines, text=content[begin:last])
    if is_cut:
        item["cut"] = True
    elif (begin, last) != (start, end):
        item["shown"] = [start - begin, end - begin]
    return item


def passage_piece(path: str, revision: int, lines: list[int], text: str, source: Sequence[str]) -> ContextItem:
    """Return the piece of a passage of which the model is sent `text`.

    `source` holds the lines of the document that contain it; it is empty when the document has changed.
    """
    item = ContextItem(kind=RECALLED, path=path, revision=revision, lines=lines, text=text)
    first, last = text.split("\n", 1)[0], text.rsplit("\n", 1)[-1]
    first_line = next((line for line in source if first in line), None)
    last_line = next((line for line in reversed(source) if last in line), None) if "\n" in text else first_line
    if first_line is None or last_line is None or max(len(first_line), len(last_line)) > LINE_MAX_CHARS:
        item["cut"] = True
        return item
    before, after = first_line[: first_line.index(first)], last_line[last_line.index(last) + len(last) :]
    if before or after:
        item["text"] = before + text + after
        item["shown"] = [len(before), len(before) + len(text)]
    return item


def name_in_prompt(name: str) -> str:
    """Return the name of a space, which a member chose, as one short line without the marks of quotations."""
    return " ".join(re.sub(r'[<>"“”]', "", name).split())[:NAME_MAX_CHARS]


def is_of_conversation(item: ContextItem) -> bool:
    """Return whether the piece is of a conversation, whose path is its address."""
    return item["path"].startswith("/c/")


def shown(item: ContextItem) -> str:
    """Return the text of the piece that the model was sent."""
    start, end = item.get("shown", [0, len(item["text"])])
    return item["text"][start:end]


def blanked(item: ContextItem, is_forgotten: Callable[[str], bool], is_prefix: Callable[[str], bool]) -> ContextItem:
    """Return the piece with each forgotten line replaced by BLANK, and without a forgotten heading.

    Return `item` itself when there is neither. `is_prefix` tells whether a cut line is the start of a forgotten one.
    """
    lines = item["text"].split("\n")
    marks = [is_forgotten(line) for line in lines]
    marks[-1] = marks[-1] or (item.get("cut", False) and is_prefix(lines[-1]))
    is_heading_forgotten = is_forgotten(item.get("heading", ""))
    if not any(marks) and not is_heading_forgotten:
        return item
    fresh = item.copy()
    if is_heading_forgotten:
        del fresh["heading"]
    kept = [BLANK if mark else line for line, mark in zip(lines, marks, strict=True)]
    fresh["text"] = "\n".join(kept)
    if "shown" in item:
        start, end = item["shown"]
        fresh["shown"] = [_moved(start, lines, kept, is_end=False), _moved(end, lines, kept, is_end=True)]
    return fresh


def _moved(at: int, lines: Sequence[str], kept: Sequence[str], *, is_end: bool) -> int:
    """Return the offset in the text of `kept` for the offset `at` in the text of `lines`.

    An offset inside of a replaced line moves to the start or, with `is_end`, to the end of its replacement.
    """
    before = after = 0
    for old, new in zip(lines, kept, strict=True):
        if at <= before + len(old):
            inside = at - before
            return after + (inside if old is new or not inside else len(new) if is_end else 0)
        before, after = before + len(old) + 1, after + len(new) + 1
    return after
