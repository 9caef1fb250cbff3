"""Compile what the home page of a memory shows: the entries of MEMORY.md by topic, and where each comes from."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import F
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from memory.models import DocumentOverview, MemoryDocument, MemoryRevision, Review, Topic, content_hash
from memory.overview.entries import LISTS, Entry, current_overview, newest_entries, overview_for_page
from memory.policy.paths import CURATED
from memory.text.list_marks import without_list_mark
from oneclaw.models import Space, SpaceMember, User
from oneclaw.models.spaces import make_own_space

Source = MemoryRevision.Source


@dataclass
class ShownEntry:
    """An entry as it is shown: its text without the mark of a list, and where it comes from, in words.

    All is text, so that a page with many of them needs neither lookups nor translations.
    """

    entry: Entry
    # The lines of the entry as they are stored.
    source: str
    text: str
    # Whose words it is, and the address of the message that it comes from; both may be empty.
    said_by: str = ""
    conversation: str = ""
    # When it was written, for people and for programs, and when the person said last that it is still true.
    day: str = ""
    moment: str = ""
    confirmed: str = ""
    # What waits about it: sentences, each with the address of its item in the inbox.
    waiting: list[tuple[str, str]] = field(default_factory=list)

    @property
    def line(self) -> int:
        """Return the number of its first line, from 1."""
        return self.entry.line

    @property
    def number(self) -> str:
        """Return the number of its first line as text, which a template need not format."""
        return str(self.entry.line)

    @property
    def topic(self) -> str:
        """Return the number of its topic as text."""
        return str(self.entry.topic.value)

    @property
    def label(self) -> str:
        """Return the name of its topic."""
        return str(self.entry.topic.label)

    @property
    def count(self) -> int:
        """Return its number of lines."""
        return self.entry.last_line - self.entry.line + 1

    @property
    def lines(self) -> list[str]:
        """Return its lines as they are stored."""
        return self.source.split("\n")


@dataclass
class ShownTopic:
    """The newest entries of one topic, and how many there are."""

    topic: Topic
    shown: list[ShownEntry]
    count: int

    @property
    def more(self) -> int:
        """Return the number of entries that are not shown."""
        return self.count - len(self.shown)


@dataclass(frozen=True)
class Memories:
    """The memories that a person may look at, the own one first, and the role of the person in each, by its id."""

    spaces: Sequence[Space]
    roles: Mapping[int, str]

    @property
    def own(self) -> Space:
        """Return the person's own memory."""
        return self.spaces[0]

    def may_write(self, space: Space) -> bool:
        """Return whether the person may change documents of `space`."""
        return self.roles.get(space.pk) in SpaceMember.WRITERS

    def may_edit_curated(self, space: Space) -> bool:
        """Return whether the person may change the curated memory of `space` directly, as memory.access.rights.may_edit
        says."""
        if space.is_private or not space.needs_second_person:
            return self.may_write(space) and space.archived_at is None
        return self.owns(space) and space.archived_at is None

    @property
    def has_shared(self) -> bool:
        """Return whether the person is a member of a shared space."""
        return any(not space.is_private for space in self.spaces)

    def owns(self, space: Space) -> bool:
        """Return whether the person is an owner of `space`."""
        return self.roles.get(space.pk) == SpaceMember.Role.OWNER


def memories_of(user: User) -> Memories:
    """Return the memories that `user` may look at, by one statement. The own one is made on first use."""
    mine = Space.objects.visible_to(user).annotate(role=F("roles__role"))
    found = list(mine)
    if all(space.kind != Space.Kind.OWN for space in found):
        make_own_space(user)
        found = list(mine.all())
    found.sort(key=lambda space: (space.kind != Space.Kind.OWN, space.pk))
    return Memories(found, {space.pk: space.role for space in found})


def curated_of(space: Space) -> MemoryDocument | None:
    """Return the curated memory of `space`; None while there is none."""
    return space.documents.present().filter(path=CURATED).first()


def curated_overview(space: Space) -> DocumentOverview | None:
    """Return the overview of the curated memory of `space` at its version, with its document; None while there is none.

    Neither the lists of the overview nor the content of the document is read, unless the overview had to be made.
    Raise OverviewWaitsError while a worker compiles it.
    """
    rows = space.documents.present().filter(path=CURATED).select_related("overview")
    document = rows.defer("content", *(f"overview__{name}" for name in LISTS)).first()
    if document is None:
        return None
    if known := current_overview(document):
        return known
    whole = curated_of(space)
    return overview_for_page(whole) if whole else None


def with_content(overview: DocumentOverview) -> DocumentOverview | None:
    """Return `overview` with the content of its document, or that of a newer version if there is one by now; None when
    the document was deleted. Raise OverviewWaitsError while a worker compiles that of the newer version."""
    document = MemoryDocument.objects.present().filter(pk=overview.pk).first()
    if document is None or document.version != overview.version:
        return overview_for_page(document) if document else None
    overview.document = document
    return overview


def topics_of(overview: DocumentOverview, user: User) -> list[ShownTopic]:
    """Return the entries of the document of `overview` by topic, the newest first; topics without entries are left
    out."""
    topics = newest_entries(overview)
    shown = iter(shown_entries(overview.document, [entry for topic in topics for entry in topic.newest], user))
    return [ShownTopic(topic.topic, [next(shown) for _ in topic.newest], topic.count) for topic in topics]


def shown_entries(document: MemoryDocument, entries: Iterable[Entry], user: User) -> list[ShownEntry]:
    """Return `entries` of `document` as they are shown to `user`."""
    entries, lines = list(entries), document.content.split("\n")
    origins = _origins(document, {entry.revision for entry in entries}, user)
    found = []
    for entry in entries:
        source = "\n".join(lines[entry.line - 1 : entry.last_line])
        origin = origins.get(entry.revision, ("", "", "", ""))
        found.append(ShownEntry(entry, source, without_list_mark(source), *origin))
    _add_confirmations(document, found, user)
    return found


def _origins(document: MemoryDocument, numbers: set[int], user: User) -> dict[int, tuple[str, str, str, str]]:
    """Return whose words each revision of `numbers` wrote, the address of its message, its day and its moment."""
    rows = document.revisions.filter(number__in=numbers).values_list(
        "number", "source", "created_at", "message_id", "message__session_id", "message__seq", "author_id",
        "author__first_name", "author__last_name", "author__email",
        "approved_by_id", "approved_by__first_name", "approved_by__last_name", "approved_by__email",
    )  # fmt: skip
    words: dict[str, str] = {Source.TOOL: _("You, in a conversation"), Source.PAGE: _("You")}
    found, days = {}, _Days(user)
    for number, source, created_at, message_id, session_id, seq, author_id, first, last, email, *approval in rows:
        said_by = words.get(source) or str(Source(source).label)
        name = _("You") if author_id == user.pk else f"{first or ''} {last or ''}".strip() or email
        if source == Source.PROPOSAL and author_id is not None:
            said_by = name
            if approval[0] is not None:
                second = _("you") if approval[0] == user.pk else f"{approval[1]} {approval[2]}".strip() or approval[3]
                said_by = _("%(author)s, approved by %(person)s") % {"author": name, "person": second}
        elif author_id not in (None, user.pk):
            said_by = name if source == Source.PAGE else f"{Source(source).label} · {name}"
        url = f"{reverse('conversation', args=[session_id])}#message-{message_id}@{seq}" if session_id else ""
        found[number] = (said_by, url, days.of(created_at), created_at.isoformat())
    return found


def _add_confirmations(document: MemoryDocument, shown: Sequence[ShownEntry], user: User) -> None:
    """Set on each of `shown` when the person said last that a line of it is still true."""
    hashes = {content_hash(line): each for each in shown for line in each.lines}
    rows = Review.objects.filter(document=document, line_hash__in=hashes).exclude(answered_at=None)
    days, confirmed = _Days(user), _("still true on %(day)s")
    for line_hash, answered_at in rows.order_by("answered_at").values_list("line_hash", "answered_at"):
        # A line that was written again after the answer, perhaps one said to be no longer true, is not confirmed.
        entry = hashes[line_hash]
        if answered_at is not None and (not entry.moment or answered_at >= dt.datetime.fromisoformat(entry.moment)):
            entry.confirmed = confirmed % {"day": days.of(answered_at)}


class _Days:
    """The days of moments as `user` reads them; each is formatted once."""

    def __init__(self, user: User) -> None:
        self._zone = user.zone
        self._shown: dict[dt.date, str] = {}

    def of(self, moment: dt.datetime) -> str:
        """Return the day of `moment`."""
        day = moment.astimezone(self._zone).date()
        if day not in self._shown:
            self._shown[day] = date_format(day, "DATE_FORMAT")
        return self._shown[day]
