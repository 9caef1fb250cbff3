"""Provide memory's part of a scheduled turn: HEARTBEAT.md, AGENTS.md and the curated memory, within few characters."""

from chat.extensions import ContextItem
from chat.models import ChatSession
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.policy.paths import AGENTS, CURATED, CURATED_ALTERNATIVE, HEARTBEAT
from memory.policy.suggested import usable_files
from memory.policy.switches import Switch
from memory.prompt.context import shortened, shown_chars
from memory.prompt.items import CURATED as CURATED_KIND
from memory.prompt.items import FILE

# The characters of all files, and of these what the first two may take; the curated memory gets the rest.
ALL_MAX_CHARS = 8_000
CHECKLIST_MAX_CHARS, AGENTS_MAX_CHARS = 3_000, 2_000


def checklist(session: ChatSession) -> str:
    """Return the text of HEARTBEAT.md in the own space of `session`; "" without one, or when it has no memory."""
    access = access_of(session)
    return _files(access).get(HEARTBEAT, (0, ""))[1] if access.may_read else ""


def scheduled_items(session: ChatSession, with_checklist: bool) -> list[ContextItem]:
    """Return the pieces of files that the system text of a scheduled turn holds, in order."""
    access = access_of(session)
    if not access.may_read:
        return []
    found = _files(access)
    items: list[ContextItem] = []
    budgets = {AGENTS: AGENTS_MAX_CHARS} | ({HEARTBEAT: CHECKLIST_MAX_CHARS} if with_checklist else {})
    for path, budget in budgets.items():
        if path in found:
            items += shortened(FILE, path, *found[path], budget)
    curated = next((path for path in (CURATED, CURATED_ALTERNATIVE) if path in found), None)
    if curated and Switch.SAVED in access.on:
        items += shortened(CURATED_KIND, curated, *found[curated], ALL_MAX_CHARS - shown_chars(items))
    return items


def _files(access: MemoryAccess) -> dict[str, tuple[int, str]]:
    """Return {path: (version, text)} of those files that a prompt may use and that are not blank."""
    paths = [AGENTS, HEARTBEAT, CURATED, CURATED_ALTERNATIVE]
    rows = access.home.space.documents.present().filter(path__in=paths)
    return {path: (version, content) for path, version, content in usable_files(rows) if content.strip()}
