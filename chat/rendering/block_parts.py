"""Find the parts of a block that do not depend on each other: the items of a list, the rows of a table."""

from collections.abc import Sequence

from markdown_it.token import Token


def parts_of(group: Sequence[Token]) -> tuple[str, tuple[int, ...]]:
    """Return the kind of a block, and the lines where its rows or items begin; ("", ()) for other blocks.

    The kind is "table", "list", or "loose list" for a list whose items are paragraphs, because of a blank line.
    """
    if group[0].type == "table_open":
        # The first row is the head.
        return "table", _first_lines(group, "tr_open", level=2)[1:]
    if group[0].type not in ("bullet_list_open", "ordered_list_open"):
        return "", ()
    is_loose = any(token.type == "paragraph_open" and token.level == 2 and not token.hidden for token in group)
    return "loose list" if is_loose else "list", _first_lines(group, "list_item_open", level=1)


def _first_lines(group: Sequence[Token], type: str, level: int) -> tuple[int, ...]:
    return tuple(token.map[0] for token in group if token.type == type and token.level == level and token.map)
