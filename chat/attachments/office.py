"""Open an office file of any program, and read its texts: whole, slide by slide, or sheet by sheet.

Like all readers, it runs in a process of its own and imports no other module of the product.
"""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Protocol

from chat.attachments.open_document import OpenPresentation, open_text
from chat.attachments.other_sheets import BinarySheets, OpenDocumentSheets
from chat.attachments.sheets import Workbook
from chat.attachments.slides import Presentation
from chat.attachments.word import word_text
from chat.attachments.xml_parts import main_part, member

# What a file of Office with a password has in its container.
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
# The kinds of OpenDocument files by the end of their media type, also that of a template.
OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
OPEN_KINDS = {"text": "odt", "presentation": "odp", "spreadsheet": "ods"}
# Media types by kind.
MEDIA_TYPES = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
    "xls": "application/vnd.ms-excel",
} | {kind: OPEN_DOCUMENT + name for name, kind in OPEN_KINDS.items()}


class OfficeFileError(Exception):
    """The file cannot be read. `code` is locked (it has a password) or type."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Pages(Protocol):
    """The slides or sheets of a file. Those that are hidden are left out and counted."""

    hidden_count: int

    def __len__(self) -> int: ...

    def texts(self, max_chars: int) -> Iterator[str]:
        """Yield the text of each up to `max_chars`."""


@dataclass(frozen=True)
class OfficeFile:
    """An office file: its kind, the number of its slides or sheets (0: it has none), those that are hidden and left
    out, and the texts, which are read while they are iterated."""

    kind: str
    pages: int
    hidden_sheets: int
    texts: Iterator[str]


def open_office(data: bytes, max_chars: int) -> OfficeFile:
    """Return the office file `data`, with up to about `max_chars` of text a page.

    Raise OfficeFileError, BadZipFile, KeyError, ValueError or ExpatError for a damaged one.
    """
    if not data.startswith(b"PK"):
        return _of_book("xls", _old_book(data), max_chars)
    archive = zipfile.ZipFile(BytesIO(data))
    kind, part = main_part(archive)
    match kind or _open_kind(archive):
        case "docx":
            return OfficeFile(kind, 0, 0, iter([word_text(archive, part, max_chars)]))
        case "odt":
            return OfficeFile("odt", 0, 0, iter([open_text(archive, max_chars)]))
        case "pptx":
            return _of_book(kind, Presentation(archive, part), max_chars)
        case "odp":
            return _of_book("odp", OpenPresentation(archive, max_chars), max_chars)
        case "xlsx":
            return _of_book(kind, Workbook(archive, part), max_chars)
        case "xlsb":
            return _of_book(kind, BinarySheets(data), max_chars)
        case "ods":
            return _of_book("ods", OpenDocumentSheets(archive, max_chars), max_chars)
    raise OfficeFileError("type")


def _open_kind(archive: zipfile.ZipFile) -> str:
    """Return odt, odp or ods; "" for another archive. Raise OfficeFileError for one with a password."""
    if not member(archive, "mimetype") or not member(archive, "content.xml"):
        return ""
    media_type = archive.read("mimetype")[:200].decode("ascii", "replace").strip()
    name = media_type.removeprefix(OPEN_DOCUMENT).removesuffix("-template") if OPEN_DOCUMENT in media_type else ""
    kind = OPEN_KINDS.get(name, "")
    manifest = "META-INF/manifest.xml"
    if kind and member(archive, manifest) and b"encryption-data" in archive.read(manifest):
        raise OfficeFileError("locked")
    return kind


def _old_book(data: bytes) -> BinarySheets:
    """Return the sheets of an .xls file. Other files of its container are old or have a password."""
    from python_calamine import CalamineError

    if ENCRYPTED in data:
        raise OfficeFileError("locked")
    try:
        return BinarySheets(data)
    except CalamineError as error:
        raise OfficeFileError("locked" if type(error).__name__ == "PasswordError" else "type") from None


def _of_book(kind: str, book: Pages, max_chars: int) -> OfficeFile:
    return OfficeFile(kind, len(book), book.hidden_count, book.texts(max_chars))
