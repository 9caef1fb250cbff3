"""What each app brings to the platform, as one object that its AppConfig registers in `ready`:

    domains.register(Domain("chat", WORDINGS, INVARIANTS, REFERENCES, space=…, person=…, archive=…))

The platform asks the registered domains in the order of their names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Q

from oneclaw import reasons
from oneclaw.models import Space, User
from oneclaw.zipping import ArchiveReader, ZipEntry

# Called between two batches, so that the job keeps its claim.
Alive = Callable[[], None]


class Way(StrEnum):
    """What becomes of a row that names a person who is removed."""

    # It goes.
    DELETED = "deleted"
    # It passes to the receiver where others share it, and goes otherwise.
    HANDED_OVER = "handed over"
    # It stays and names nobody; what is spent must be kept by law.
    ANONYMISED = "anonymised"
    # A view, which shows other rows.
    VIEW = "view"


@dataclass(frozen=True)
class Invariant:
    """A rule over the database. `violations` returns one sentence for each violation, which names the row."""

    name: str
    violations: Callable[[], Iterable[str]]


@dataclass(frozen=True)
class SpacePart:
    """What one app keeps of a space."""

    # Returns {code: number} of what the deletion of the space concerns. Each code has a wording `space.goes.<code>`
    # with `number`, such as "3 documents".
    counts: Callable[[Space], Mapping[str, int]]
    # Removes what must go before the row of the space, inside the transaction of the deletion.
    remove: Callable[[Space], None]
    # Returns whose contributions the space has, as a condition of User: a legal hold on one of them keeps the space.
    writers: Callable[[Space], Q]


@dataclass(frozen=True)
class PersonPart:
    """What one app keeps of a person. Each function may be called again after a crash in its middle."""

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


@dataclass(frozen=True)
class ArchivePart:
    """What one app writes into the archive of a person, and how it takes it back."""

    write: Callable[[User], Iterator[ZipEntry]]
    # Returns {code: number} of what was taken in, and of what was there already or refused. Harmless when repeated.
    read: Callable[[User, ArchiveReader, Alive], Mapping[str, int]]


@dataclass(frozen=True)
class Domain:
    """Everything that one app brings to the platform."""

    # The app's name.
    name: str
    # The sentences of its reasons, by their codes (oneclaw/reasons.py).
    wordings: Mapping[str, reasons.Wording]
    # The rules that must hold over its rows.
    invariants: Sequence[Invariant]
    # What becomes of its foreign keys to people, each named like `chat.ChatSession.owner`.
    references: Mapping[str, Way]
    space: SpacePart | None = None
    person: PersonPart | None = None
    archive: ArchivePart | None = None


_domains: dict[str, Domain] = {}


def register(domain: Domain) -> None:
    """Register what an app brings; again under the same name replaces it. Raise ValueError when another app has one of
    its wordings."""
    reasons.register(domain.wordings)
    _domains[domain.name] = domain


def registered() -> list[Domain]:
    """Return the domains in the order of names: that of the chat before that of memory, whose rows depend on it."""
    return [_domains[name] for name in sorted(_domains)]
