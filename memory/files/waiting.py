"""Files in the folder of a space that wait for their owner's answer: those that cannot be read, those that were put
aside because of that, and conflict copies of programs that synchronise folders.

Nothing is stored: what waits is found in the folder each time.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.files import disk
from memory.files.folders import checked_text, folder_of
from memory.files.import_changes import import_new_file
from memory.files.replaced import is_replaced
from memory.models import MemoryDocument
from memory.policy.paths import DOCUMENT_MAX_BYTES, BadPathError, checked_path, may_be_document
from memory.policy.sync_copies import copied_path
from oneclaw.models import Space, User
from oneclaw.text import InvalidTextError, StrOrPromise

# The name of a file that was put aside (disk.put_aside).
SET_ASIDE = re.compile(r"(.+)\.[0-9]{15,25}\.refused")
# In which a text is read that its owner says is one: every byte but five is a character of it.
FALLBACK_ENCODING = "cp1252"


class Why(StrEnum):
    """Why a file waits."""

    ENCODING = "encoding"
    LINK = "link"
    HARD_LINK = "hard_link"
    NAME = "name"
    NO_TEXT = "no_text"
    SET_ASIDE = "set_aside"
    COPY = "copy"


SENTENCES: Mapping[Why, StrOrPromise] = {
    Why.ENCODING: _("Its encoding is not known, so that it cannot be read."),
    Why.LINK: _("It is a symbolic link. Put a plain file in its place."),
    Why.HARD_LINK: _("It is a hard link: the same file has another name elsewhere. Put a copy in its place."),
    Why.NAME: _("Its name is written in decomposed Unicode letters, as some Macs do."),
    Why.NO_TEXT: _("It is no text, or has too many bytes."),
    Why.SET_ASIDE: _("It could not be read when its document was written, and was put aside."),
    Why.COPY: _("It is a copy that a program made which synchronises folders."),
}
# What can be read after a yes.
READABLE = {Why.ENCODING, Why.NAME, Why.SET_ASIDE, Why.COPY}


@dataclass(frozen=True)
class WaitingFile:
    """One file that waits: its path, why, and of a copy or what was put aside the document that it belongs to."""

    path: str
    why: Why
    document_path: str = ""
    # How many of its lines the document does not have.
    new_lines: int = 0
    # The encoding in which it is read after a yes.
    encoding: str = ""

    @property
    def sentence(self) -> StrOrPromise:
        return SENTENCES[self.why]

    @property
    def is_readable(self) -> bool:
        """Return whether its text can be taken in after a yes."""
        return self.why in READABLE


def waiting_files(space: Space) -> list[WaitingFile]:
    """Return the files of `space` that wait, in the order of their paths; none without a folder."""
    folder, found = folder_of(space), []
    documents = set(space.documents.filter(deleted_at=None).values_list("path", flat=True))
    try:
        for entry in disk.walk(folder):
            if is_replaced(entry.path) or disk.is_draft(entry.path):
                continue
            if waiting := _waiting(space, entry, documents):
                found.append(waiting)
    except OSError:
        # The folder or a part of it is missing.
        pass
    return found


def take_in(space: Space, user: User, path: str) -> bool:
    """Take in the text of the waiting file at `path`, and remove the file; return whether that was possible.

    The lines of a copy, and of a file that was put aside, that the document does not have are added to it. Another
    file is stored as UTF-8 under its own name, so that it is imported as what its owner wrote there.
    """
    waiting = next((each for each in waiting_files(space) if each.path == path and each.is_readable), None)
    if waiting is None:
        return False
    folder = folder_of(space)
    decoded, new_path = _text_of(folder, path), path if waiting.document_path else unicodedata.normalize("NFC", path)
    is_whole = len(disk.read_bytes(folder, path)) < DOCUMENT_MAX_BYTES
    if not decoded or not is_whole or disk.has_other_names(folder, path):
        return False
    is_taken = new_path != path and disk.exists(folder, new_path)
    if not waiting.document_path and (waiting.why == Why.SET_ASIDE or is_taken):
        # Its document is deleted, or another file has the name that it would get.
        return False
    if waiting.document_path:
        document = MemoryDocument.objects.filter(space=space, path=waiting.document_path).first()
        lines = _new_lines(decoded, document.content if document and not document.is_deleted else "")
        if lines:
            write.apply(space, waiting.document_path, Append("\n".join(lines)), Author(Source.PAGE, user))
        disk.remove(folder, path)
    else:
        disk.rewrite(folder, path, new_path, decoded)
    return True


def keep(space: Space, path: str) -> bool:
    """Import the file at `path`, which is no copy, as a document of its own; return whether there was such a file."""
    if not any(each.path == path and each.why == Why.COPY for each in waiting_files(space)):
        return False
    import_new_file(space, path)
    return True


def discard(space: Space, path: str) -> bool:
    """Delete the waiting file at `path`; return whether there was one. Of a link, what it names stays."""
    if not any(each.path == path for each in waiting_files(space)):
        return False
    disk.remove(folder_of(space), path)
    return True


def _waiting(space: Space, entry: disk.FolderEntry, documents: Collection[str]) -> WaitingFile | None:
    folder, _slash, name = entry.path.rpartition("/")
    if aside := SET_ASIDE.fullmatch(name):
        # The name was cut, if it was long.
        prefix = f"{folder}/{aside[1]}" if folder else aside[1]
        document_path = next((path for path in documents if path.startswith(prefix)), "")
        return _of_document(space, entry.path, Why.SET_ASIDE, document_path)
    if entry.is_hidden or not (entry.is_link or may_be_document(entry.path)):
        return None
    if entry.path not in documents and (original := copied_path(entry.path, documents)):
        return _of_document(space, entry.path, Why.COPY, original)
    if why := _fault(space, entry):
        return WaitingFile(entry.path, why, encoding=_encoding(folder_of(space), entry.path))
    return None


def _of_document(space: Space, path: str, why: Why, document_path: str) -> WaitingFile:
    content = space.documents.filter(path=document_path).values_list("content", flat=True).first() or ""
    return WaitingFile(path, why, document_path, len(_new_lines(_text_of(folder_of(space), path), content)))


def _fault(space: Space, entry: disk.FolderEntry) -> Why | None:
    """Return why the file cannot be a document; None when it can."""
    if entry.is_link:
        return Why.LINK
    try:
        if checked_path(entry.path) != entry.path:
            return Why.NAME
        checked_text(folder_of(space), entry.path, entry.path)
    except BadPathError:
        return None
    except (disk.UnreadableFileError, InvalidTextError, write.DocumentError):
        if disk.has_other_names(folder_of(space), entry.path):
            return Why.HARD_LINK
        return Why.ENCODING if _encoding(folder_of(space), entry.path) else Why.NO_TEXT
    return None


def _encoding(folder: Path, path: str) -> str:
    return disk.probable_encoding(disk.read_bytes(folder, path), FALLBACK_ENCODING)


def _text_of(folder: Path, path: str) -> str:
    """Return the text of the file in its most probable encoding; "" when it is none."""
    encoding = _encoding(folder, path)
    return disk.read_bytes(folder, path).decode(encoding, "replace") if encoding else ""


def _new_lines(text: str, content: str) -> list[str]:
    """Return the lines of `text` with words that `content` does not have, in order."""
    known = {line.strip() for line in content.splitlines()}
    return [line for line in text.splitlines() if line.strip() and line.strip() not in known]
