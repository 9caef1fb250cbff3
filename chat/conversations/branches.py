"""Which branch of a conversation is shown: a message is said anew beside the old one, and any version comes back.

Nothing is overwritten. Messages that share a parent are versions of each other; those on the shown branch are active.
"""

import uuid
from collections.abc import Sequence

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from chat.conversations import model_choice, presence, transcript, versions
from chat.conversations.lifecycle import lock
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.models import ChatSession, Message, Turn
from chat.signals import branch_shown
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.text import Told


class NotShown(Told):
    """The message is not shown any more."""

    words = _("This message is no longer shown. Reload the conversation.")


@transaction.atomic
def edit(
    user: User,
    message_id: int,
    client_id: uuid.UUID,
    text: str,
    holder: uuid.UUID | None = None,
    choice: Choice = NO_CHOICE,
) -> transcript.Accepted:
    """Say a message of one's own anew: another one with the same parent, and a running turn for it.

    The old one and what followed it leave the shown branch. Once per client_id, as `transcript.accept`, and it raises
    what that raises; NotShown when there is no such message on the shown branch.
    """
    message = Message.objects.visible_to(user).filter(pk=message_id, role=Message.Role.USER).first()
    if message is None:
        raise NotShown
    session = lock(user, message.session_id)
    if known := session.messages.filter(client_id=client_id).first():
        if known.text != text:
            raise transcript.Conflict
        return transcript.Accepted(known, *(transcript.running_of(session, holder) or (None, None)))
    transcript.end_abandoned_or_refuse(session)
    if not session.messages.filter(pk=message.pk, active=True).exists():
        raise NotShown
    model_choice.settle(session, choice)
    leave(session, message.seq)
    # What was attached stays attached.
    attached = [block for block in message.content if block["type"] != "text"]
    content = [*attached, {"type": "text", "text": text}]
    said = transcript.append(
        session, Message.Role.USER, parent=message.parent, client_id=client_id, content=content, text=text
    )
    turn, answer = transcript.begin(session, said, Turn.Kind.SEND, holder)
    presence.settle_in(user, session)
    versions.mark([said])
    tell(session)
    return transcript.Accepted(said, turn, answer)


@transaction.atomic
def show(user: User, message_id: int) -> ChatSession:
    """Show the branch through this message, and from there on its newest version. Raises NotShown, Busy."""
    message = Message.objects.visible_to(user).filter(pk=message_id).first()
    if message is None:
        raise NotShown
    session = lock(user, message.session_id)
    transcript.end_abandoned_or_refuse(session)
    rows = list(session.messages.order_by("seq").values_list("pk", "parent_id", "active"))
    wanted = branch_through(message.pk, [(pk, parent) for pk, parent, _ in rows])
    shown = {pk for pk, _, active in rows if active}
    if wanted != shown:
        session.messages.filter(pk__in=shown - wanted).update(active=False)
        session.messages.filter(pk__in=wanted - shown).update(active=True)
        tell(session)
        transaction.on_commit(lambda: branch_shown.send_robust(ChatSession, user=user, session=session))
    return session


def leave(session: ChatSession, seq: int) -> None:
    """What is shown from place `seq` on leaves the page and the prompt, and stays in the database."""
    session.messages.filter(active=True, seq__gte=seq).update(active=False)


def tell(session: ChatSession) -> None:
    """Every page that shows this conversation fetches its list anew, on commit."""
    pubsub.notify(f"session:{session.pk}", {"kind": "reset", "seq": session.last_seq, "owner": session.owner_id})


def branch_through(pk: int, rows: Sequence[tuple[int, int | None]]) -> set[int]:
    """`pk`, the messages before it, and after it always the newest. `rows`: (message, parent), oldest first. Pure."""
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
