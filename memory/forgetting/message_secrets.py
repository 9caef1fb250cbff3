"""Take a secret that memory has masked out of the messages of its conversation, when the person asks for it."""

from typing import Any

from django.db import transaction

from chat.models import ChatSession, ContextRound, Message
from chat.rendering.messages import html_columns
from memory.forgetting import summaries
from memory.forgetting.conversations import remove_signatures
from memory.index import conversations as conversation_index
from memory.policy.secrets import masked
from oneclaw.audit.holds import HeldError


@transaction.atomic
def take_out(session: ChatSession) -> int:
    """Mask the secrets in what the person and the assistant wrote in `session`, in tool calls and results, in the title
    and in summaries; return how many messages have changed. Idempotent.

    What the model was sent before changes with it, so its earlier thinking is not sent any more. Raise
    oneclaw.audit.holds.HeldError when a legal hold keeps the conversation.
    """
    if ChatSession.objects.filter(pk=session.pk).held().exists():
        raise HeldError
    locked = ChatSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    changed = 0
    cards: dict[str, Any] = {}
    for message in Message.objects.filter(session=locked).finished().order_by("seq"):
        cards |= message.meta.get("cards", {})
        fresh: dict[str, Any] = {}
        for name in ("content", "text", "meta"):
            value = getattr(message, name)
            if (clean := _without_secrets(value)) != value:
                fresh[name] = clean
        if fresh:
            changed += 1
            if message.html_version:
                fresh |= html_columns(fresh.get("content", message.content), _without_secrets(cards))
            Message.objects.filter(pk=message.pk).update(**fresh)
    ChatSession.objects.filter(pk=locked.pk).update(title=masked(locked.title)[0])
    if changed:
        rounds = ContextRound.objects.filter(session=locked)
        for each in rounds:
            columns = {name: getattr(each, name) for name in ("summary", "supplement", "steps", "focus")}
            fresh_columns = {name: _without_secrets(value) for name, value in columns.items()}
            if fresh_columns != columns:
                ContextRound.objects.filter(pk=each.pk).update(**fresh_columns)
        summaries.drop_blocks(rounds)
        summaries.restart(rounds)
        remove_signatures(locked)
        conversation_index.rebuild({locked.pk})
    return changed


def _without_secrets(value: Any) -> Any:
    """Return the JSON `value` with the secrets masked in every string, but for those that the API signed."""
    if isinstance(value, str):
        return masked(value)[0]
    if isinstance(value, list):
        return [_without_secrets(part) for part in value]
    if isinstance(value, dict):
        kept = ("signature", "data", "id", "type", "tool_use_id")
        return {name: part if name in kept else _without_secrets(part) for name, part in value.items()}
    return value
