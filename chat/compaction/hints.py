"""Tell open pages that a context round of their conversation has changed."""

from chat.models import ChatSession
from oneclaw import pubsub


def notify(session: ChatSession) -> None:
    """Send the hint that a round of `session` began, ended or changed, when the surrounding transaction commits."""
    pubsub.notify(f"session:{session.pk}", {"kind": "rounds", "owner": session.owner_id})
