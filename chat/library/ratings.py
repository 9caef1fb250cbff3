"""Rate an answer as good or bad, with an optional reason, or take the rating back."""

from chat.models import Message, Rating
from oneclaw.text import replace_unstorable


def rate(message: Message, is_good: bool) -> None:
    """Store that the owner of the finished answer `message`, whose session is loaded, thinks it good or bad."""
    about = {"agent_id": message.session.agent_id, "model": message.model, "is_good": is_good}
    Rating.objects.update_or_create(message=message, defaults=about)


def give_reason(message: Message, reason: str) -> None:
    """Store why the answer was rated so."""
    text = replace_unstorable(reason.strip())[: Rating.REASON_MAX_CHARS]
    Rating.objects.filter(message=message).update(reason=text)


def take_back(message: Message) -> None:
    """Delete the rating of the answer."""
    Rating.objects.filter(message=message).delete()
