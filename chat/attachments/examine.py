"""Examination of uploaded files: kind, text and size by their bytes, never by their name; or why one is refused."""

import base64
import contextlib
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from chat.attachments.bounded import read_in_process
from chat.attachments.encodings import EncodingUnknownError, NoTextError, decode_text
from chat.attachments.extract import output_max_bytes
from oneclaw.fair_slots import NoSlotError, ThreadSlots
from oneclaw.llm.quoting import shortened
from oneclaw.text import InvalidTextError, file_size, replace_unstorable, validated_text

# Limit on the extraction of one file, and on the wait for a slot.
EXTRACT_TIMEOUT_SECONDS = 60
# Limits how many files this process extracts at the same time.
_slots: ThreadSlots[int] = ThreadSlots(2)

PDF = b"%PDF-"
# An archive, and the container of old office files and of those with a password.
OFFICE = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
OFFICE_KINDS = frozenset({"docx", "sheet", "slides"})
IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


class FileRefusedError(InvalidTextError):
    """A file is not accepted. `code` is a protocol error code; `sentence` is for the person."""


@dataclass(frozen=True)
class ExaminedFile:
    """The result of an examination. `kind` is one of Attachment.Kind; `small` is a smaller copy of a large image."""

    kind: str
    media_type: str
    text: str = ""
    width: int = 0
    height: int = 0
    pages: int = 0
    small: bytes = b""
    small_type: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        """Return the columns of Attachment with the result: the size of the smaller copy instead of its bytes."""
        columns = asdict(self)
        return columns | {"small_size": len(columns.pop("small"))}


def examine_file(name: str, data: bytes, owner_id: int = 0) -> ExaminedFile:
    """Return what kind of file `data` is and what is in it. Extracts one file of an owner at a time.

    Raise FileRefusedError with one of the codes empty, too_large, type, encoding, corrupt, locked, too_many_pixels,
    busy.
    """
    if not data:
        raise FileRefusedError("empty", _("“%(name)s” is empty.") % {"name": name})
    if len(data) > settings.FILES.max_bytes:
        raise too_large_error(name, len(data))
    kind = kind_of(data)
    if not OFFICE_KINDS.intersection(settings.FILES.kinds) if kind == "office" else kind not in settings.FILES.kinds:
        raise _wrong_type(name)
    if kind == "text":
        return ExaminedFile(kind, text_media_type(name), text=_text(name, data))
    try:
        with _slots.slot(owner_id, EXTRACT_TIMEOUT_SECONDS):
            found = extract_in_process(kind, data)
    except NoSlotError:
        raise FileRefusedError(
            "busy", _("Too many files are being processed. Attach “%(name)s” again in a minute.") % {"name": name}
        ) from None
    is_corrupt_pdf = kind == "pdf" and found.get("error") == "corrupt"
    if is_corrupt_pdf and not data.startswith(PDF) and "text" in settings.FILES.kinds:
        # A text may contain the PDF signature in its first lines.
        with contextlib.suppress(FileRefusedError):
            return ExaminedFile("text", text_media_type(name), text=_text(name, data))
    if error := found.get("error"):
        raise _wrong_type(name) if error == "type" else FileRefusedError(error, _sentence(error) % {"name": name})
    kind = found.get("kind", kind)
    if kind not in settings.FILES.kinds:
        raise _wrong_type(name)
    return ExaminedFile(
        kind,
        found["media_type"],
        text=shortened_to_limit(replace_unstorable(found["text"]).strip("\n ")),
        width=found.get("width", 0),
        height=found.get("height", 0),
        pages=found.get("pages", 0),
        small=base64.b64decode(found.get("small", "")),
        small_type=found.get("small_type", ""),
    )


def kind_of(data: bytes) -> str:
    """Return image, pdf, office (also for another archive) or text, by the first bytes of `data`. Pure."""
    if data.startswith(IMAGES) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
        return "image"
    if PDF in data[:1024]:
        return "pdf"
    return "office" if data.startswith(OFFICE) else "text"


def text_media_type(name: str) -> str:
    """Return the media type of a text file, guessed from the suffix of `name`. Pure."""
    ending = name.rpartition(".")[2].lower()
    return {"md": "text/markdown", "markdown": "text/markdown", "csv": "text/csv"}.get(ending, "text/plain")


def extract_in_process(kind: str, data: bytes) -> dict[str, Any]:
    """Return the fields that the extracting process printed, its texts joined; {"error": "corrupt"} when it failed."""
    lines = read_in_process(
        "chat.attachments.extract",
        (kind, str(settings.FILES.text_max_chars)),
        data,
        EXTRACT_TIMEOUT_SECONDS,
        output_max_bytes(settings.FILES.text_max_chars),
    )
    first, *others = lines or [{}]
    if not first:
        return {"error": "corrupt"}
    return first | {"text": "".join(line["text"] for line in others)}


def shortened_to_limit(text: str) -> str:
    """Return `text`, cut to settings.FILES.text_max_chars characters with a note that the file is longer."""
    return shortened(text, settings.FILES.text_max_chars, "the file is longer")


def too_large_error(name: str, size: int) -> FileRefusedError:
    """Return the error for a file of `size` bytes, more than settings.FILES.max_bytes."""
    shown = {"name": name, "size": file_size(size), "most": file_size(settings.FILES.max_bytes)}
    return FileRefusedError("too_large", _("“%(name)s” has %(size)s. The limit is %(most)s per file.") % shown)


def _text(name: str, data: bytes) -> str:
    try:
        text = decode_text(data)
        return shortened_to_limit(validated_text(text, max_chars=len(text)))
    except NoTextError:
        raise _wrong_type(name) from None
    except EncodingUnknownError:
        sentence = _("The encoding of “%(name)s” is not known: save it as UTF-8 and attach it again.")
        raise FileRefusedError("encoding", sentence % {"name": name}) from None
    except InvalidTextError as bad:
        if bad.code == "empty":
            raise FileRefusedError("empty", _("“%(name)s” is empty.") % {"name": name}) from None
        raise _wrong_type(name) from None


def _wrong_type(name: str) -> FileRefusedError:
    kinds = {
        "image": _("images (PNG, JPEG, WebP, GIF)"),
        "pdf": _("PDF"),
        "docx": _("Word and OpenDocument texts"),
        "sheet": _("spreadsheets"),
        "slides": _("presentations"),
        "text": _("text, Markdown, code and CSV"),
    }
    taken = ", ".join(kinds[kind] for kind in settings.FILES.kinds)
    if not taken:
        return FileRefusedError("type", _("Files cannot be attached here."))
    sentence = _("This type of file cannot be attached: “%(name)s”. Supported types: %(kinds)s.")
    return FileRefusedError("type", sentence % {"name": name, "kinds": taken})


def _sentence(error: str) -> str:
    return {
        "locked": _("“%(name)s” is protected by a password: attach a copy without one."),
        "too_many_pixels": _("“%(name)s” has too many pixels: attach a smaller copy."),
        "corrupt": _("“%(name)s” cannot be read: it is damaged."),
    }[error]
