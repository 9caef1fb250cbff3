"""What each app keeps of people, and how it hands it over and removes it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from oneclaw.models import Space, User

# Called between two batches, so that the job keeps its claim.
Alive = Callable[[], None]


@dataclass(frozen=True)
class PersonPart:
    """What one app keeps of a person. Each function may be called again after a crash in its middle."""

    # The app's name.
    name: str
    # Returns {code: number} of what is there. Each code has a wording `leaving.<code>` with `number`.
    counts: Callable[[User], Mapping[str, int]]
    # Returns {kind: SHA-256 in hexadecimal digits} of what would be removed.
    hashes: Callable[[User], Mapping[str, str]]
    # Gives to others what is shared with them; the receiver, if there is one, gets it where they may see it.
    hand_over: Callable[[User, User | None], None]
    # Removes everything else, in batches.
    remove: Callable[[User, Alive], None]
    # Returns the shared spaces of which `remove` or `hand_over` would remove something. None of them may be held.
    spaces: Callable[[User], Iterable[Space]] = lambda person: ()


_parts: dict[str, PersonPart] = {}


def register(part: PersonPart) -> None:
    """Register what an app keeps of people; again under the same name replaces it."""
    _parts[part.name] = part


def registered() -> list[PersonPart]:
    """Return the parts in the order of names, that of the chat before that of memory, whose rows depend on it."""
    return [_parts[name] for name in sorted(_parts)]
