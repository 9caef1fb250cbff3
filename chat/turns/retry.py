"""Another attempt at an answer: retry or continue it. Each attempt has new rows; nothing is overwritten."""

import uuid

from django.db import transaction

from chat.context import notices
from chat.conversations import branches, lifecycle, model_choice
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.conversations.transcript import append, begin_turn, refuse_if_busy, running_turn_of
from chat.models import Message, Turn
from oneclaw.models import User


class NothingToRepeatError(Exception):
    """The answer is not the last one of its conversation, or belongs to another person."""


@transaction.atomic
def repeat(
    user: User, message_id: int, kind: str, holder: uuid.UUID | None = None, choice: Choice = NO_CHOICE
) -> tuple[Turn, Message]:
    """Store a new turn for the user message that `message_id` answers; return it and the placeholder of its answer.

    `kind` is Turn.Kind.RETRY: the earlier attempt leaves the shown branch, its rows stay; or CONTINUE: the new answer
    follows it, after a notice to the model. `message_id` may also be a user message without an answer, as at the end
    of a fork. The same `holder` again gets its own turn again. `choice` may name another model from now on.

    Raise NothingToRepeatError, SessionBusyError, lifecycle.ReadOnlySessionError, model_choice.NotOfferedError.
    """
    message = Message.objects.visible_to(user).select_related("turn").filter(pk=message_id).first()
    if message is None:
        raise NothingToRepeatError
    session = lifecycle.lock_to_write(user, message.session_id)
    if mine := running_turn_of(session, holder):
        return mine
    refuse_if_busy(session)
    # An answer that another tab has retried meanwhile is not the last one either.
    last = session.messages.shown().last()
    if last == message and message.role == Message.Role.USER:
        model_choice.apply_choice(user.pk, session, choice)
        return begin_turn(session, message, Turn.Kind.RETRY, holder, asked_by=user)
    if last is None or message.turn is None or last.turn_id != message.turn_id:
        raise NothingToRepeatError
    model_choice.apply_choice(user.pk, session, choice)
    prompt = message.turn.prompt
    if kind == Turn.Kind.CONTINUE:
        notice = append(session, Message.Role.NOTICE, parent=last, content=[notices.CONTINUE])
        return begin_turn(session, prompt, kind, holder, parent=notice, asked_by=user)
    branches.hide_from(session, prompt.seq + 1)
    turn, answer = begin_turn(session, prompt, kind, holder, asked_by=user)
    branches.notify_reset(session)
    return turn, answer
