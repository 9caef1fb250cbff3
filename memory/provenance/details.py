"""Show the provenance of an answer: which parts of memory were sent to the model with a message."""

from collections.abc import Mapping

from django.urls import reverse
from django.utils.translation import gettext as _

from chat.context import per_message
from chat.extensions import ContextItem, Detail
from chat.models import ChatSession, Message
from memory.access import former
from memory.access.load import access_of
from memory.library.search import page_address
from memory.policy.addresses import documents_at, located
from memory.prompt.added_documents import document_id
from memory.prompt.context import by_document
from memory.prompt.items import (
    ADDED,
    DOCUMENT_LOST,
    NAME,
    OF_DOCUMENTS,
    RECALLED,
    REMOVED,
    SPACE_ADDED,
    SPACE_REMOVED,
    is_of_conversation,
    shown,
)


def details(session: ChatSession, message: Message) -> list[Detail]:
    """Return the documents in the system prompt of `session`, and the passages recalled for `message`."""
    parts = list(by_document(session.context.get(NAME, [])))
    parts += [(item, shown(item)) for item in per_message.items_of(message.meta, NAME)]
    lost = former.lost_addresses(session, {item["path"] for item, _ in parts})
    count = sum(1 for item, _ in parts if item["path"] in lost)
    parts = [(item, text) for item, text in parts if item["path"] not in lost]
    found = documents_at(access_of(session).could_read, {item["path"] for item, _ in parts})
    ids = {address: documents[0].pk for address, documents in found.items()}
    found_details = [Detail(title_of(item), text, address_of(item, ids)) for item, text in parts]
    return [*found_details, Detail(former.left_out(count))] if count else found_details


def title_of(item: ContextItem) -> str:
    """Return the title of a piece: its path, and the lines of a passage, or what changed in a document."""
    if is_of_conversation(item):
        return _("Earlier in this conversation")
    if item["kind"] in OF_DOCUMENTS:
        return item.get("heading", "") or _("A document that may not be read any more")
    path = located(item["path"])[1]
    if "whose" in item:
        path = f"{item['whose']}: {path}"
    if item["kind"] in (ADDED, SPACE_ADDED):
        return _("%(path)s: new lines") % {"path": path}
    if item["kind"] in (REMOVED, SPACE_REMOVED):
        return _("%(path)s: removed lines") % {"path": path}
    lines = "-".join(map(str, item["lines"])) if item["kind"] == RECALLED else ""
    return f"{path or _('Memory')}:{lines}".rstrip(":")


def address_of(item: ContextItem, ids: Mapping[str, int]) -> str:
    """Return the URL of the document of a piece, whose id `ids` has by its path, or of its conversation; "" without."""
    if is_of_conversation(item):
        return item["path"]
    if item["kind"] in OF_DOCUMENTS:
        return page_address(document_id(item["path"]), 0) if item["kind"] != DOCUMENT_LOST else ""
    return reverse("memory_document", args=[ids[item["path"]]]) if item["path"] in ids else ""
