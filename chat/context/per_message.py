"""What travels with a person's message to the model, beside their words: kept with the message, so that a request is
built of the same bytes each time, and the system prompt before it stays in the provider's cache."""

from collections.abc import Callable

from chat.models import ChatSession, Message

# Of the installed apps, by name: each returns text for a message of a session, or nothing. Sync, may use the ORM.
companions: dict[str, Callable[[ChatSession, Message], str]] = {}

# Where Message.meta keeps it.
KEY = "beside"


def settle(session: ChatSession, message: Message) -> None:
    """Let every companion say what goes with this message, once: what was said stays, also for another attempt."""
    if KEY in message.meta or not companions:
        return
    texts = (companions[name](session, message) for name in sorted(companions))
    meta = message.meta | {KEY: "\n\n".join(text for text in texts if text)}
    Message.objects.filter(pk=message.pk).update(meta=meta)
    message.meta = meta
