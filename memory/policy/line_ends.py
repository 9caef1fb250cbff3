"""Undo changes of line ends and byte order marks that editors and browsers make on their own. Pure."""

BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def with_line_ends_of(before: str, edited: str) -> str:
    """Return `edited` with the line ends of `before`, and with a byte order mark only if `before` has one."""
    if edited == before:
        return before
    text = _plain(edited)
    if text == _plain(before):
        return before
    if "\r\n" in before:
        text = text.replace("\n", "\r\n")
    return BYTE_ORDER_MARK + text if before.startswith(BYTE_ORDER_MARK) else text


def _plain(text: str) -> str:
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
