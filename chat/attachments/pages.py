"""Extraction of the pages of a file: of a PDF, an office file or an HTML page, for the search in documents.

Runs in a separate process with limits on memory and time, like chat/attachments/extract.py:

    python -m chat.attachments.pages pdf|office|html MAX_PAGES MAX_CHARS CPU_SECONDS < file > lines of JSON

The first line describes the file: its `kind`, and `pages`, 0 for a file that has none; or it says why it cannot be read
(`error`: type, encoding, locked). Each further line is a page with its number and its text. Any other fault of the file
ends the process with a traceback; the pages before it count.
"""

import json
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from chat.attachments.encodings import EncodingUnknownError, NoTextError
from chat.attachments.extract import limit_process
from chat.attachments.office import OfficeFileError, open_office
from chat.attachments.pdf_text import page_text
from chat.attachments.web_pages import text_of_page

# The output apart from the text: the frame of each page's line.
FRAME_MAX_BYTES = 200
# The share of the processor time after which no further page of a PDF is read.
PDF_SHARE = 0.8

Line = dict[str, Any]


def pdf_pages(data: bytes, max_chars: int, seconds: float) -> Iterator[Line]:
    """Yield the number of pages of the PDF `data`, and the text of each; a page that cannot be read is empty."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    deadline = time.monotonic() + PDF_SHARE * seconds
    reader = PdfReader(BytesIO(data))
    try:
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
    except DependencyError:
        is_open = False
    if not is_open:
        yield {"error": "locked"}
        return
    yield {"kind": "pdf", "pages": len(reader.pages)}
    for number, page in enumerate(reader.pages, 1):
        if time.monotonic() > deadline:
            return
        try:
            text = page_text(page)
        except Exception:  # noqa: BLE001
            # pypdf has no base class for them: the bytes of one broken page lead to any exception (KeyError,
            # RecursionError, …), and the other pages can be read.
            text = ""
        yield {"page": number, "text": text[: max_chars + 1]}


def office_pages(data: bytes, max_chars: int, seconds: float) -> Iterator[Line]:
    """Yield what kind of office file `data` is, and its text: whole, by slides, or by sheets."""
    try:
        file = open_office(data, max_chars)
    except OfficeFileError as error:
        yield {"error": error.code}
        return
    yield {"kind": file.kind, "pages": file.pages, "hidden": file.hidden_sheets}
    for number, text in enumerate(file.texts, 1):
        yield {"page": number, "text": text[: max_chars + 1]}


def html_pages(data: bytes, max_chars: int, seconds: float) -> Iterator[Line]:
    """Yield the text of the HTML page `data`."""
    try:
        text = text_of_page(data)
    except (EncodingUnknownError, NoTextError) as error:
        yield {"error": "type" if isinstance(error, NoTextError) else "encoding"}
        return
    yield {"kind": "html", "pages": 0}
    yield {"page": 1, "text": text[: max_chars + 1]}


READERS = {"pdf": pdf_pages, "office": office_pages, "html": html_pages}


def output_max_bytes(max_pages: int, max_chars: int) -> int:
    """Return the limit of the output: up to 12 bytes of JSON for each character, and the frames of the lines."""
    return 12 * max_chars + FRAME_MAX_BYTES * (max_pages + 2)


def main() -> None:
    """Read a file from standard input and print its pages, up to the limits."""
    kind, (max_pages, max_chars, seconds) = sys.argv[1], map(int, sys.argv[2:5])
    limit_process(seconds, output_max_bytes(max_pages, max_chars))
    left = max_chars
    for line in READERS[kind](sys.stdin.buffer.read(), max_chars, seconds):
        if line.get("page", 0) > max_pages:
            break
        if "text" in line:
            line["text"] = line["text"][:left]
            left -= len(line["text"])
        print(json.dumps(line), flush=True)
        if left <= 0:
            break


if __name__ == "__main__":
    main()
