"""What a person may write instead of a message: one that is only /new, /reset or /end ends the conversation."""

import uuid

from chat import sessions
from oneclaw.models import User

# The command, and the reason with which the conversation ends.
COMMANDS = {"/new": "new", "/reset": "reset", "/end": "end"}


def reason_of(text: str) -> str | None:
    """Why `text` ends the conversation; None when it is an ordinary message."""
    return COMMANDS.get(text.strip().lower())


def obey(user: User, session_id: uuid.UUID, reason: str) -> None:
    """End the person's conversation; one that does not exist yet has nothing to end. Safe to run twice.

    Raises SessionNotFound for anybody else's.
    """
    session = sessions.find(user, session_id)
    if session is not None:
        sessions.end(session, reason)
