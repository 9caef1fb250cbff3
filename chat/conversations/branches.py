"""The shown branch of a conversation: an edit adds a version of a message, and any version can be shown again.

Nothing is overwritten. Messages that share a parent are versions of each other; those on the shown branch are active.
"""

import uuid
from collections.abc import Sequence

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from chat.conversations import model_choice, presence, transcript
from chat.conversations.lifecycle import lock, lock_to_write, refuse_unless_writer
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.conversations.pasted import Ranges, ranges_of
from chat.conversations.shared import authors
from chat.models import ChatSession, Message, SessionRoute, Turn
from chat.signals import branch_shown
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.text import UserFacingError


class MessageNotShownError(UserFacingError):
    """The message is not on the shown branch, or does not exist."""

    wording = _("This message is no longer shown. Reload the conversation.")


@transaction.atomic
def edit(
    user: User,
    message_id: int,
    client_id: uuid.UUID,
    text: str,
    holder: uuid.UUID | None = None,
    choice: Choice = NO_CHOICE,
    *,
    pasted: Ranges | None = None,
) -> transcript.AcceptedMessage:
    """Store another version of the person's message `message_id`, with the same parent, and a running turn for it.

    `pasted` is what of `text` was pasted; None: what was before, as far as it is still there. The old version and what
    follows it leave the shown branch. Idempotent by `client_id`; the same `holder` again gets its own turn again. Raise
    MessageNotShownError when the message is not on the shown branch; ClientIdConflictError, SessionBusyError,
    SessionNotFoundError, ReadOnlySessionError, NotOfferedError as `transcript.accept`.
    """
    messages = Message.objects.visible_to(user).filter(pk=message_id, role=Message.Role.USER)
    message = messages.select_related("session").first()
    if message is None or not is_author(user, message):
        raise MessageNotShownError
    session = lock_to_write(user, message.session_id)
    if known := session.messages.filter(client_id=client_id).first():
        if known.text != text:
            raise transcript.ClientIdConflictError
        return transcript.AcceptedMessage(known, *(transcript.running_turn_of(session, holder) or (None, None)))
    transcript.refuse_if_busy(session)
    if not session.messages.filter(pk=message.pk, active=True).exists():
        raise MessageNotShownError
    model_choice.apply_choice(user.pk, session, choice)
    hide_from(session, message.seq)
    # The attachments are kept.
    attached = [block for block in message.content if block["type"] != "text"]
    content = [*attached, {"type": "text", "text": text}]
    if pasted is None:
        pasted = ranges_of(message.pasted_texts, text)
    edited = transcript.append(
        session,
        Message.Role.USER,
        parent=message.parent,
        client_id=client_id,
        content=content,
        text=text,
        **authors.columns(session, user, pasted),
    )
    turn, answer = transcript.begin_turn(session, edited, Turn.Kind.SEND, holder, asked_by=user)
    if session.route_id is not None:
        SessionRoute.objects.filter(pk=session.route_id, session=session).written()
    presence.set_current(user, session)
    notify_reset(session)
    return transcript.AcceptedMessage(edited, turn, answer)


@transaction.atomic
def show(user: User, message_id: int) -> ChatSession:
    """Show the branch through the message `message_id`, with the newest version at each later position.

    Raise MessageNotShownError when the person has no such message, SessionBusyError while an answer is running.
    """
    message = Message.objects.visible_to(user).filter(pk=message_id).first()
    if message is None:
        raise MessageNotShownError
    session = lock(user, message.session_id)
    if session.is_shared:
        refuse_unless_writer(user, session)
    transcript.refuse_if_busy(session)
    rows = list(session.messages.order_by("seq").values_list("pk", "parent_id", "active"))
    wanted = branch_through(message.pk, [(pk, parent) for pk, parent, _ in rows])
    shown = {pk for pk, _, active in rows if active}
    if wanted != shown:
        session.messages.filter(pk__in=shown - wanted).update(active=False)
        session.messages.filter(pk__in=wanted - shown).update(active=True)
        notify_reset(session)
        transaction.on_commit(lambda: branch_shown.send_robust(ChatSession, user=user, session=session))
    return session


def is_author(user: User, message: Message) -> bool:
    """Return whether `user` wrote `message`, whose session is loaded."""
    return (message.author_id or message.session.owner_id) == user.pk


def hide_from(session: ChatSession, seq: int) -> None:
    """Take the messages from `seq` on off the shown branch; their rows stay."""
    session.messages.filter(active=True, seq__gte=seq).update(active=False)


def notify_reset(session: ChatSession) -> None:
    """Notify every page that shows the conversation, on commit, to fetch its messages again."""
    pubsub.notify(f"session:{session.pk}", {"kind": "reset", "seq": session.last_seq, "owner": session.owner_id})


def branch_through(pk: int, rows: Sequence[tuple[int, int | None]]) -> set[int]:
    """Return the ids of `pk`, of the messages before it, and of the newest reply at each step after it. Pure.

    `rows` are (message id, parent id), oldest first.
    """
    parents = dict(rows)
    newest = {parent: child for child, parent in rows}
    branch = {pk}
    before = parents[pk]
    while before is not None:
        branch.add(before)
        before = parents[before]
    after = newest.get(pk)
    while after is not None:
        branch.add(after)
        after = newest.get(after)
    return branch
