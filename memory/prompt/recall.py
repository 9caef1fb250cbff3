"""Provide memory's parts of a prompt: workspace files and curated memory as they were when the session began,
guidelines for searching, and the passages that are recalled for a message."""

import logging
import re
from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseFailure
from django.template.loader import get_template

from chat import extensions
from chat.extensions import ContextItem
from chat.models import ChatSession, MemoryChoice, Message
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.access.reading import read_again
from memory.access.sources import Sources, recall_sources_of
from memory.files.recent_changes import import_recent_changes
from memory.index.embeddings.failures import EmbeddingError
from memory.models import MemoryDocument
from memory.policy import switches
from memory.policy.addresses import address_in
from memory.policy.same_words import occurs_in
from memory.prompt import items
from memory.prompt.context import by_document, context_items
from memory.prompt.items import is_of_conversation, passage_piece, shown
from memory.prompt.query import intent_of
from memory.search.manager import HybridSearchManager
from memory.search.passage import Passage
from oneclaw.llm.quoting import quoted

logger = logging.getLogger(__name__)

# Errors of a search: of the database, of the embedding server or its settings, timeouts, of the disk, and of a damaged
# index (ValueError).
SEARCH_ERRORS = (DatabaseFailure, EmbeddingError, ImproperlyConfigured, OSError, ValueError)
# Passages that are sent with a message, and the text of each and of all.
RECALLED_MAX_PASSAGES, PASSAGE_MAX_CHARS, RECALLED_MAX_CHARS = 3, 800, 4_000


def prepare_prompt(session: ChatSession) -> None:
    """Import what a person has just changed in the folders of memory that `session` reads."""
    imported = [import_recent_changes(space) for space in access_of(session).spaces]
    if any(imported):
        read_again()


def workspace_items(session: ChatSession) -> list[ContextItem]:
    """Return the workspace files, MEMORY.md and the recent conversations of the own space of `session`, and the memory
    of the shared space that it is in; nothing when it has no memory."""
    return context_items(access_of(session))


def workspace_section(session: ChatSession, found: Sequence[ContextItem]) -> str:
    """Return the prompt section of the workspace files, MEMORY.md and recent conversations, as quoted data; "" without
    any."""
    documents = list(by_document(found))
    files = [quoted("file", text, name=item["path"]) for item, text in documents if item["kind"] == items.FILE]
    curated = [quoted("memory", text, file=item["path"]) for item, text in documents if item["kind"] == items.CURATED]
    if not documents:
        return ""
    access = access_of(session)
    of_space = {} if access.person else {"space": items.name_in_prompt(access.home.space.name)}
    parts = [get_template("context.txt", using="prompts").render({"files": files, **of_space}).strip()]
    for content in curated:
        parts.append(get_template("memory.txt", using="prompts").render({"content": content, **of_space}).strip())
    shared = [(item, text) for item, text in documents if item["kind"] in items.OF_SPACE]
    if shared:
        quotations = {
            "files": [quoted("file", text, name=item["path"]) for item, text in shared if is_file_of_space(item)],
            "memories": [
                quoted("memory", text, file=item["path"]) for item, text in shared if not is_file_of_space(item)
            ],
        }
        named = {"space": shared[0][0].get("whose", ""), **quotations}
        parts.append(get_template("space_memory.txt", using="prompts").render(named).strip())
    recent = [quoted("recent", text, file=item["path"]) for item, text in documents if item["kind"] == items.RECENT]
    parts += [get_template("recent.txt", using="prompts").render({"content": content}).strip() for content in recent]
    return "\n\n".join(parts)


def is_file_of_space(item: ContextItem) -> bool:
    """Return whether the piece is of the instructions of a shared space."""
    return item["kind"] == items.SPACE_FILE


def guidelines_section(session: ChatSession, _: Sequence[ContextItem]) -> str:
    """Return the prompt section on when to search and save; "" when `session` may not search."""
    if session.memory == MemoryChoice.NONE and not session.is_temporary:
        return get_template("without_memory.txt", using="prompts").render().strip()
    # No section of memory is asked for where the model is sent none.
    offered = {tool.name for tool in extensions.tools_for(session, is_away=False)}
    if "memory_search" not in offered:
        return ""
    context: dict[str, object] = {"may_save": "save_memory" in offered}
    access = access_of(session)
    if access.person is None:
        context["shared_with"] = items.name_in_prompt(access.home.space.name)
    elif access.second is not None:
        context["beside"] = items.name_in_prompt(access.second.space.name)
        context["alone"] = session.memory == MemoryChoice.SPACE
    return get_template("recall.txt", using="prompts").render(context)


def prompt_condition(session: ChatSession) -> str:
    """Return a key of all else that the prompt sections and tools depend on: the switches, the agent's tools, whether
    there are files to search, which memory was chosen, and which shared memory is read: a conversation that is shared
    or moved, or whose owner leaves the space, gets another prompt."""
    access = access_of(session)
    shared = [] if access.person else [f"shared:{access.home.space.pk}"]
    if access.second is not None:
        shared = [f"space:{access.second.space.pk}"]
    on = access.on
    return ",".join(
        [
            *sorted(on - {switches.Switch.REVIEWS, switches.Switch.PRELOADED}),
            *([] if switches.Switch.PRELOADED in on else [f"-{switches.Switch.PRELOADED}"]),
            *(f"-{name}" for name in sorted(session.agent.tools_off)),
            # So that a conversation gets the tools with the first file.
            *(["library"] if access.libraries else []),
            *shared,
            *([f"memory:{session.memory}"] if session.memory != MemoryChoice.ALL else []),
        ]
    )


def recalled_items(access: MemoryAccess, message: Message, known: Sequence[ContextItem] = ()) -> list[ContextItem]:
    """Return the passages that are sent to the model with `message`, without lines of the pieces `known`.

    Return none when nothing fits or the search fails.

    Nothing is recalled for a message that the person has not written. The setting RECALL allows it with the first
    message of a session, with every message, or never.
    """
    is_first = message.parent_id is None
    if (settings.RECALL == "first" and not is_first) or not access.may_read or not message.is_by_person:
        return []
    if switches.Switch.RECALL not in access.on or not access.may_ask:
        return []
    sources = recall_sources_of(access)
    if not sources:
        return []
    intent = intent_of(message.text, is_first=is_first)
    if not intent:
        return []
    try:
        return find_passages(intent, access, sources, known)
    except SEARCH_ERRORS:
        logger.exception("Nothing was recalled for message %s, because the search failed.", message.pk)
        return []


def find_passages(
    intent: str, access: MemoryAccess, sources: Sources, known: Sequence[ContextItem] = ()
) -> list[ContextItem]:
    """Return the passages found for `intent` within their budget, but none that is in the prompt or in `known`."""
    session = access.session
    # Workspace files are in the prompt: without other documents or messages there is nothing to search for.
    has_notes = any(known.has_notes for known in access.reads)
    if switches.Switch.PRELOADED in access.on and not sources.reads_transcripts and not has_notes:
        return []
    manager = HybridSearchManager(access.spaces, sources)
    found = manager.search(
        intent, 3 * RECALLED_MAX_PASSAGES, settings.SEARCH.recall_floor, session.owner.day(), fills_talk=True
    )
    in_prompt = "\n".join(shown(item) for item in [*session.context.get(items.NAME, []), *known])
    passages = [passage for passage in found if not occurs_in(passage.snippet, in_prompt)][:RECALLED_MAX_PASSAGES]
    by_id = MemoryDocument.objects.in_bulk([passage.document_id for passage in passages if passage.document_id])
    named = {space.pk: space for space in access.spaces if not space.is_private}
    recalled = []
    for passage in passages:
        document = by_id.get(passage.document_id or 0)
        item = piece_of(passage, document)
        if document is not None and (space := named.get(document.space_id)) is not None:
            item["whose"] = items.name_in_prompt(space.name)
            if access.person:
                item["path"] = address_in(space, item["path"])
        recalled.append(item)
    while len(recalled_text(recalled)) > RECALLED_MAX_CHARS:
        recalled.pop()
    return recalled


def piece_of(passage: Passage, document: MemoryDocument | None) -> ContextItem:
    """Return `passage` as a piece of `document`, None for a conversation, with the lines of the indexed version."""
    source: list[str] = []
    if document is not None and document.version == document.indexed_version:
        source = document.content.split("\n")[passage.start_line - 1 : passage.end_line]
    text = passage.snippet[:PASSAGE_MAX_CHARS].rstrip("\n")
    revision = document.indexed_version if document is not None else 0
    item = passage_piece(passage.path, revision, [passage.start_line, passage.end_line], text, source)
    item["found_by"], item["score"] = list(passage.found_by), round(passage.score, 3)
    if passage.heading:
        item["heading"] = passage.heading
    return item


def recalled_text(recalled: Sequence[ContextItem]) -> str:
    """Return the recalled passages as quoted data, each with its location.

    The same items must always give the same bytes (chat.extensions.MessageContext): a new wording needs a new kind.
    """
    if not recalled:
        return ""
    if recalled[0]["kind"] == items.TEXT:
        return "\n\n".join(item["text"] for item in recalled)
    passages = [quoted("recalled", shown(item), **location_of(item)) for item in recalled]
    context = {
        "passages": passages,
        "are_said": any(is_of_conversation(item) for item in recalled),
        "are_shared": any("whose" in item for item in recalled),
        "mark": next((item["mark"] for item in recalled if "mark" in item), ""),
    }
    return get_template("recalled.txt", using="prompts").render(context).strip()


def location_of(item: ContextItem) -> dict[str, str]:
    """Return the location of a passage as the attributes of its quotation."""
    first, last = item["lines"]
    attributes = {"mark": item["mark"]} if "mark" in item else {}
    attributes |= {"file": item["path"], "lines": f"{first}-{last}"}
    if "whose" in item:
        attributes["memory"] = item["whose"]
    if "heading" in item:
        attributes["heading"] = re.sub(r'[<>"]', "", item["heading"])[:120]
    return attributes
