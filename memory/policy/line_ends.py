"""Editors and browsers change line ends and byte order marks although nobody asked them to. Pure."""

MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def as_before(before: str, given: str) -> str:
    """The given text with the line ends that the document had before, and a byte order mark only if it had one."""
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
