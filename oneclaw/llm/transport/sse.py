"""Parse server-sent events from chunks of bytes."""

from collections.abc import Iterator

# No event of an answer is larger.
EVENT_MAX_BYTES = 4 * 1024 * 1024


class EventTooLargeError(ValueError):
    """An event is larger than EVENT_MAX_BYTES."""


class EventParser:
    """An incremental parser; an incomplete event at the end is dropped.

    Its work is proportional to what it is fed: no byte of an incomplete event is read or copied again for each chunk.
    """

    def __init__(self) -> None:
        # The incomplete event in pieces, without the line end that was last, and their size.
        self._pieces: list[bytes] = []
        self._size_bytes = 0
        self._after_line = False
        self._after_return = False

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield (event name, data) of each event that `data` completes; the caller reads all before the next chunk.

        The name is "message" when the server sends none. Comments and other fields are ignored. Raise
        EventTooLargeError, after the events before the one that is too large.
        """
        if self._after_return or b"\r" in data:
            data = self._with_plain_line_ends(data)
        if self._after_line:
            # The empty line that ends an event may lie across two chunks.
            data = b"\n" + data
        *ends, rest = data.split(b"\n\n")
        for end in ends:
            lines = self._with_kept(end) if self._pieces or len(end) > EVENT_MAX_BYTES else end
            if (event := _event(lines)) is not None:
                yield event
        self._after_line = rest.endswith(b"\n")
        self._keep(rest.removesuffix(b"\n"))

    def _with_kept(self, end: bytes) -> bytes:
        """Return the whole event that ends with `end`."""
        self._keep(end)
        lines = b"".join(self._pieces)
        self._pieces, self._size_bytes = [], 0
        return lines

    def _keep(self, piece: bytes) -> None:
        self._size_bytes += len(piece)
        if self._size_bytes > EVENT_MAX_BYTES:
            raise EventTooLargeError(f"An event is larger than {EVENT_MAX_BYTES:,} bytes.")
        if piece:
            self._pieces.append(piece)

    def _with_plain_line_ends(self, data: bytes) -> bytes:
        r"""Return `data` with \r\n and \r as \n, also when a chunk ends between the two."""
        if self._after_return and data.startswith(b"\n"):
            data = data[1:]
        self._after_return = data.endswith(b"\r") or (self._after_return and not data)
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _event(lines: bytes) -> tuple[str, bytes] | None:
    name, data = "message", []
    for line in lines.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ").decode("utf-8", "replace")
    if not data:
        return None
    return name, data[0] if len(data) == 1 else b"\n".join(data)
