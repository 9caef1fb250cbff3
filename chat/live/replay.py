"""What a page missed, read from the rows: the frames after the last message that it has, or that it must reload."""

import uuid
from collections.abc import Iterable

from django.db.models import Max

from chat.conversations import versions
from chat.live.server_frames import DoneFrame, MessageFrame, done_frame, message_frame
from chat.models import Message, Turn
from chat.rendering.messages import cards_of

# A page that lacks more messages than this, or more characters of HTML, fetches the list instead of a replay: what a
# request brings waits for its reader on the wire, and not in this process.
REPLAY_MAX_MESSAGES = 50
REPLAY_MAX_CHARS = 1024 * 1024

ReplayFrame = MessageFrame | DoneFrame


def frames_after(owner_id: int, session_id: uuid.UUID, seq: int) -> tuple[list[ReplayFrame], int]:
    """Return the frames that a page of this person lacks if it has everything up to `seq`, and its new complete seq.

    The complete seq is the newest message before which nothing is still being written. A running answer is as of
    its last checkpoint, and has no `done`. An answer whose tools run is not complete: its cards will change. Sync.
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
        if message.role == Message.Role.TOOL:
            continue
        frames.append(message_frame(message, cards))
        if not running and message.role == Message.Role.ASSISTANT:
            final = message.turn is None or message.turn.status != Turn.Status.RUNNING
            frames.append(done_frame(message, final=final))
    return frames, complete_seq


def is_far_behind(owner_id: int, session_id: uuid.UUID, seq: int) -> bool:
    """Return whether a page that shows everything up to `seq` lacks more messages than are replayed. Sync."""
    lacking = Message.objects.filter(session=session_id, session__owner=owner_id, active=True, seq__gt=seq)
    return lacking.count() > REPLAY_MAX_MESSAGES


def is_too_much(frames: Iterable[ReplayFrame], complete_seq: int) -> bool:
    """Return whether a page that lacks these frames must fetch the list, which brings it up to `complete_seq`."""
    sizes = [len(frame["html"]) for frame in frames if frame["type"] == "message" and frame["seq"] <= complete_seq]
    return len(sizes) > REPLAY_MAX_MESSAGES or sum(sizes) > REPLAY_MAX_CHARS


def was_tried_again(owner_id: int, session_id: uuid.UUID, seq: int) -> bool:
    """Return whether a page that shows everything up to `seq` shows a message that left the shown branch: the one
    there, or one after the newest, which it may have seen beginning. Sync."""
    messages = Message.objects.filter(session=session_id, session__owner=owner_id)
    if messages.filter(active=False, seq=seq).exists():
        return True
    newest = messages.filter(active=True).aggregate(seq=Max("seq"))["seq"] or 0
    return newest > seq and messages.filter(active=False, seq__gt=newest).exists()
