"""Per-message context: what the extensions send to the model with a person's message, before the person's words.

It is kept with the message, so that a request is built of the same bytes each time, and the provider's cache keeps
working.
"""

from chat import extensions
from chat.models import ChatSession, Message

# Where Message.meta keeps it.
KEY = "beside"


def add_context(session: ChatSession, message: Message) -> None:
    """Ask each extension what goes with this message, and store it: once, also when the message is answered again."""
    sources = [extension.message_context for extension in extensions.installed() if extension.message_context]
    if KEY in message.meta or not sources:
        return
    texts = (source(session, message) for source in sources)
    meta = message.meta | {KEY: "\n\n".join(text for text in texts if text)}
    Message.objects.filter(pk=message.pk).update(meta=meta)
    message.meta = meta
