"""Find people by words of their names and addresses, and shorten their names."""

from functools import reduce
from operator import and_, or_

from django.db.models import Q

from oneclaw.words import contains, pieces_of

FIELDS = ("first_name", "last_name", "email")


def named(query: str, prefix: str = "") -> Q:
    """Return the condition that a person's name or address has every piece of `query`; all people for an empty one.

    `prefix` leads to the person from the model that is filtered: "user__".
    """
    pieces = (reduce(or_, (Q(contains(f"{prefix}{name}", piece)) for name in FIELDS)) for piece in pieces_of(query))
    return reduce(and_, pieces, Q())


def initials_of(name: str) -> str:
    """Return the initials of the first and the last word of `name`, or its first letter. Pure."""
    words = [word for word in name.split("@")[0].replace(".", " ").split() if word[:1].isalnum()]
    return "".join(word[0] for word in ([words[0], words[-1]] if len(words) > 1 else words)).upper() or "?"
