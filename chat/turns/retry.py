"""Another attempt at an answer: retry it, or continue it. New rows each time; nothing is overwritten."""

import uuid

from django.db import transaction

from chat.conversations import branches, lifecycle, model_choice, versions
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.conversations.transcript import begin, end_abandoned_or_refuse, running_of
from chat.models import Message, Turn
from oneclaw.models import User


class NothingToRepeatError(Exception):
    """The answer is not the last one of its conversation, or another person's."""


@transaction.atomic
def again(
    user: User, message_id: int, kind: str, holder: uuid.UUID | None = None, choice: Choice = NO_CHOICE
) -> tuple[Turn, Message]:
    """Return a new turn for the user message that `message_id` answered, and the placeholder of the new answer.

    `kind` is Turn.Kind.RETRY: the earlier attempt leaves the page and the prompt, but stays in the database; or
    CONTINUE: it stays where it is and the new answer follows it. A user message that nothing answers, as at the end of
    a fork, is answered. The same `holder` again gets its own turn again. `choice` may name another model from now on.
    Raises NothingToRepeatError, Busy, model_choice.NotOffered.
    """
    message = Message.objects.visible_to(user).select_related("turn").filter(pk=message_id).first()
    if message is None:
        raise NothingToRepeatError
    session = lifecycle.lock(user, message.session_id)
    if mine := running_of(session, holder):
        return mine
    end_abandoned_or_refuse(session)
    # Also an answer that another tab has repeated meanwhile is not the last one.
    last = session.messages.shown().last()
    if last == message and message.role == Message.Role.USER:
        model_choice.settle(session, choice)
        return begin(session, message, Turn.Kind.RETRY, holder)
    if last is None or message.turn is None or last.turn_id != message.turn_id:
        raise NothingToRepeatError
    model_choice.settle(session, choice)
    prompt = message.turn.prompt
    if kind == Turn.Kind.CONTINUE:
        return begin(session, prompt, kind, holder, parent=last)
    branches.leave(session, prompt.seq + 1)
    turn, answer = begin(session, prompt, kind, holder)
    versions.mark([answer])
    branches.tell(session)
    return turn, answer
