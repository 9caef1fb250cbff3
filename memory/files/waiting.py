"""Files in the folder of a space that wait for their owner's answer: those that cannot be read, those that were put
aside because of that, and conflict copies of programs that synchronise folders.

Nothing is stored: what waits is found in the folder each time.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.files import disk
from memory.files.folders import checked_text, folder_of
from memory.files.import_changes import import_new_file
from memory.files.mirror import try_to_mirror
from memory.files.missing import write_file_again
from memory.files.replaced import is_replaced
from memory.models import MemoryDocument
from memory.policy import tombstones
from memory.policy.paths import DOCUMENT_MAX_BYTES, BadPathError, checked_path, may_be_document
from memory.policy.sync_copies import copied_path
from oneclaw.models import Space, User
from oneclaw.text import InvalidTextError, StrOrPromise

# The name of a file that was put aside (disk.put_aside).
SET_ASIDE = re.compile(r"(.+)\.[0-9]{15,25}\.refused")
# In which a text is read that its owner says is one: every byte but five is a character of it.
FALLBACK_ENCODING = "cp1252"
# Characters that change the direction of text or are not seen, which a shown name does not have.
UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


class Why(StrEnum):
    """Why a file waits."""

    ENCODING = "encoding"
    DAMAGED = "damaged"
    LINK = "link"
    HARD_LINK = "hard_link"
    UNICODE_FORM = "unicode_form"
    NAME = "name"
    TOO_LARGE = "too_large"
    NO_TEXT = "no_text"
    SET_ASIDE = "set_aside"
    COPY = "copy"


SENTENCES: Mapping[Why, StrOrPromise] = {
    Why.ENCODING: _("Its encoding is not known, so that it cannot be read."),
    Why.DAMAGED: _("Some of its bytes are no text. They are shown as “�” when it is read."),
    Why.LINK: _("It is a symbolic link. Put a plain file in its place."),
    Why.HARD_LINK: _("It is a hard link: the same file has another name elsewhere. Put a copy in its place."),
    Why.UNICODE_FORM: _("Its name is written in decomposed Unicode letters, as some Macs do."),
    Why.NAME: _("Its name cannot be that of a file of memory. Rename it in the folder."),
    Why.TOO_LARGE: _("It is larger than a file of memory may be. Put smaller files in its place."),
    Why.NO_TEXT: _("It is no text."),
    Why.SET_ASIDE: _("It could not be read when its document was written, and was put aside."),
    Why.COPY: _("It is a copy that a program made which synchronises folders."),
}
# What can be stored again under its own name after a yes, and what belongs to a document.
STORED_AGAIN = {Why.ENCODING, Why.DAMAGED, Why.UNICODE_FORM}
OF_DOCUMENT = {Why.SET_ASIDE, Why.COPY}


@dataclass(frozen=True)
class WaitingFile:
    """One file that waits: its path, why, and of a copy or what was put aside the document that it belongs to."""

    path: str
    why: Why
    document_path: str = ""
    # The lines that the document does not have, without those that were forgotten.
    added: Sequence[str] = ()
    # The encoding in which it is read after a yes.
    encoding: str = ""

    @property
    def sentence(self) -> StrOrPromise:
        return SENTENCES[self.why]

    @property
    def new_lines(self) -> int:
        return len(self.added)

    @property
    def is_readable(self) -> bool:
        """Return whether its text can be taken in after a yes."""
        return self.why in STORED_AGAIN or (self.why in OF_DOCUMENT and bool(self.added))

    @property
    def is_keepable(self) -> bool:
        """Return whether it can be a document of its own."""
        return self.why == Why.COPY and _fault_of_name(self.path) is None

    @property
    def shown_path(self) -> str:
        """Return the path with a sign for each character that is not seen, or that a page cannot have."""
        return "".join("�" if unicodedata.category(char) in UNSEEN else char for char in self.path)


def waiting_files(space: Space) -> list[WaitingFile]:
    """Return the files of `space` that wait, in the order of their paths; none without a folder."""
    documents = dict(space.documents.filter(deleted_at=None).values_list("path", "content"))
    found: list[WaitingFile] = []
    try:
        entries = list(disk.walk(folder_of(space)))
    except OSError:
        # The folder or a part of it is missing.
        return found
    known = {*documents, *(entry.path for entry in entries if may_be_document(entry.path))}
    for entry in entries:
        if is_replaced(entry.path) or disk.is_draft(entry.path):
            continue
        if waiting := _waiting(space, entry, documents, known):
            found.append(waiting)
    return found


def waiting_file(space: Space, path: str) -> WaitingFile | None:
    """Return the file of `space` that waits at `path`; None when there is none."""
    return next((each for each in waiting_files(space) if each.path == path), None)


def fault_of(document: MemoryDocument) -> WaitingFile | None:
    """Return why the file of `document` cannot be read at the moment; None when it can, and without a file."""
    folder = folder_of(document.space)
    entry = None if document.is_deleted else disk.entry_at(folder, document.path)
    if entry is None:
        return None
    why = _fault_of_file(folder, entry) or _fault_of_text(folder, entry.path)
    return WaitingFile(entry.path, why) if why else None


def take_in(space: Space, user: User, path: str) -> bool:
    """Take in the text of the waiting file at `path`, and remove the file; return whether that was possible.

    The lines of a copy, and of a file that was put aside, that the document does not have are added to it. Another
    file is stored as UTF-8 under its own name, so that it is imported as what its owner wrote there.
    """
    waiting = waiting_file(space, path)
    if waiting is None or not waiting.is_readable:
        return False
    folder = folder_of(space)
    if waiting.why in OF_DOCUMENT:
        write.apply(space, waiting.document_path, Append("\n".join(waiting.added)), Author(Source.PAGE, user))
        disk.remove(folder, path)
    else:
        disk.rewrite(folder, path, unicodedata.normalize("NFC", path), _text_of(folder, path))
    return True


def keep(space: Space, path: str) -> bool:
    """Import the file at `path`, which is no copy, as a document of its own; return whether there was such a file."""
    waiting = waiting_file(space, path)
    if waiting is None or not waiting.is_keepable:
        return False
    import_new_file(space, path)
    return True


def discard(space: Space, path: str) -> bool:
    """Delete the waiting file at `path`; return whether there was one. Of a link, what it names stays. The file of a
    document is written again."""
    if waiting_file(space, path) is None:
        return False
    disk.remove(folder_of(space), path)
    if document := space.documents.filter(path=path, deleted_at=None).first():
        write_file_again(document)
        try_to_mirror(document.pk)
    return True


def _waiting(
    space: Space, entry: disk.FolderEntry, documents: Mapping[str, str], known: Collection[str]
) -> WaitingFile | None:
    folder, _slash, name = entry.path.rpartition("/")
    aside = SET_ASIDE.fullmatch(name)
    if not aside and (entry.is_hidden or not (entry.is_link or may_be_document(entry.path))):
        return None
    if why := _fault_of_file(folder_of(space), entry):
        return WaitingFile(entry.path, why)
    if aside:
        # The name was cut, if it was long.
        prefix = f"{folder}/{aside[1]}" if folder else aside[1]
        document_path = next((path for path in documents if path.startswith(prefix)), "")
        return _of_document(space, entry.path, Why.SET_ASIDE, document_path, documents)
    if entry.path not in documents and (original := copied_path(entry.path, {*known} - {entry.path})):
        return _of_document(space, entry.path, Why.COPY, original, documents)
    if why := _fault_of_name(entry.path) or _fault_of_text(folder_of(space), entry.path):
        return WaitingFile(entry.path, why, encoding=_encoding(folder_of(space), entry.path))
    return None


def _of_document(space: Space, path: str, why: Why, document_path: str, documents: Mapping[str, str]) -> WaitingFile:
    """Return a file of which the lines that its document does not have are offered; without a document, none."""
    if document_path not in documents:
        return WaitingFile(path, why, document_path)
    forgotten = tombstones.of_space(space.pk)
    known = {line.strip() for line in documents[document_path].splitlines()}
    lines = _text_of(folder_of(space), path).splitlines()
    added = [line for line in lines if line.strip() and line.strip() not in known and not forgotten.is_in(line)]
    return WaitingFile(path, why, document_path, added)


def _fault_of_file(folder: Path, entry: disk.FolderEntry) -> Why | None:
    """Return why nothing of the file is ever read; None when it may be."""
    if entry.is_link:
        return Why.LINK
    if disk.has_other_names(folder, entry.path):
        return Why.HARD_LINK
    data = disk.read_bytes(folder, entry.path)
    if len(data) > DOCUMENT_MAX_BYTES:
        return Why.TOO_LARGE
    return None if not data or disk.probable_encoding(data, FALLBACK_ENCODING) else Why.NO_TEXT


def _fault_of_name(path: str) -> Why | None:
    try:
        return None if checked_path(path) == path else Why.UNICODE_FORM
    except BadPathError:
        return Why.NAME


def _fault_of_text(folder: Path, path: str) -> Why | None:
    try:
        checked_text(folder, path, path)
    except (disk.UnreadableFileError, InvalidTextError, write.DocumentError):
        data = disk.read_bytes(folder, path)
        if disk.is_damaged_utf_8(data):
            return Why.DAMAGED
        is_other = disk.probable_encoding(data, FALLBACK_ENCODING) not in ("", "utf-8")
        return Why.ENCODING if is_other else Why.NO_TEXT
    return None


def _encoding(folder: Path, path: str) -> str:
    return disk.probable_encoding(disk.read_bytes(folder, path), FALLBACK_ENCODING)


def _text_of(folder: Path, path: str) -> str:
    """Return the text of the file in its most probable encoding, with "�" for what is none; "" when it is no text."""
    encoding = _encoding(folder, path)
    return disk.read_bytes(folder, path).decode(encoding, "replace") if encoding else ""
