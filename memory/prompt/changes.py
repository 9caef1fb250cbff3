"""Tell the model of a running conversation what was changed in the curated memory.

The system prompt holds MEMORY.md as it was when the conversation began, and is never rewritten. What a person corrects
since, or another conversation saves, is sent before their next message: only what changed since the prompt or the last
such note.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.template.loader import get_template

from chat.context import per_message
from chat.extensions import ContextItem
from chat.models import ChatSession, Message
from memory.documents.diff import apply_hunks, reverse
from memory.models import MemoryDocument, MemoryRevision
from memory.policy.access import may_ask, own_documents, reads_written, switches_of
from memory.policy.paths import CURATED, CURATED_ALTERNATIVE
from memory.policy.switches import Switch
from memory.policy.tombstones import BLANK
from memory.prompt import items
from memory.prompt.items import ADDED, REMOVED, shown
from oneclaw.llm.quoting import omission_marker, quoted

# The text of the added lines in one note, and of the removed ones.
CHANGES_MAX_CHARS = 2_000


def changed_items(session: ChatSession, message: Message) -> list[ContextItem]:
    """Return the lines that were added to and removed from the curated memory since the model was last sent it.

    What the conversation itself has saved is known to the model from the tool's result. Return none with the first
    message, and while the person has switched saved memory off.
    """
    has_curated = reads_written(session) and session.kind != ChatSession.Kind.SUB_SESSION
    has_curated = has_curated and may_ask(message.author or session.owner, session)
    if message.parent_id is None or session.head is None or not has_curated:
        return []
    rows = own_documents(session).filter(path__in=[CURATED, CURATED_ALTERNATIVE])
    in_head = [item for item in session.context.get(items.NAME, []) if item["kind"] == items.CURATED]
    if any(item["revision"] is None for item in in_head):
        # A head from before revisions were recorded: what the model knows cannot be told.
        return []
    known = _newest(in_head)
    versions = dict(rows.values_list("path", "version"))
    if _is_current(known, versions):
        return []
    known = _newest([*in_head, *_noted(session, message)])
    if _is_current(known, versions) or Switch.SAVED not in switches_of(session):
        return []
    return _changes(session, {document.path: document for document in rows}, *known)


def _is_current(known: tuple[str, int], versions: Mapping[str, int]) -> bool:
    """Return whether the documents with these versions are as the model was sent them."""
    path, version = known
    return versions.get(path, 0) == version and (path == CURATED or CURATED not in versions)


def _newest(sent: Iterable[ContextItem]) -> tuple[str, int]:
    """Return path and version of the newest of these pieces of the curated memory."""
    versions = ((item["path"], item["revision"] or 0) for item in sent)
    return max(versions, key=lambda version: (version[0] == CURATED, version[1]), default=(CURATED, 0))


def _noted(session: ChatSession, message: Message) -> Iterator[ContextItem]:
    """Yield the changes that were sent with messages of the shown branch before `message`."""
    earlier = session.messages.shown().filter(role=Message.Role.USER, seq__lt=message.seq)
    for meta in earlier.filter(meta__context__has_key=items.NAME).values_list("meta", flat=True):
        yield from (item for item in per_message.items_of(meta, items.NAME) if is_change(item))


def _changes(
    session: ChatSession, documents: Mapping[str, MemoryDocument], known_path: str, known_version: int
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
    found = [
        _item(REMOVED, document, [line for line in known if line not in now and line.strip() != BLANK]),
        _item(ADDED, document, [line for line in now if line not in known]),
    ]
    return [item for item in found if item is not None]


def content_before(document: MemoryDocument, version: int) -> str:
    """Return the content that `document` had at `version`, by undoing the later changes."""
    content = document.content
    later = document.revisions.filter(number__gt=version).order_by("-number").values_list("hunks", flat=True)
    for hunks in later.iterator(chunk_size=100):
        content = apply_hunks(content, reverse(hunks))
    return content


def changes_text(changes: Sequence[ContextItem]) -> str:
    """Return the note of changed lines, as quoted data; "" without any.

    The same items must always give the same bytes (chat.extensions.MessageContext).
    """
    if not changes:
        return ""
    texts = {item["kind"]: quoted("lines", _with_pointer(item), file=item["path"]) for item in changes}
    return get_template("changes.txt", using="prompts").render(texts).strip()


def is_change(item: ContextItem) -> bool:
    """Return whether `item` is part of a note of changed lines."""
    return item["kind"] in (ADDED, REMOVED)


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


def _item(kind: str, document: MemoryDocument, lines: list[str]) -> ContextItem | None:
    """Return the piece of these lines, as many as fit; None without any."""
    if not lines:
        return None
    kept: list[str] = []
    room = CHANGES_MAX_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    item = ContextItem(kind=kind, path=document.path, revision=document.version, lines=[], text="\n".join(kept))
    if left_out := sum(map(len, lines[len(kept) :])):
        item["left_out"] = left_out
    return item


def _with_pointer(item: ContextItem) -> str:
    if "left_out" not in item:
        return shown(item)
    return shown(item) + omission_marker(item["left_out"], f"read {item['path']} with memory_get").rstrip()
