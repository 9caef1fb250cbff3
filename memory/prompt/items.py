"""Pieces of documents that memory gives to a prompt, as data (chat.extensions.ContextItem). Pure.

A piece holds whole lines, also where the model is sent only a part of a line: by them a line is found again when it is
forgotten, or when it is said once more.
"""

from collections.abc import Callable, Sequence

from chat.extensions import ContextItem
from memory.policy.tombstones import BLANK

# The name under which the chat keeps what memory gives.
NAME = "memory"
# Kinds: a workspace file, the curated memory, a recalled passage, and text of which no pieces are recorded.
FILE, CURATED, RECALLED, TEXT = "file", "curated", "recalled", "text"
# Characters of a line beyond which its rest is not kept with a piece of it.
LINE_MAX_CHARS = 10_000


def piece(kind: str, path: str, revision: int, content: str, start: int, end: int) -> ContextItem:
    """Return the piece of a document of which the model is sent content[start:end]."""
    begin, last = content.rfind("\n", 0, start) + 1, content.find("\n", end)
    last = len(content) if last < 0 else last
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
    """Return the piece of a passage of which the model is sent `text`. `source`: the lines of the document in which it
    stands, or nothing when they are not known any more."""
    item = ContextItem(kind=RECALLED, path=path, revision=revision, lines=lines, text=text)
    first, last = text.split("\n", 1)[0], text.rsplit("\n", 1)[-1]
    opening = next((line for line in source if first in line), None)
    closing = next((line for line in reversed(source) if last in line), None) if "\n" in text else opening
    if opening is None or closing is None or max(len(opening), len(closing)) > LINE_MAX_CHARS:
        item["cut"] = True
        return item
    before, after = opening[: opening.index(first)], closing[closing.index(last) + len(last) :]
    if before or after:
        item["text"] = before + text + after
        item["shown"] = [len(before), len(before) + len(text)]
    return item


def shown(item: ContextItem) -> str:
    """Return what the model was sent of the piece."""
    start, end = item.get("shown", [0, len(item["text"])])
    return item["text"][start:end]


def blanked(item: ContextItem, is_forgotten: Callable[[str], bool], is_beginning: Callable[[str], bool]) -> ContextItem:
    """Return the piece with a mark in place of each forgotten line, and without a forgotten heading; the piece itself
    when there is neither. `is_beginning`: whether a line is the beginning of a forgotten one."""
    lines = item["text"].split("\n")
    gone = [is_forgotten(line) for line in lines]
    gone[-1] = gone[-1] or (item.get("cut", False) and is_beginning(lines[-1]))
    heading_gone = is_forgotten(item.get("heading", ""))
    if not any(gone) and not heading_gone:
        return item
    fresh = item.copy()
    if heading_gone:
        del fresh["heading"]
    kept = [BLANK if is_gone else line for line, is_gone in zip(lines, gone, strict=True)]
    fresh["text"] = "\n".join(kept)
    if "shown" in item:
        start, end = item["shown"]
        fresh["shown"] = [_moved(start, lines, kept, is_end=False), _moved(end, lines, kept, is_end=True)]
    return fresh


def _moved(at: int, lines: Sequence[str], kept: Sequence[str], *, is_end: bool) -> int:
    """Return where a place of the old lines is in the new ones; one inside of a blanked line is at its start or end."""
    before = after = 0
    for old, new in zip(lines, kept, strict=True):
        if at <= before + len(old):
            inside = at - before
            return after + (inside if old is new or not inside else len(new) if is_end else 0)
        before, after = before + len(old) + 1, after + len(new) + 1
    return after
