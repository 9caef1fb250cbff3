"""Tell the model of a running conversation what was changed in the curated memory.

The system prompt holds MEMORY.md as it was when the conversation began, and is never rewritten. What a person corrects
since, or another conversation saves, is sent before their next message: only what changed since the prompt or the last
such note. In a private conversation in a space, one such note is of its owner's MEMORY.md and one of the space's.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, F, Subquery, Value, When
from django.template.loader import get_template

from chat.context import per_message
from chat.extensions import ContextItem
from chat.models import ChatSession, Head, Message
from memory.access.decided import MemoryAccess
from memory.documents.diff import apply_hunks, reverse
from memory.models import MemoryDocument, MemoryRevision
from memory.policy.addresses import address_in
from memory.policy.paths import CURATED, CURATED_ALTERNATIVE
from memory.policy.switches import Switch
from memory.policy.tombstones import BLANK
from memory.prompt import items
from memory.prompt.items import ADDED, REMOVED, SPACE_ADDED, SPACE_REMOVED, shown
from oneclaw.llm.quoting import omission_marker, quoted
from oneclaw.models import Space

# The text of the added lines in one note, and of the removed ones.
CHANGES_MAX_CHARS = 2_000
# The version of the words around changed lines that says to follow the wishes in them.
WISHES_VERSION = 2


@dataclass(frozen=True)
class CuratedMemory:
    """A curated memory that a conversation is sent: the one that it writes or, with `is_second`, that of the
    shared space that it reads besides."""

    space: Space
    is_second: bool = False

    @property
    def kind(self) -> str:
        """Return the kind of its pieces in a head."""
        return items.SPACE_CURATED if self.is_second else items.CURATED

    @property
    def kinds_of_changes(self) -> tuple[str, str]:
        """Return the kinds of its added and of its removed lines."""
        return (SPACE_ADDED, SPACE_REMOVED) if self.is_second else (ADDED, REMOVED)

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of the documents that hold it; the first one goes before the others."""
        return (CURATED,) if self.is_second else (CURATED, CURATED_ALTERNATIVE)

    def address(self, path: str) -> str:
        """Return what the model knows its document at `path` by."""
        return address_in(self.space, path) if self.is_second else path


def changed_items(access: MemoryAccess, message: Message) -> list[ContextItem]:
    """Return the lines that were added to and removed from each curated memory since the model was last sent it.

    What the conversation itself has saved is known to the model from the tool's result. Return none with the first
    message, and while the person has switched saved memory off.
    """
    has_curated = access.may_ask and access.head_files is None
    if message.parent_id is None or access.session.head is None or not has_curated:
        return []
    memories = [CuratedMemory(access.home.space)] if access.reads_home else []
    if access.second is not None:
        memories.append(CuratedMemory(access.second.space, is_second=True))
    return [item for memory in memories for item in _changed_items(access, message, memory)]


def _changed_items(access: MemoryAccess, message: Message, memory: CuratedMemory) -> list[ContextItem]:
    session = access.session
    addresses = {memory.address(path): path for path in memory.paths}
    in_head = [item for item in session.context.get(items.NAME, []) if item["kind"] == memory.kind]
    in_head = [item for item in in_head if item["path"] in addresses]
    if any(item["revision"] is None for item in in_head):
        # A head from before revisions were recorded: what the model knows cannot be told.
        return []
    rows = MemoryDocument.objects.filter(space=memory.space, path__in=memory.paths)
    known = _newest(in_head, addresses)
    versions = dict(rows.values_list("path", "version"))
    if _is_current(known, versions):
        return []
    known = _newest([*in_head, *_noted(session, message, memory)], addresses)
    if _is_current(known, versions) or not {Switch.SAVED, Switch.PRELOADED} <= access.on:
        return []
    return _changes(session, memory, {document.path: document for document in rows}, *known)


def _is_current(known: tuple[str, int], versions: Mapping[str, int]) -> bool:
    """Return whether the documents with these versions are as the model was sent them."""
    path, version = known
    return versions.get(path, 0) == version and (path == CURATED or CURATED not in versions)


def _newest(sent: Iterable[ContextItem], addresses: Mapping[str, str]) -> tuple[str, int]:
    """Return path and version of the newest of these pieces of the curated memory, whose paths `addresses` has."""
    versions = ((addresses[item["path"]], item["revision"] or 0) for item in sent if item["path"] in addresses)
    return max(versions, key=lambda version: (version[0] == CURATED, version[1]), default=(CURATED, 0))


def _noted(session: ChatSession, message: Message, memory: CuratedMemory) -> Iterator[ContextItem]:
    """Yield the changes of `memory` that were sent with messages of the shown branch before `message`.

    The head has all that was sent before it was made, which may be of another memory: the session was shared since, or
    is private again.
    """
    head_made_at = Head.objects.filter(pk=session.head_id or 0).values("created_at")
    earlier = session.messages.shown().filter(role=Message.Role.USER, seq__lt=message.seq)
    earlier = earlier.filter(created_at__gt=Subquery(head_made_at))
    for meta in earlier.filter(meta__context__has_key=items.NAME).values_list("meta", flat=True):
        yield from (item for item in per_message.items_of(meta, items.NAME) if item["kind"] in memory.kinds_of_changes)


def _changes(
    session: ChatSession,
    memory: CuratedMemory,
    documents: Mapping[str, MemoryDocument],
    known_path: str,
    known_version: int,
) -> list[ContextItem]:
    """Return the difference between the curated memory and what the model knows of it."""
    curated, alternative = documents.get(CURATED), documents.get(CURATED_ALTERNATIVE)
    document = curated if _text(curated).strip() or alternative is None else alternative
    if document is None:
        return []
    base = documents.get(known_path)
    # In their order, each once.
    known = dict.fromkeys(lines_of(content_before(base, known_version) if base is not None else ""))
    known |= dict.fromkeys(_saved_here(session, document, known_version if document.path == known_path else 0))
    now = dict.fromkeys(lines_of(_text(document)))
    added, removed = memory.kinds_of_changes
    found = [
        _item(removed, memory, document, [line for line in known if line not in now and line.strip() != BLANK]),
        _item(added, memory, document, [line for line in now if line not in known]),
    ]
    return [item for item in found if item is not None]


def content_before(document: MemoryDocument, version: int) -> str:
    """Return the content that `document` had at `version`, by undoing the later changes.

    One statement reads the content and the changes, so that a change that is made meanwhile is in both or in neither.
    """
    later = MemoryRevision.objects.filter(document=document, number__gt=version).order_by("-number")
    newest = Case(When(number=F("document__version"), then=F("document__content")), default=Value(None))
    content = document.content
    for hunks, present in later.values_list("hunks", newest).iterator(chunk_size=100):
        content = apply_hunks(content if present is None else present, reverse(hunks))
    return content


def changes_text(changes: Sequence[ContextItem]) -> str:
    """Return the notes of changed lines, as quoted data, one for each curated memory; "" without any.

    The same items must always give the same bytes (chat.extensions.MessageContext).
    """
    return "\n\n".join(filter(None, (_note(changes, ADDED, REMOVED), _note(changes, SPACE_ADDED, SPACE_REMOVED))))


def _note(changes: Sequence[ContextItem], added: str, removed: str) -> str:
    """Return the note of those of `changes` that are of these kinds."""
    found = {item["kind"]: item for item in changes if item["kind"] in (added, removed)}
    if not found:
        return ""
    texts = {kind: quoted("lines", _with_pointer(item), file=item["path"]) for kind, item in found.items()}
    whose = next((item["whose"] for item in found.values() if "whose" in item), "")
    context: dict[str, object] = {"added": texts.get(added), "removed": texts.get(removed), "space": whose}
    context["wishes_count"] = any(item.get("wording") == WISHES_VERSION for item in found.values())
    return get_template("changes.txt", using="prompts").render(context).strip()


def is_change(item: ContextItem) -> bool:
    """Return whether `item` is part of a note of changed lines."""
    return item["kind"] in (ADDED, REMOVED, SPACE_ADDED, SPACE_REMOVED)


def lines_of(content: str) -> list[str]:
    """Return the lines of `content` that are not blank, without white space at their ends."""
    return [line.rstrip() for line in content.split("\n") if line.strip()]


def _text(document: MemoryDocument | None) -> str:
    return "" if document is None or document.is_deleted else document.content


def _saved_here(session: ChatSession, document: MemoryDocument, after: int) -> Iterable[str]:
    """Yield the lines that the shown branch of `session` has saved to `document` since its version `after`."""
    saved = MemoryRevision.objects.filter(
        document=document,
        number__gt=after,
        source=MemoryRevision.Source.TOOL,
        message__session=session,
        message__active=True,
    )
    for hunks in saved.values_list("hunks", flat=True):
        for hunk in hunks:
            yield from lines_of("\n".join(hunk["added"]))


def _item(kind: str, memory: CuratedMemory, document: MemoryDocument, lines: list[str]) -> ContextItem | None:
    """Return the piece of these lines of `memory`, as many as fit; None without any."""
    if not lines:
        return None
    kept: list[str] = []
    room = CHANGES_MAX_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    path = memory.address(document.path)
    item = ContextItem(kind=kind, path=path, revision=document.version, lines=[], text="\n".join(kept))
    if memory.is_second:
        item["whose"] = items.name_in_prompt(memory.space.name)
    else:
        item["wording"] = WISHES_VERSION
    if left_out := sum(map(len, lines[len(kept) :])):
        item["left_out"] = left_out
    return item


def _with_pointer(item: ContextItem) -> str:
    if "left_out" not in item:
        return shown(item)
    return shown(item) + omission_marker(item["left_out"], f"read {item['path']} with memory_get").rstrip()
