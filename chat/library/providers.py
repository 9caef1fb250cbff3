"""What a search of the chat finds elsewhere: other apps register what they hold, and it is shown beside its own."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.safestring import SafeString

from oneclaw.models import User

# What is shown of one place at most.
MOST = 5


@dataclass(frozen=True)
class FoundElsewhere:
    """One thing that was found: what it is called, a piece of it as safe HTML, and where it can be read."""

    name: str
    snippet: SafeString
    address: str


# Of the installed apps, by name: what of theirs this person may see and holds every word of a question (lower case, at
# least one), best first, at most so many. Whoever types waits for it.
finders: dict[str, Callable[[User, list[str], int], list[FoundElsewhere]]] = {}


def elsewhere(user: User, words: list[str]) -> dict[str, list[FoundElsewhere]]:
    """What was found, by the name of the app that found it."""
    return {name: find(user, words, MOST) for name, find in finders.items()} if words else {}
