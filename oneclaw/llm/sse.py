"""Server-sent events from bytes, however the wire has split them. Knows nothing of models."""

# An event larger than this is not an answer's.
LARGEST_EVENT = 16 * 1024 * 1024


class Parser:
    """Takes bytes as they come and gives the events that are whole. What was cut off is never given."""

    def __init__(self) -> None:
        self._rest = b""
        self._after_return = False

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """(event name, data) of each event that `data` completes; ValueError when one has no end.

        The name is "message" when the server gives none. Comments and other fields are passed over.
        """
        if self._after_return or b"\r" in data:
            data = self._with_plain_line_ends(data)
        *whole, self._rest = (self._rest + data).split(b"\n\n")
        if len(self._rest) > LARGEST_EVENT:
            raise ValueError(f"An event is larger than {LARGEST_EVENT} bytes.")
        return [event for lines in whole if (event := _event(lines)) is not None]

    def _with_plain_line_ends(self, data: bytes) -> bytes:
        r"""`data` with \r\n and \r as \n, also when the wire was split between the two."""
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
    return (name, b"\n".join(data)) if data else None
