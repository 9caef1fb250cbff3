"""Extraction of text and size from an image, a PDF or an office file.

Runs in a separate process with limits on memory and time, because a malicious file may exhaust its reader, and imports
only other readers:

    python -m chat.attachments.extract image|pdf|office MAX_CHARS < file > lines of JSON

Each line is an object. The first one describes the file, or says why it cannot be read (`error`: type, locked,
too_many_pixels); further lines contain text. Any other fault of the file ends the process with a traceback.
"""

import base64
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from chat.attachments.office import MEDIA_TYPES, OfficeFileError, open_office
from chat.attachments.pdf_text import page_text

# Limits of the process: address space and CPU time.
MEMORY_MAX_BYTES, CPU_MAX_SECONDS = 1536 * 1024 * 1024, 20
# Limit of the output apart from the text: a smaller copy in base64, and the excess of the last piece of XML.
LINES_MAX_BYTES = 4 * 1024 * 1024
# The time after which no further page of a PDF is read.
PDF_TIMEOUT_SECONDS = 12.0

# The kinds of attachments by those of office files.
KINDS = {
    "docx": "docx",
    "odt": "docx",
    "pptx": "slides",
    "odp": "slides",
    "xlsx": "sheet",
    "xlsb": "sheet",
    "xls": "sheet",
    "ods": "sheet",
}

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
# MPO is a JPEG of a phone with a second image behind the first; Pillow detects it as a format of its own.
TYPES = FORMATS | {"MPO": "image/jpeg"}
IMAGE_MAX_PIXELS = 50_000_000
# Limits of the smaller copy of a large image: the API takes edges of 2,000 pixels when there are many images, and
# scales down itself beyond 1,568; many images of this size fit into one request.
EDGE_MAX_PIXELS, IMAGE_MAX_BYTES = 2000, 1_500_000
# (edge, quality), tried in this order until the result is small enough.
COPY_ATTEMPTS = ((EDGE_MAX_PIXELS, 88), (EDGE_MAX_PIXELS, 70), (1400, 70), (1000, 60))
ORIENTATION_TAG_ID = 0x0112

Line = dict[str, Any]


def read_image(data: bytes, max_chars: int) -> Iterator[Line]:
    """Yield the media type and size of the image `data`, and a smaller copy when it is large or rotated."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # counted here
    with Image.open(BytesIO(data), formats=list(FORMATS)) as opened:
        size, media_type = opened.size, TYPES[opened.format or ""]
        if size[0] * size[1] > IMAGE_MAX_PIXELS:
            yield {"error": "too_many_pixels"}
            return
        orientation = opened.getexif().get(ORIENTATION_TAG_ID, 1)
        is_fine = orientation == 1 and max(size) <= EDGE_MAX_PIXELS and len(data) <= IMAGE_MAX_BYTES
        # The model is sent only the first image of the file.
        is_fine = is_fine and opened.format in FORMATS
        if not is_fine:
            opened.draft("RGB", (EDGE_MAX_PIXELS, EDGE_MAX_PIXELS))
        opened.load()  # all of it, so that a truncated file raises
        width, height = size if orientation < 5 else size[::-1]
        found: Line = {"media_type": media_type, "width": width, "height": height}
        if not is_fine:
            small = ImageOps.exif_transpose(opened.convert("RGBA" if opened.has_transparency_data else "RGB"))
            for edge, quality in COPY_ATTEMPTS:
                small.thumbnail((edge, edge))
                kept = BytesIO()
                small.save(kept, "WEBP", quality=quality)
                if kept.tell() <= IMAGE_MAX_BYTES:
                    break
            found |= {"small": base64.b64encode(kept.getvalue()).decode(), "small_type": "image/webp"}
        yield found


def read_pdf(data: bytes, max_chars: int) -> Iterator[Line]:
    """Yield the page count of the PDF `data`, and the text of its first pages, up to `max_chars` and the timeout."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    deadline = time.monotonic() + PDF_TIMEOUT_SECONDS
    reader = PdfReader(BytesIO(data))
    try:
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
    except DependencyError:
        is_open = False
    if not is_open:
        yield {"error": "locked"}
        return
    # The API rejects an encrypted PDF, even one without a password.
    yield {"media_type": "application/pdf", "pages": 0 if reader.is_encrypted else len(reader.pages)}
    length = 0
    for number, page in enumerate(reader.pages, 1):
        if text := page_text(page):
            text = f"[page {number}]\n{text}\n\n"[: max_chars + 1 - length]
            yield {"text": text}
            length += len(text)
        if length > max_chars or time.monotonic() > deadline:
            return


def read_office(data: bytes, max_chars: int) -> Iterator[Line]:
    """Yield the kind and media type of the office file `data`, and the text of its paragraphs, slides or sheets, up to
    `max_chars`."""
    try:
        file = open_office(data, max_chars)
    except OfficeFileError as error:
        yield {"error": error.code}
        return
    yield {"kind": KINDS[file.kind], "media_type": MEDIA_TYPES[file.kind]}
    length = 0
    for number, page in enumerate(file.texts, 1):
        text = page if KINDS[file.kind] != "slides" else f"[slide {number}]\n{page}" if page else ""
        text = (text + "\n\n" if file.pages and text else text)[: max_chars + 1 - length]
        yield {"text": text}
        length += len(text)
        if length > max_chars:
            return
    if file.hidden_sheets:
        yield {"text": f"[{file.hidden_sheets} hidden sheet(s) of this file are not shown.]"}


READERS: dict[str, Callable[[bytes, int], Iterator[Line]]] = {
    "image": read_image,
    "pdf": read_pdf,
    "office": read_office,
}


def output_max_bytes(max_chars: int) -> int:
    """Return the limit of the output: LINES_MAX_BYTES, and up to 12 bytes of JSON for each of `max_chars`."""
    return LINES_MAX_BYTES + 12 * max_chars


def limit_process(cpu_seconds: int, output_bytes: int) -> None:
    """Limit the address space, the processor time and the output of this process."""
    for limit, most in (
        (resource.RLIMIT_AS, MEMORY_MAX_BYTES),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, output_bytes),
    ):
        resource.setrlimit(limit, (most, most))


def main() -> None:
    """Read a file from standard input and print what its reader yields."""
    kind, max_chars = sys.argv[1], int(sys.argv[2])
    limit_process(CPU_MAX_SECONDS, output_max_bytes(max_chars))
    for line in READERS[kind](sys.stdin.buffer.read(), max_chars):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
