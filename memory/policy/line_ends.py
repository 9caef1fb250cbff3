"""Undo changes of line ends and byte order marks that editors and browsers make on their own. Pure."""

MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def as_before(before: str, edited: str) -> str:
    """Return `edited` with the line ends of `before`, and with a byte order mark only if `before` has one."""
    if edited == before:
        return before
    text = _plain(edited)
    if text == _plain(before):
        return before
    if "\r\n" in before:
        text = text.replace("\n", "\r\n")
    return MARK + text if before.startswith(MARK) else text


def _plain(text: str) -> str:
    return text.removeprefix(MARK).replace("\r\n", "\n").replace("\r", "\n")
