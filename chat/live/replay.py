"""The replay for a page that missed frames: read from the rows, or an instruction to reload."""

import uuid
from collections.abc import Iterable

from django.db.models import Max

from chat.conversations import versions
from chat.conversations.message_pages import cards_of
from chat.live.server_frames import DoneFrame, MessageFrame, done_frame, message_frame
from chat.models import Message, Turn

# Above these limits (messages, characters of HTML) a page fetches the list by a request instead of a replay: a response
# that waits for a slow reader takes no memory of this process.
REPLAY_MAX_MESSAGES = 50
REPLAY_MAX_CHARS = 1024 * 1024

ReplayFrame = MessageFrame | DoneFrame


def frames_after(owner_id: int, session_id: uuid.UUID, seq: int) -> tuple[list[ReplayFrame], int]:
    """Return the frames for a page of the owner that has everything up to `seq`, and the page's new complete seq.

    The complete seq is the newest message before the first incomplete one. A running answer is shown as of its last
    checkpoint, without `done`. An answer whose tools are running is incomplete: its cards will change. Sync.
    """
    own = Message.objects.filter(session_id=session_id, session__owner_id=owner_id)
    messages = list(own.filter(active=True, seq__gt=seq).select_related("turn").order_by("seq"))
    versions.mark(messages)
    cards = cards_of(messages)
    using_tools = {
        message.parent_id for message in messages if message.role == Message.Role.TOOL and message.is_running
    }
    frames: list[ReplayFrame] = []
    complete_seq, unbroken = seq, True
    for message in messages:
        running = message.is_running
        unbroken = unbroken and not running and message.pk not in using_tools
        if unbroken:
            complete_seq = message.seq
        if not message.is_said:
            continue
        frames.append(message_frame(message, cards))
        if not running and message.role == Message.Role.ASSISTANT:
            final = message.turn is None or message.turn.status != Turn.Status.RUNNING
            frames.append(done_frame(message, final=final))
    return frames, complete_seq


def updated_frame(owner_id: int, message_id: str) -> MessageFrame | None:
    """Return the frame of a finished message of the owner as it is now, with its cards; None without one. Sync."""
    own = Message.objects.filter(session__owner_id=owner_id, active=True).select_related("turn")
    message = own.filter(pk=message_id).exclude(status=Message.Status.RUNNING).first()
    if message is None:
        return None
    versions.mark([message])
    return message_frame(message, cards_of([message, *own.filter(parent=message, role=Message.Role.TOOL)]))


def is_far_behind(owner_id: int, session_id: uuid.UUID, seq: int) -> bool:
    """Return whether a page that shows everything up to `seq` lacks more messages than are replayed. Sync."""
    lacking = Message.objects.filter(session=session_id, session__owner=owner_id, active=True, seq__gt=seq)
    return lacking.count() > REPLAY_MAX_MESSAGES


def is_too_much(frames: Iterable[ReplayFrame], complete_seq: int) -> bool:
    """Return whether `frames` up to `complete_seq` exceed the limits of a replay, so that the page must reload."""
    sizes = [len(frame["html"]) for frame in frames if frame["type"] == "message" and frame["seq"] <= complete_seq]
    return len(sizes) > REPLAY_MAX_MESSAGES or sum(sizes) > REPLAY_MAX_CHARS


def shows_hidden_message(owner_id: int, session_id: uuid.UUID, seq: int) -> bool:
    """Return whether a page that shows everything up to `seq` shows a message that is not on the shown branch any more.

    That is the message `seq`, or one after the newest shown message, whose beginning the page may have got. Sync.
    """
    messages = Message.objects.filter(session=session_id, session__owner=owner_id)
    if messages.filter(active=False, seq=seq).exists():
        return True
    newest = messages.filter(active=True).aggregate(seq=Max("seq"))["seq"] or 0
    return newest > seq and messages.filter(active=False, seq__gt=newest).exists()
