"""Find the formats of the numbers of an .xls file (BIFF 8 in a compound file), which python-calamine leaves out."""

import struct
from collections.abc import Iterator

from chat.attachments.number_formats import format_of

Formats = dict[tuple[int, int], str]
# The parts of the container (MS-CFB): its header, an entry of its directory, and the last sector of a chain.
HEADER_BYTES, ENTRY_BYTES, LAST_SECTOR_NUMBER = 512, 128, 0xFFFFFFFA
STREAMS = ("Workbook", "Book")
# The records (MS-XLS 2.3).
BEGIN, END, SHEET, FORMAT, STYLE = 0x0809, 0x000A, 0x0085, 0x041E, 0x00E0
ONE_CELL, CELLS = frozenset({0x0203, 0x027E, 0x0006}), 0x00BD


def formats_of(data: bytes) -> list[Formats]:
    """Return for each sheet the formats of its numbers by row and column, from 0; [] when they cannot be found."""
    try:
        return list(_sheets(_workbook(data)))
    except (struct.error, IndexError, UnicodeDecodeError):
        return []


def _workbook(data: bytes) -> bytes:
    """Return the stream with the workbook of a compound file."""
    size = 1 << struct.unpack_from("<H", data, 30)[0]
    directory, table, count = (struct.unpack_from("<I", data, at)[0] for at in (48, 68, 72))
    sectors = list(struct.unpack_from("<109I", data, 76))
    for _ in range(count if table < LAST_SECTOR_NUMBER else 0):
        *more, table = struct.unpack_from(f"<{size // 4}I", data, (table + 1) * size)
        sectors += more
    following: list[int] = []
    for sector in sectors:
        if sector < LAST_SECTOR_NUMBER:
            following += struct.unpack_from(f"<{size // 4}I", data, (sector + 1) * size)

    def stream(sector: int) -> bytes:
        parts: list[bytes] = []
        while sector < LAST_SECTOR_NUMBER and len(parts) <= len(following):
            parts.append(data[(sector + 1) * size : (sector + 2) * size])
            sector = following[sector]
        return b"".join(parts)

    entries = stream(directory)
    for at in range(0, len(entries), ENTRY_BYTES):
        length = struct.unpack_from("<H", entries, at + 64)[0]
        if entries[at : at + max(0, length - 2)].decode("utf-16-le") in STREAMS:
            return stream(struct.unpack_from("<I", entries, at + 116)[0])
    return b""


def _records(book: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield the records from `at` to the end of the sheet, without those of diagrams in it."""
    depth = 0
    while at + 4 <= len(book):
        kind, length = struct.unpack_from("<HH", book, at)
        depth += (kind == BEGIN) - (kind == END)
        if depth == 1:
            yield kind, book[at + 4 : at + 4 + length]
        if depth <= 0:
            return
        at += 4 + length


def _sheets(book: bytes) -> Iterator[Formats]:
    own: dict[int, str] = {}
    styles: list[int] = []
    begins: list[int] = []
    for kind, body in _records(book, 0):
        if kind == FORMAT:
            number, length, is_wide = struct.unpack_from("<HHB", body)
            text = body[5 : 5 + length * (1 + (is_wide & 1))]
            own[number] = text.decode("utf-16-le" if is_wide & 1 else "latin-1")
        elif kind == STYLE:
            styles.append(struct.unpack_from("<H", body, 2)[0])
        elif kind == SHEET:
            begins.append(struct.unpack_from("<I", body)[0])
    codes = [format_of(number, own) for number in styles]
    for begin in begins:
        formats: Formats = {}
        for kind, body in _records(book, begin):
            if kind in ONE_CELL:
                row, column, style = struct.unpack_from("<HHH", body)
                formats[row, column] = codes[style]
            elif kind == CELLS:
                row, column = struct.unpack_from("<HH", body)
                for at in range(4, len(body) - 2, 6):
                    formats[row, column + (at - 4) // 6] = codes[struct.unpack_from("<H", body, at)[0]]
        yield formats
