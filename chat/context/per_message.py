"""Per-message context: what the extensions send to the model before the text of a person's message.

It is stored with the message as data, and rendered for each request by the extension that added it. What hooks add is
stored as text.
"""

from collections.abc import Collection, Mapping
from typing import Any

from chat import extensions
from chat.context import notices
from chat.extensions import ContextItem
from chat.models import ChatSession, Message

# The key in Message.meta, whose value is {name of the extension: [ContextItem, …]}.
META_KEY = "context"
# The key in Message.meta of the text that hooks added (chat/turns/hooks.py).
HOOK_TEXT_KEY = "hook_text"
# The key in Message.meta of what is left out of it (chat/context/lost.py).
LOST_KEY = "lost"


def add_context(session: ChatSession, message: Message, idle: Collection[str] = (), *, is_away: bool) -> None:
    """Ask each extension, except those named in `idle`, for its items for `message`, and store them, once: also when it
    is answered again. `is_away`: for a model that is sent no memory."""
    asked = extensions.installed_for(session, is_away=is_away)
    sources = [(each.name, each.message_context) for each in asked if each.message_context]
    if META_KEY in message.meta or not sources:
        return
    found = {name: source.items(session, message) for name, source in sources if name not in idle}
    meta = message.meta | {META_KEY: {name: items for name, items in found.items() if items}}
    Message.objects.filter(pk=message.pk).update(meta=meta)
    message.meta = meta


def text_of(meta: Mapping[str, Any]) -> str:
    """Return the text of the context in `meta`, a Message.meta; "" without one."""
    texts: list[str] = [meta.get(HOOK_TEXT_KEY, "")]
    if meta.get(META_KEY):
        sources = [(each.name, each.message_context) for each in extensions.installed() if each.message_context]
        texts = [source.render(items) for name, source in sources if (items := items_of(meta, name))] + texts
    if count := meta.get(LOST_KEY, {}).get("items"):
        texts.append(notices.LOST_ITEMS.format(count=count))
    return "\n\n".join(text for text in texts if text)


def items_of(meta: Mapping[str, Any], name: str) -> list[ContextItem]:
    """Return the items that the extension `name` stored in `meta`, a Message.meta."""
    items: list[ContextItem] = meta.get(META_KEY, {}).get(name, [])
    return items


def names_in(meta: Mapping[str, Any]) -> set[str]:
    """Return the names of the extensions that stored items in `meta`, a Message.meta."""
    return {name for name, items in meta.get(META_KEY, {}).items() if items}


def with_items(meta: Mapping[str, Any], name: str, items: list[ContextItem]) -> dict[str, Any]:
    """Return a copy of `meta` in which `items` replace those of the extension `name`."""
    return {**meta, META_KEY: {**meta.get(META_KEY, {}), name: items}}
