"""What memory puts into a prompt: the curated memory as it was when the session began, and when to search."""

from django.template.loader import get_template

from chat.models import ChatSession
from memory import tools
from memory.quoting import quoted, shortened
from memory.scope import own_space

CURATED = "MEMORY.md"
# Characters of the curated memory that a prompt holds.
BUDGET = 20_000


def curated_memory(session: ChatSession) -> str:
    """MEMORY.md of the person's own space, as data; "" when there is none or the session has no memory."""
    if not tools.reads(session):
        return ""
    document = own_space(session).documents.present().filter(path=CURATED).first()
    if document is None or not document.content.strip():
        return ""
    rest = f"find them in {CURATED} with memory_search, or read them with memory_get"
    content = quoted("memory", shortened(document.content.strip(), BUDGET, rest), file=CURATED)
    return get_template("memory.txt", using="prompts").render({"content": content})


def guidelines(session: ChatSession) -> str:
    """When to search and, where the session may, when to save; "" when the session has no memory."""
    if not tools.reads(session):
        return ""
    return get_template("recall.txt", using="prompts").render({"may_save": tools.writes(session)})
