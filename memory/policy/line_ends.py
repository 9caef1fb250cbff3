"""Undo what editors and browsers do to line ends and byte order marks unasked. Pure."""

MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def as_before(before: str, given: str) -> str:
    """Return the given text with the line ends of `before`, and with a byte order mark only if `before` has one."""
    if given == before:
        return before
    text = _plain(given)
    if text == _plain(before):
        return before
    if "\r\n" in before:
        text = text.replace("\n", "\r\n")
    return MARK + text if before.startswith(MARK) else text


def _plain(text: str) -> str:
    return text.removeprefix(MARK).replace("\r\n", "\n").replace("\r", "\n")
