"""What is in an image, a PDF or a Word document. Runs in a process of its own with bounds on memory and time, because
such a file may be made to exhaust whoever reads it, and imports nothing of the product:

    python -m chat.attachments.extract image|pdf|docx LONGEST < file > lines of JSON

Each line is an object. The first one says that the file can be read, or why not (`error`: type, locked,
too_many_pixels); further ones bring text. Whatever else is wrong with the file ends the process with a traceback.
"""

import base64
import json
import resource
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from xml.parsers import expat

# Bytes of address space and seconds of computing that the process may take.
MEMORY, SECONDS = 1536 * 1024 * 1024, 20
# Bytes that the process may write besides the text: a smaller copy in base64, and what one piece of XML is too long.
LARGEST_LINES = 4 * 1024 * 1024
# Seconds after which no further page of a PDF is read.
PATIENCE = 12.0

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
# A phone's JPEG with a second picture behind the first is called MPO, which Pillow finds by itself.
TYPES = FORMATS | {"MPO": "image/jpeg"}
MOST_PIXELS = 50_000_000
# What the model and the page are shown of a larger image: the API takes 2,000 pixels when there are many images, and
# scales down itself beyond 1,568; many images of this size fit into one request.
LONGEST_EDGE, LARGEST_IMAGE = 2000, 1_500_000
# (edge, quality) one after the other, until the result is small enough.
SMALLER = ((LONGEST_EDGE, 88), (LONGEST_EDGE, 70), (1400, 70), (1000, 60))
ORIENTATION = 0x0112

# Bytes that the text of a Word document may have as XML.
LARGEST_XML = 64 * 1024 * 1024
BODY = "word/document.xml"

Line = dict[str, Any]


def image(data: bytes, longest: int) -> Iterator[Line]:
    """Its type and size, and a smaller copy when it is large or lies on its side."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # counted here
    with Image.open(BytesIO(data), formats=list(FORMATS)) as opened:
        size, media_type = opened.size, TYPES[opened.format or ""]
        if size[0] * size[1] > MOST_PIXELS:
            yield {"error": "too_many_pixels"}
            return
        orientation = opened.getexif().get(ORIENTATION, 1)
        is_fine = orientation == 1 and max(size) <= LONGEST_EDGE and len(data) <= LARGEST_IMAGE
        # The model is sent the first picture alone.
        is_fine = is_fine and opened.format in FORMATS
        if not is_fine:
            opened.draft("RGB", (LONGEST_EDGE, LONGEST_EDGE))
        opened.load()  # the whole of it, so that a cut file is found out
        width, height = size if orientation < 5 else size[::-1]
        found: Line = {"media_type": media_type, "width": width, "height": height}
        if not is_fine:
            small = ImageOps.exif_transpose(opened.convert("RGBA" if opened.has_transparency_data else "RGB"))
            for edge, quality in SMALLER:
                small.thumbnail((edge, edge))
                kept = BytesIO()
                small.save(kept, "WEBP", quality=quality)
                if kept.tell() <= LARGEST_IMAGE:
                    break
            found |= {"small": base64.b64encode(kept.getvalue()).decode(), "small_type": "image/webp"}
        yield found


def pdf(data: bytes, longest: int) -> Iterator[Line]:
    """How many pages it has, and the text of as many as fit into `longest` characters and the time."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    deadline = time.monotonic() + PATIENCE
    reader = PdfReader(BytesIO(data))
    try:
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
    except DependencyError:
        is_open = False
    if not is_open:
        yield {"error": "locked"}
        return
    # The API takes none that is encrypted, even if anybody may read it.
    yield {"media_type": "application/pdf", "pages": 0 if reader.is_encrypted else len(reader.pages)}
    length = 0
    for number, page in enumerate(reader.pages, 1):
        if text := page.extract_text().strip():
            text = f"[page {number}]\n{text}\n\n"[: longest + 1 - length]
            yield {"text": text}
            length += len(text)
        if length > longest or time.monotonic() > deadline:
            return


def docx(data: bytes, longest: int) -> Iterator[Line]:
    """The text of its paragraphs and tables, as many as fit into `longest` characters."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        if BODY not in archive.namelist():
            yield {"error": "type"}
            return
        with archive.open(BODY) as stream:
            text = WordText(longest)
            text.read(stream.read)
    yield {"media_type": "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}
    yield {"text": "".join(text.parts)}


class TooMuch(Exception):
    """The document has more text than is asked for."""


class WordText:
    """The text of a WordprocessingML body: headings and list items marked as in Markdown, cells between tabs."""

    def __init__(self, longest: int) -> None:
        self.parts: list[str] = []
        self._room = longest
        self._bytes = LARGEST_XML
        self._mark = ""
        self._is_text = False
        # Inside of how many table cells, and of how many copies for older programs.
        self._cells, self._copies = 0, 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        # No Word document has one; what can grow without end is declared there.
        self._parser.StartDoctypeDeclHandler = self._refuse

    def read(self, read: Callable[[int], bytes]) -> None:
        try:
            while data := read(64 * 1024):
                self._bytes -= len(data)
                if self._bytes < 0:
                    return
                self._parser.Parse(data, False)
            self._parser.Parse(b"", True)
        except TooMuch:
            return

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        value = next((value for key, value in attributes.items() if key.endswith(" val")), "")
        match name.rpartition(" ")[2]:
            case "t":
                self._is_text = True
            case "tab" | "ptab":
                self._say("\t")
            case "br" | "cr":
                self._say("\n")
            case "tc":
                self._cells += 1
            case "Fallback":
                self._copies += 1
            case "pStyle" if value[:7].lower() == "heading" and value[7:].isdigit():
                self._mark = "#" * min(int(value[7:]), 6) + " "
            case "numPr":
                self._mark = self._mark or "- "

    def _end(self, name: str) -> None:
        match name.rpartition(" ")[2]:
            case "t":
                self._is_text = False
            case "p":
                self._mark = ""
                self._say(" " if self._cells else "\n\n")
            case "tc":
                self._cells -= 1
                self._say("\t")
            case "tr":
                self._say("\n")
            case "Fallback":
                self._copies -= 1

    def _text(self, text: str) -> None:
        if self._is_text:
            self._say(self._mark + text)
            self._mark = ""

    def _say(self, text: str) -> None:
        if self._copies:
            return
        self.parts.append(text)
        self._room -= len(text)
        if self._room < 0:
            raise TooMuch

    def _refuse(self, *_: object) -> None:
        raise ValueError("a document type declaration")


READERS: dict[str, Callable[[bytes, int], Iterator[Line]]] = {"image": image, "pdf": pdf, "docx": docx}


def largest_output(longest: int) -> int:
    """Bytes that the lines may have: a smaller copy, and text of which a character has up to 12 of them as JSON."""
    return LARGEST_LINES + 12 * longest


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    kind, longest = sys.argv[1], int(sys.argv[2])
    most = largest_output(longest)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    for line in READERS[kind](sys.stdin.buffer.read(), longest):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
