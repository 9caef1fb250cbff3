"""What memory puts into a prompt: workspace files and the curated memory as they were when the session began, when to
search, and beside a message what was recalled for it."""

import logging
import re

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseFailure
from django.template.loader import get_template

from chat.models import ChatSession, Message
from chat.turns.tools import registry
from memory.index.embeddings.failures import EmbeddingError
from memory.models import MemoryDocument
from memory.policy import switches
from memory.policy.access import Sources, is_read, reads, spaces_of
from memory.policy.paths import CURATED, RECENT, WORKSPACE_FILES
from memory.policy.same_words import stands_in
from memory.prompt.context import context_files
from memory.prompt.query import intent_of
from memory.search.manager import HybridSearchManager
from memory.search.passage import Passage
from oneclaw.llm.quoting import quoted

logger = logging.getLogger(__name__)

# How a search may fail: the database, the embedding server or its settings, time that ran out, the disk, and an index
# that cannot be read (its numbers are a ValueError).
FAILURES = (DatabaseFailure, EmbeddingError, ImproperlyConfigured, OSError, ValueError)
# Passages that travel with a message, and the characters of each and of all.
MOST_PASSAGES, LONGEST_PASSAGE, BUDGET_OF_RECALLED = 3, 800, 4_000


def context(session: ChatSession) -> str:
    """The workspace files, then MEMORY.md of the person's own space, as data; "" when there are none or the session has
    no memory."""
    if not reads(session):
        return ""
    found = context_files(session)
    files = [file.text for file in found if file.path != CURATED]
    curated = [file.text for file in found if file.path == CURATED]
    parts = [get_template("context.txt", using="prompts").render({"files": files}).strip()] if files else []
    parts += [get_template("memory.txt", using="prompts").render({"content": content}).strip() for content in curated]
    return "\n\n".join(parts)


def guidelines(session: ChatSession) -> str:
    """When to search and, where the session may, when to save; "" when there is nothing that it may search."""
    offered = {tool.name for tool in registry.for_session(session)}
    if "memory_search" not in offered:
        return ""
    return get_template("recall.txt", using="prompts").render({"may_save": "save_memory" in offered})


def condition(session: ChatSession) -> str:
    """What the sections above depend on, beside the session: when it changes, the next turn's prompt is made anew."""
    return ",".join(
        [*sorted(switches.on_for(session.owner)), *(f"-{name}" for name in sorted(session.agent.tools_off))]
    )


def recalled(session: ChatSession, message: Message) -> str:
    """What travels with a message to the model: the passages that its intent finds; "" when none does, and when the
    search fails: then the person is answered without.

    By the setting RECALL with the first message of a session, with every one, or never; and from notes alone, which
    say shorter what transcripts say.
    """
    is_first = message.parent_id is None
    if (settings.RECALL == "first" and not is_first) or not reads(session):
        return ""
    on = switches.on_for(session.owner)
    sources = Sources(is_read(CURATED, on), is_read(RECENT, on))
    if switches.Switch.RECALL not in on or not sources:
        return ""
    intent = intent_of(message.text, is_first=is_first)
    if not intent:
        return ""
    try:
        return found_for(intent, session, sources)
    except FAILURES:
        logger.exception("Nothing was recalled for message %s, because the search failed.", message.pk)
        return ""


def found_for(intent: str, session: ChatSession, sources: Sources) -> str:
    """The passages that fit and do not stand in the session's prompt, within their budget."""
    spaces = spaces_of(session)
    # Who has written nothing but workspace files, which stand in the prompt, waits for no search.
    if not MemoryDocument.objects.present().filter(space__in=spaces).exclude(path__in=WORKSPACE_FILES).exists():
        return ""
    manager = HybridSearchManager(spaces, sources)
    found = manager.search(intent, max_results=3 * MOST_PASSAGES, today=session.owner.day())
    known = session.system_prompt or ""
    passages = [quote(passage) for passage in found if not stands_in(passage.snippet, known)][:MOST_PASSAGES]
    while passages and len(text := rendered(passages)) > BUDGET_OF_RECALLED:
        passages.pop()
    return text if passages else ""


def quote(passage: Passage) -> str:
    """A passage as data, with the place where it stands."""
    text = passage.snippet[:LONGEST_PASSAGE]
    about = {"file": passage.path, "lines": f"{passage.start_line}-{passage.end_line}"}
    if passage.heading:
        about["heading"] = re.sub(r'[<>"]', "", passage.heading)[:120]
    return quoted("recalled", text, **about)


def rendered(passages: list[str]) -> str:
    return get_template("recalled.txt", using="prompts").render({"passages": passages}).strip()
