"""Read one element of a file as a conversation, from any supported program."""

import logging
from collections.abc import Callable
from typing import Any

from chat.transfer.importing import chatgpt, claude, librechat, open_webui, own
from chat.transfer.importing.conversation import Conversation
from chat.transfer.importing.json_stream import Element, Splitter
from chat.transfer.importing.nested import decoded
from chat.transfer.importing.reasons import MAX_MESSAGES, NotImportableError

logger = logging.getLogger(__name__)

# Levels of lists and objects around conversations.
WRAPPERS_MAX_LEVELS = 5

Reader = Callable[[dict[str, Any]], Conversation]


def conversation_of(raw: bytes, file_block: own.FileBlock = own.no_file) -> Conversation:
    """Return the conversation of one element, in JSON; `file_block` is asked for its files.

    Raise NotImportableError when it is invalid or of an unknown format.
    """
    try:
        value = decoded(raw)
    except ValueError:
        raise NotImportableError("broken") from None
    reader = _reader_of(value)
    if reader is None:
        raise NotImportableError("unknown")
    try:
        conversation = own.conversation(value, file_block) if reader is own.conversation else reader(value)
    except RecursionError:
        raise NotImportableError("too_deep") from None
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # Shapes that no reader expects are without end. Nothing of what is in it gets into the log.
        logger.warning("A conversation has another shape than its format: %s", type(error).__name__)
        raise NotImportableError("unknown") from None
    if not any(said.content for said in conversation.messages):
        raise NotImportableError("empty")
    if len(conversation.messages) > MAX_MESSAGES:
        raise NotImportableError("too_many")
    return conversation


def title_of(raw: bytes) -> str:
    """Return the title of a skipped conversation; "" when it cannot be read."""
    try:
        value = decoded(raw)
    except ValueError:
        return ""
    found = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    return found[:200] if isinstance(found, str) else ""


def unwrapped(element: Element, levels: int = WRAPPERS_MAX_LEVELS) -> list[Element]:
    """Return the conversations in `element`, which is one or wraps them in lists and objects, undecoded; `element`
    itself when there is none in it, so that it is reported."""
    return _inside(element, levels) or [element]


def _inside(element: Element, levels: int) -> list[Element]:
    raw, refused = element
    try:
        value = None if refused else decoded(raw)
    except ValueError:
        return []
    if _reader_of(value):
        return [element]
    if not levels or not isinstance(value, dict | list):
        return []
    parts = list(Splitter(level=1).take(raw))
    found = [_inside(part, levels - 1) for part in parts]
    if isinstance(value, list) and any(found):
        # What stands beside conversations is reported.
        found = [inside or [part] for inside, part in zip(found, parts, strict=True)]
    return [each for inside in found for each in inside]


def _reader_of(value: object) -> Reader | None:
    """Return the function that reads `value`; None when it is no conversation of a known format."""
    if not isinstance(value, dict):
        return None
    if value.get("format") == own.FORMAT:
        return own.conversation
    if isinstance(value.get("mapping"), dict):
        return chatgpt.conversation
    if isinstance(value.get("chat_messages"), list):
        return claude.conversation
    if "conversationId" in value or isinstance(value.get("messagesTree"), list):
        return librechat.conversation
    if isinstance(value.get("chat"), dict) or isinstance(value.get("history"), dict):
        return open_webui.conversation
    # Many programs write such a list.
    listed = value.get("messages")
    is_list = isinstance(listed, list) and any(isinstance(each, dict) and "role" in each for each in listed)
    return open_webui.conversation if is_list else None
