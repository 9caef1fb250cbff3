"""Read the pages of a file: a text at once, all else in a process with limits (chat/attachments/pages.py)."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from chat.attachments.bounded import read_in_process
from chat.attachments.encodings import EncodingUnknownError, NoTextError, decode_text
from chat.attachments.examine import kind_of
from chat.attachments.pages import output_max_bytes
from chat.attachments.pdf_text import UNREADABLE_NOTE
from oneclaw.text import replace_unstorable

# Limits of the process: processor time, and the time that may pass on a busy machine.
CPU_MAX_SECONDS, TIMEOUT_SECONDS = 180, 300
HTML_START = re.compile(rb"\s*(?:<!--.{0,1000}?-->\s*)?<(?:!doctype html|html)[\s>]", re.IGNORECASE | re.DOTALL)
# The kinds of files that are read, as file fields offer them.
READ_KINDS = ("pdf", "docx", "slides", "sheet", "text")
HTML_SUFFIXES = (".html", ".htm", ".xhtml")


class LibraryFileUnreadableError(Exception):
    """The file cannot be read. `code` is that of a wording library.… (memory/wordings.py)."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class ReadFile:
    """What was read of a file: its kind, the number of its pages (0: it has none), the texts, and whether the limits
    left some of it out; and how many hidden sheets were left out."""

    kind: str
    pages: int
    texts: list[str]
    is_cut: bool = False
    hidden_sheets: int = 0


def read_file(name: str, data: bytes, progress: Callable[[int], None]) -> ReadFile:
    """Return the texts of the pages of the file `data`. `progress` is called with the number of pages read so far.

    Raise LibraryFileUnreadableError with one of the codes type, encoding, locked, corrupt, no_text, unreadable.
    """
    found = kind_of(data)
    if found == "image":
        raise LibraryFileUnreadableError("type")
    if found == "text":
        is_page = name.lower().endswith(HTML_SUFFIXES) or HTML_START.match(data[:2000]) or _is_table(name, data)
        read = _in_process("html", data, progress) if is_page else _of_text(data)
    else:
        read = _in_process(found, data, progress)
    if not any(text.strip() for text in read.texts):
        raise LibraryFileUnreadableError("no_text")
    return read


def _is_table(name: str, data: bytes) -> bool:
    """Return whether the file is an HTML table under the name of a sheet, as many programs export one."""
    return name.lower().endswith(".xls") and b"<table" in data[:10_000].lower()


def _of_text(data: bytes) -> ReadFile:
    try:
        text = decode_text(data)
    except NoTextError:
        raise LibraryFileUnreadableError("type") from None
    except EncodingUnknownError:
        raise LibraryFileUnreadableError("encoding") from None
    kept = _plain(text[: settings.LIBRARY_LIMITS.file_max_chars])
    return ReadFile("text", 0, [kept], len(text) > settings.LIBRARY_LIMITS.file_max_chars)


def _in_process(reader: str, data: bytes, progress: Callable[[int], None]) -> ReadFile:
    pages, characters = settings.LIBRARY_LIMITS.file_max_pages, settings.LIBRARY_LIMITS.file_max_chars
    lines = read_in_process(
        "chat.attachments.pages",
        (reader, str(pages), str(characters), str(CPU_MAX_SECONDS)),
        data,
        TIMEOUT_SECONDS,
        output_max_bytes(pages, characters),
        lambda count: progress(max(0, count - 1)),
    )
    if not lines:
        raise LibraryFileUnreadableError("corrupt")
    first, *others = lines
    if code := first.get("error"):
        raise LibraryFileUnreadableError(code)
    if not others:
        raise LibraryFileUnreadableError("corrupt")
    if all(line["text"].strip() in ("", UNREADABLE_NOTE) for line in others) and any(line["text"] for line in others):
        raise LibraryFileUnreadableError("unreadable")
    texts = [_plain(line["text"]) for line in others]
    is_cut = len(texts) < (first["pages"] or 1) or sum(len(line["text"]) for line in others) >= characters
    return ReadFile(first["kind"], first["pages"], texts, is_cut, first.get("hidden", 0))


def _plain(text: str) -> str:
    """Return `text` as it is stored and counted in lines."""
    return replace_unstorable(text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")).strip("\n")
