"""Send the documents that a person added to a message: whole while they fit, otherwise their best passages."""

import logging
import re
from collections.abc import Mapping, Sequence
from itertools import groupby

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseFailure
from django.template.loader import get_template

from chat.attachments import chosen
from chat.conversations.model_choice import model_of
from chat.extensions import ContextItem
from chat.models import ChatSession, Message
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.index.embeddings.failures import EmbeddingError
from memory.library import texts
from memory.library.picking import readable
from memory.library.search import FilePassage, search_files
from memory.models import FileVersion, LibraryFile
from memory.prompt.items import DOCUMENT, DOCUMENT_LOST, DOCUMENT_PART, OF_DOCUMENTS, name_in_prompt, shown
from oneclaw import llm
from oneclaw.llm.quoting import quoted

logger = logging.getLogger(__name__)

SEARCH_ERRORS = (DatabaseFailure, EmbeddingError, ImproperlyConfigured, OSError, ValueError)
# Of a document that is too long: passages that are looked at, and the text of those that are sent.
PASSAGES_MAX_COUNT, PASSAGES_MAX_CHARS = 30, 16_000
# The version of the words about a part of a document that names the path of the rest.
BY_PATH_VERSION = 2
# In the addresses of documents in the pieces of a prompt.
PREFIX = "/d/"


def document_items(access: MemoryAccess, message: Message) -> list[ContextItem]:
    """Return the pieces of the documents that were added to `message`, in order, as far as the conversation
    may be sent them."""
    ids = [int(key) for key in chosen.keys_in(message)]
    if not ids:
        return []
    session = access.session
    files = readable(access, ids).filter(index__isnull=False).select_related("space", "index__version").in_bulk()
    model = model_of(session, message.author_id if access.is_of_space else None)
    facts = llm.cached_facts(model)
    left = llm.prompt_chars(model, int(settings.LIBRARY_LIMITS.attached_max_tokens * facts.chars_per_token))
    found: list[ContextItem] = []
    for each in dict.fromkeys(ids):
        if each not in files:
            found.append(_lost(f"{PREFIX}{each}"))
            continue
        items = _pieces(files[each], message, session, left)
        left -= sum(len(shown(item)) for item in items)
        found += items
    return found


def without_lost(session: ChatSession, found: Mapping[int, Sequence[ContextItem]]) -> dict[int, list[ContextItem]]:
    """Return the items of those messages, by their numbers, that hold documents which `session` may not be sent any
    more, without their texts. A query only when there are documents."""
    held = {seq: items for seq, items in found.items() if any(item["kind"] in OF_DOCUMENTS[:2] for item in items)}
    if not held:
        return {}
    paths = {item["path"] for items in held.values() for item in items if item["kind"] in OF_DOCUMENTS}
    kept = readable(access_of(session), [document_id(path) for path in paths]).values_list("pk", flat=True)
    lost = paths - {f"{PREFIX}{pk}" for pk in kept}
    return {
        seq: [_lost(item["path"]) if item["kind"] in OF_DOCUMENTS and item["path"] in lost else item for item in items]
        for seq, items in held.items()
        if any(item["kind"] in OF_DOCUMENTS[:2] and item["path"] in lost for item in items)
    }


def is_document(item: ContextItem) -> bool:
    """Return whether the piece is of a document that was added to the message."""
    return item["kind"] in OF_DOCUMENTS


def document_id(path: str) -> int:
    """Return the id of the document of a piece with this path."""
    return int(path.removeprefix(PREFIX))


def documents_text(found: Sequence[ContextItem]) -> str:
    """Return the documents as quoted data; "" without any.

    The same items must always give the same bytes (chat.extensions.MessageContext).
    """
    if not found:
        return ""
    documents = []
    for path, pieces in groupby(found, key=lambda item: item["path"]):
        items = list(pieces)
        documents.append(
            {
                "id": document_id(path),
                "path": path if items[0].get("wording") == BY_PATH_VERSION else "",
                "name": plain(items[0].get("heading", "")),
                "kind": items[0]["kind"],
                "characters": sum(len(shown(item)) for item in items) + items[0].get("left_out", 0),
                "quotations": [_quoted(item) for item in items if shown(item)],
            }
        )
    return get_template("documents.txt", using="prompts").render({"documents": documents}).strip()


def plain(name: str) -> str:
    """Return the name of a file without what could end a quotation."""
    return re.sub(r'[<>"“”\[\]]', "", " ".join(name.split()))


def _quoted(item: ContextItem) -> str:
    first, last = item["lines"]
    marks = {"name": plain(item.get("heading", "")), "document": str(document_id(item["path"]))}
    return quoted("document", shown(item), **marks, lines=f"{first}-{last}")


def _pieces(file: LibraryFile, message: Message, session: ChatSession, most: int) -> list[ContextItem]:
    version: FileVersion = file.index.version
    if version.characters <= most:
        found = [_piece(DOCUMENT, file, version, (1, max(1, version.lines)), texts.whole_text(version))]
    else:
        passages = _passages(file, message, session, min(most, PASSAGES_MAX_CHARS))
        found = [
            _piece(DOCUMENT_PART, file, version, (each.start_line, each.end_line), each.text) for each in passages
        ] or [_piece(DOCUMENT_PART, file, version, (1, 1), "")]
        found[0]["left_out"] = version.characters - sum(len(item["text"]) for item in found)
    if not file.space.is_private:
        for item in found:
            item["whose"] = name_in_prompt(file.space.name)
    return found


def _passages(file: LibraryFile, message: Message, session: ChatSession, most: int) -> list[FilePassage]:
    """Return the passages of `file` that fit the message best, in the order of the file, in at most `most`
    characters."""
    try:
        found = search_files([file.space], message.text, message.author or session.owner, PASSAGES_MAX_COUNT)
    except SEARCH_ERRORS:
        logger.exception("No passages of a document were found for message %s.", message.pk)
        return []
    kept: list[FilePassage] = []
    for passage in found:
        most -= len(passage.text) if passage.file.pk == file.pk else 0
        if most < 0:
            break
        if passage.file.pk == file.pk:
            kept.append(passage)
    return sorted(kept, key=lambda passage: passage.start_line)


def _piece(kind: str, file: LibraryFile, version: FileVersion, lines: tuple[int, int], text: str) -> ContextItem:
    return ContextItem(
        kind=kind,
        path=f"{PREFIX}{file.pk}",
        revision=version.number,
        lines=list(lines),
        text=text,
        heading=file.name,
        wording=BY_PATH_VERSION,
    )


def _lost(path: str) -> ContextItem:
    return ContextItem(kind=DOCUMENT_LOST, path=path, revision=None, lines=[], text="")
