"""What memory puts into a prompt: workspace files and the curated memory as they were when the session began, when to
search, and with a message what was recalled for it."""

import logging
import re
from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseFailure
from django.template.loader import get_template

from chat import extensions
from chat.extensions import ContextItem
from chat.models import ChatSession, Message
from memory.index.embeddings.failures import EmbeddingFailure
from memory.models import MemoryDocument
from memory.policy import switches
from memory.policy.access import RECENT, Sources, is_read, spaces_of
from memory.policy.same_words import stands_in
from memory.prompt import items
from memory.prompt.context import CURATED, FILES, by_document, context_items
from memory.prompt.items import passage_piece, shown
from memory.prompt.query import intent_of
from memory.search.manager import HybridSearchManager
from memory.search.passage import Passage
from oneclaw.llm.quoting import quoted

logger = logging.getLogger(__name__)

# How a search may fail: the database, the embedding server or its settings, time that ran out, the disk, and an index
# that cannot be read (its numbers are a ValueError).
FAILURES = (DatabaseFailure, EmbeddingFailure, ImproperlyConfigured, OSError, ValueError)
# Passages that travel with a message, and the characters of each and of all.
MAX_PASSAGES, PASSAGE_MAX_CHARS, RECALLED_MAX_CHARS = 3, 800, 4_000


def workspace_items(session: ChatSession) -> list[ContextItem]:
    """Return the workspace files and MEMORY.md of the person's own space; nothing when the session has no memory."""
    return [] if session.is_temporary else context_items(session)


def workspace_section(session: ChatSession, found: Sequence[ContextItem]) -> str:
    """Return the workspace files, then MEMORY.md, as data; "" when there are none."""
    documents = list(by_document(found))
    files = [quoted("file", text, name=item["path"]) for item, text in documents if item["kind"] == items.FILE]
    curated = [quoted("memory", text, file=item["path"]) for item, text in documents if item["kind"] == items.CURATED]
    parts = [get_template("context.txt", using="prompts").render({"files": files}).strip()] if files else []
    parts += [get_template("memory.txt", using="prompts").render({"content": content}).strip() for content in curated]
    return "\n\n".join(parts)


def guidelines_section(session: ChatSession, _: Sequence[ContextItem]) -> str:
    """Return when to search and, where the session may, when to save; "" when there is nothing that it may search."""
    offered = {tool.name for tool in extensions.tools_for(session)}
    if "memory_search" not in offered:
        return ""
    return get_template("recall.txt", using="prompts").render({"may_save": "save_memory" in offered})


def prompt_condition(session: ChatSession) -> str:
    """Return what the sections above depend on beside the session: the person's switches and the agent's tools."""
    return ",".join(
        [*sorted(switches.on_for(session.owner)), *(f"-{name}" for name in sorted(session.agent.tools_off))]
    )


def recalled_items(session: ChatSession, message: Message) -> list[ContextItem]:
    """Return what travels with a message to the model: the passages that its intent finds; nothing when none does, and
    when the search fails: then the person is answered without.

    By the setting RECALL with the first message of a session, with every one, or never; and from notes alone, which
    say shorter what transcripts say.
    """
    is_first = message.parent_id is None
    if (settings.RECALL == "first" and not is_first) or session.is_temporary:
        return []
    on = switches.on_for(session.owner)
    sources = Sources(is_read(CURATED, on), is_read(RECENT, on))
    if switches.Switch.RECALL not in on or not sources:
        return []
    intent = intent_of(message.text, is_first=is_first)
    if not intent:
        return []
    try:
        return found_for(intent, session, sources)
    except FAILURES:
        logger.exception("Nothing was recalled for message %s, because the search failed.", message.pk)
        return []


def found_for(intent: str, session: ChatSession, sources: Sources) -> list[ContextItem]:
    """Return the passages that fit and do not stand in the session's prompt, within their budget."""
    spaces = spaces_of(session)
    # Who has written nothing but workspace files, which stand in the prompt, waits for no search.
    if not MemoryDocument.objects.present().filter(space__in=spaces).exclude(path__in=FILES).exists():
        return []
    manager = HybridSearchManager(spaces, sources)
    found = manager.search(intent, max_results=3 * MAX_PASSAGES, today=session.owner.day())
    in_prompt = "\n".join(shown(item) for item in session.system_context.get(items.NAME, []))
    passages = [passage for passage in found if not stands_in(passage.snippet, in_prompt)][:MAX_PASSAGES]
    documents = MemoryDocument.objects.in_bulk([passage.document_id for passage in passages])
    recalled = [piece_of(passage, documents.get(passage.document_id or 0)) for passage in passages]
    while len(recalled_text(recalled)) > RECALLED_MAX_CHARS:
        recalled.pop()
    return recalled


def piece_of(passage: Passage, document: MemoryDocument | None) -> ContextItem:
    """Return the piece of its document that a passage is; the passage is of the version that is indexed."""
    source: list[str] = []
    if document is not None and document.version == document.indexed_version:
        source = document.content.split("\n")[passage.start_line - 1 : passage.end_line]
    text = passage.snippet[:PASSAGE_MAX_CHARS].rstrip("\n")
    revision = document.indexed_version if document is not None else 0
    item = passage_piece(passage.path, revision, [passage.start_line, passage.end_line], text, source)
    if passage.heading:
        item["heading"] = passage.heading
    return item


def recalled_text(recalled: Sequence[ContextItem]) -> str:
    """Return the recalled passages as data, each with the place where it stands. The same items give the same bytes for
    ever (chat.extensions.MessageContext); other words are another kind of item."""
    if not recalled:
        return ""
    if recalled[0]["kind"] == items.TEXT:
        return "\n\n".join(item["text"] for item in recalled)
    passages = [quoted("recalled", shown(item), **place_of(item)) for item in recalled]
    return get_template("recalled.txt", using="prompts").render({"passages": passages}).strip()


def place_of(item: ContextItem) -> dict[str, str]:
    """Return where a passage stands, as attributes of its quotation."""
    first, last = item["lines"]
    place = {"file": item["path"], "lines": f"{first}-{last}"}
    if "heading" in item:
        place["heading"] = re.sub(r'[<>"]', "", item["heading"])[:120]
    return place
