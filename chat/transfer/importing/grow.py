"""Add to a conversation that was imported before what its export has more: after the last message that both have, or as
another branch where they differ."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import F, Max

from chat.models import ChatSession, Message, Turn
from chat.signals import session_imported
from chat.transfer.importing.conversation import Conversation, Said
from chat.transfer.importing.create import fill_times, store_messages
from oneclaw.models import User


@dataclass
class Matched:
    """Which of the stored messages each message of the export is: their rows by its index."""

    rows: dict[int, Message] = field(default_factory=dict)
    # The stored messages that the export does not have, without beginnings of answers of which it has the end.
    others: list[Message] = field(default_factory=list)


def grow_session(owner: User, session: ChatSession, conversation: Conversation) -> int:
    """Store the messages of `conversation` that the locked `session` does not have; return how many these are.

    The branch that its owner sees stays shown when they have gone on here; otherwise that of the export is shown.
    """
    said = conversation.messages
    stored = list(Message.objects.filter(session=session).defer("html", "text").order_by("seq"))
    fill_times(said, conversation.created_at or session.created_at)
    matched = matching(said, stored)
    added = [index for index in range(len(said)) if index not in matched.rows]
    if not added:
        return 0
    went_on_here = any(message.active for message in matched.others)
    if went_on_here:
        conversation.shown.clear()
    else:
        shown = [row.pk for index, row in matched.rows.items() if index in conversation.shown]
        session.messages.update(active=False)
        session.messages.filter(pk__in=shown).update(active=True)
    rows = {index: row.pk for index, row in matched.rows.items()}
    turns = {index: row.turn_id for index, row in matched.rows.items() if row.turn_id}
    was_read, before = session.read_seq >= session.last_seq, session.last_seq
    store_messages(session, conversation, added, rows, turns, attempts_made(stored))
    session.last_seq += len(added)
    session.read_seq = session.last_seq if was_read else session.read_seq
    session.active_at = max(session.active_at, *(said[index].finished_at or session.active_at for index in added))
    session.save(update_fields=["last_seq", "read_seq", "active_at"])
    session_imported.send(ChatSession, user=owner, session=session, after_seq=before)
    return len(added)


def matching(said: Sequence[Said], stored: Sequence[Message]) -> Matched:
    """Return which of the `stored` messages each of `said` is: the one with the same text, or else the same time, among
    those that follow the same message. Pure."""
    following: dict[int | None, list[Message]] = defaultdict(list)
    for message in stored:
        following[message.parent_id].append(message)
    found = Matched()
    begun: set[int] = set()
    for index, each in enumerate(said):
        if each.parent is not None and each.parent not in found.rows:
            continue
        before = found.rows[each.parent].pk if each.parent is not None else None
        alike = [row for row in following[before] if row.role == each.role]
        same = next((row for row in alike if text_of(row) == each.text), None) or next(
            (row for row in alike if row.created_at == each.created_at and not has_grown(row, each)), None
        )
        if same is not None:
            found.rows[index] = same
            following[before].remove(same)
        begun |= {row.pk for row in alike if same is None and has_grown(row, each)}
    found.others = [row for each in following.values() for row in each if row.pk not in begun]
    return found


def has_grown(row: Message, said: Said) -> bool:
    """Return whether the export has the end of an answer of which an earlier one had the beginning.

    One that was whole and is shorter now has lost what its owner asked to forget.
    """
    is_begun = row.status == Message.Status.INTERRUPTED
    return is_begun and said.text.startswith(text_of(row)) and len(said.text) > len(text_of(row))


def text_of(row: Message) -> str:
    """Return the words of a stored message."""
    return "\n\n".join(block["text"] for block in row.content if block["type"] == "text")


def attempts_made(stored: Sequence[Message]) -> Mapping[int, int]:
    """Return the number of the last attempt at each message of a person that has one."""
    numbers = Turn.objects.filter(prompt__in=[row.pk for row in stored]).values("prompt").annotate(last=Max("attempt"))
    return dict(numbers.values_list(F("prompt"), "last"))
