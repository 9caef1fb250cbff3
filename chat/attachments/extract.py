"""Extraction of text and size from an image, a PDF or a Word document.

Runs in a separate process with limits on memory and time, because a malicious file may exhaust its reader, and imports
only other readers:

    python -m chat.attachments.extract image|pdf|docx MAX_CHARS < file > lines of JSON

Each line is an object. The first one describes the file, or says why it cannot be read (`error`: type, locked,
too_many_pixels); further lines contain text. Any other fault of the file ends the process with a traceback.
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

from chat.attachments.pdf_text import page_text
from chat.attachments.word import word_text
from chat.attachments.xml_parts import main_part

# Limits of the process: address space and CPU time.
MEMORY_MAX_BYTES, CPU_MAX_SECONDS = 1536 * 1024 * 1024, 20
# Limit of the output apart from the text: a smaller copy in base64, and the excess of the last piece of XML.
LINES_MAX_BYTES = 4 * 1024 * 1024
# The time after which no further page of a PDF is read.
PDF_TIMEOUT_SECONDS = 12.0

# What a file of Office with a password has in its container.
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")

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


def read_docx(data: bytes, max_chars: int) -> Iterator[Line]:
    """Yield the media type of the Word file `data`, and the text of its paragraphs and tables, up to `max_chars`."""
    if not data.startswith(b"PK"):
        # An old office file, or one with a password.
        yield {"error": "locked" if ENCRYPTED in data else "type"}
        return
    with zipfile.ZipFile(BytesIO(data)) as archive:
        kind, part = main_part(archive)
        if kind != "docx":
            yield {"error": "type"}
            return
        text = word_text(archive, part, max_chars)
    yield {"media_type": "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}
    yield {"text": text}


READERS: dict[str, Callable[[bytes, int], Iterator[Line]]] = {"image": read_image, "pdf": read_pdf, "docx": read_docx}


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
