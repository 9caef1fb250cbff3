"""What a person sends: words, files, or both. The same rule for the socket, a plain request and a form."""

import uuid
from dataclasses import dataclass

from django.conf import settings

from chat.attachments import store
from chat.turns import commands
from oneclaw.text import checked


@dataclass(frozen=True)
class Composed:
    """A message as it was written; `text` may be "" when there are files."""

    text: str
    files: tuple[uuid.UUID, ...] = ()

    @classmethod
    def read(cls, text: object, files: object = None) -> "Composed":
        """Raises oneclaw.text.BadText: neither words nor files, or what is wrong with them."""
        ids = tuple(store.ids_of(files)) if files is not None else ()
        words = checked(text, longest=settings.MESSAGE_LENGTH, may_be_blank=bool(ids))
        return cls(words if words.strip() else "", ids)

    @property
    def ends_because(self) -> str | None:
        """Why it ends the conversation, as a command does; None when it is an ordinary message."""
        return None if self.files else commands.reason_of(self.text)
