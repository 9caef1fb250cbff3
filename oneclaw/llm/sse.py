"""Parse server-sent events from chunks of bytes."""

# No event of an answer is larger.
EVENT_MAX_BYTES = 16 * 1024 * 1024


class EventParser:
    """An incremental parser; an incomplete event at the end is dropped."""

    def __init__(self) -> None:
        self._rest = b""
        self._after_return = False

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """Return (event name, data) of each event that `data` completes.

        The name is "message" when the server sends none. Comments and other fields are ignored. Raise ValueError when
        an event is larger than EVENT_MAX_BYTES.
        """
        if self._after_return or b"\r" in data:
            data = self._with_plain_line_ends(data)
        *complete, self._rest = (self._rest + data).split(b"\n\n")
        if len(self._rest) > EVENT_MAX_BYTES:
            raise ValueError(f"An event is larger than {EVENT_MAX_BYTES} bytes.")
        return [event for lines in complete if (event := _event(lines)) is not None]

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
    return (name, b"\n".join(data)) if data else None
