"""Per-message context: what the extensions send to the model with a person's message, before the person's words.

It is kept with the message as data, and put into words for each request by the extension that brought it.
"""

from collections.abc import Mapping
from typing import Any

from chat import extensions
from chat.extensions import ContextItem
from chat.models import ChatSession, Message

# Where Message.meta keeps it: {name of the extension: [ContextItem, …]}.
KEY = "context"


def add_context(session: ChatSession, message: Message) -> None:
    """Ask each extension what goes with this message, and store it: once, also when the message is answered again."""
    sources = [(each.name, each.message_context) for each in extensions.installed() if each.message_context]
    if KEY in message.meta or not sources:
        return
    found = {name: source.items(session, message) for name, source in sources}
    meta = message.meta | {KEY: {name: items for name, items in found.items() if items}}
    Message.objects.filter(pk=message.pk).update(meta=meta)
    message.meta = meta


def text_of(meta: Mapping[str, Any]) -> str:
    """Return the text that goes with the message of this meta, or ""."""
    if not meta.get(KEY):
        return ""
    sources = [(each.name, each.message_context) for each in extensions.installed() if each.message_context]
    texts = (source.render(items) for name, source in sources if (items := items_of(meta, name)))
    return "\n\n".join(text for text in texts if text)


def items_of(meta: Mapping[str, Any], name: str) -> list[ContextItem]:
    """Return what the extension of this name gave with the message of this meta."""
    items: list[ContextItem] = meta.get(KEY, {}).get(name, [])
    return items


def with_items(meta: Mapping[str, Any], name: str, items: list[ContextItem]) -> dict[str, Any]:
    """Return the meta with these items in place of those of the extension."""
    return {**meta, KEY: {**meta.get(KEY, {}), name: items}}
