"""Read one element of a file as a conversation, from any supported program."""

import json
import logging

from chat.transfer.importing import chatgpt, claude, librechat, open_webui, own
from chat.transfer.importing.conversation import Conversation
from chat.transfer.importing.reasons import MAX_MESSAGES, NotImportableError
from oneclaw.text import replace_unstorable_in_json

logger = logging.getLogger(__name__)


def conversation_of(raw: bytes, file_block: own.FileBlock = own.no_file) -> Conversation:
    """Return the conversation of one element, in JSON; `file_block` is asked for its files.

    Raise NotBrought when it is invalid or of an unknown format.
    """
    try:
        value = replace_unstorable_in_json(json.loads(raw))
    except (ValueError, RecursionError):
        raise NotImportableError("broken") from None
    if not isinstance(value, dict):
        raise NotImportableError("unknown")
    try:
        conversation = _read(value, file_block)
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
        value = replace_unstorable_in_json(json.loads(raw))
    except (ValueError, RecursionError):
        return ""
    found = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    return found[:200] if isinstance(found, str) else ""


def _read(value: dict[str, object], file_block: own.FileBlock) -> Conversation:
    if value.get("format") == own.FORMAT:
        return own.conversation(value, file_block)
    if isinstance(value.get("mapping"), dict):
        return chatgpt.conversation(value)
    if isinstance(value.get("chat_messages"), list):
        return claude.conversation(value)
    if isinstance(value.get("chat"), dict):
        return open_webui.conversation(value)
    if "conversationId" in value:
        return librechat.conversation(value)
    raise NotImportableError("unknown")
