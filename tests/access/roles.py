"""Everybody of the cast, and the words by which table.py says who may."""

import re

# Everybody of the cast (cast.py). The author began the conversations, and is an editor of the space; former was one;
# grouped reads through a group; staff may do everything in the administration, and has no role in the space. Besides
# the stranger, who has nothing, peer has a conversation, and neighbour owns another space.
PEOPLE = ("owner", "author", "editor", "reader", "grouped", "former", "stranger", "peer", "neighbour", "staff")
# Ordinary people with rows of the same kinds, who are asked with every id.
PEERS = ("peer", "neighbour")
# Somebody without an account.
ROLES = (*PEOPLE, "outsider")

MAY = {
    "everybody": frozenset(ROLES),
    # Who is signed in: what is their own, or nobody's.
    "persons": frozenset(PEOPLE),
    # Also by the id of another person's row, of which the answer says nothing, and which stays as it is.
    "any-id": frozenset(PEOPLE),
    # Of the space.
    "members": frozenset({"owner", "author", "editor", "reader", "grouped"}),
    "writers": frozenset({"owner", "author", "editor"}),
    "owners": frozenset({"owner"}),
    # Who has begun the shared conversation, and the owners of its space.
    "managers": frozenset({"owner", "author"}),
    # Whose row it is, shared or not; and what only a private row has, for which nobody gets in at a shared one.
    "author": frozenset({"author"}),
    "private": frozenset[str](),
    "staff": frozenset({"staff"}),
    # The owners of a space, and staff with the permission to forget in every space.
    "forgetters": frozenset({"owner", "staff"}),
    # It is not switched on, needs another key, or the cast has no such row.
    "nobody": frozenset[str](),
}


def rules_of(table: str) -> dict[str, list[str]]:
    """Return {name: words} of a table of table.py. Each name has one line."""
    lines = [
        re.split("  +", line.strip()) for line in table.splitlines() if line.startswith("    ") and not line.isupper()
    ]
    found = {name: words for name, *words in lines}
    assert len(found) == len(lines), "A name has two lines."
    assert {word for words in found.values() for word in words} <= {*MAY, "-"}
    return found
