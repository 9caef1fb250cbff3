"""The replay for a page that missed frames: read from the rows, or an instruction to reload."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from django.db.models import F, Q, Subquery

from chat.conversations import lifecycle
from chat.conversations.message_pages import cards_of
from chat.conversations.shown import read_shown
from chat.live.server_frames import DoneFrame, MessageFrame, done_frame, message_frame
from chat.models import Message, Turn
from oneclaw.models import User

# Above these limits (messages, characters of HTML) a page fetches the list by a request instead of a replay: a response
# that waits for a slow reader takes no memory of this process.
REPLAY_MAX_MESSAGES = 50
REPLAY_MAX_CHARS = 1024 * 1024

ReplayFrame = MessageFrame | DoneFrame


def frames_after(owner_id: int, session_id: uuid.UUID, seq: int) -> tuple[list[ReplayFrame], int]:
    """Return the frames for a page that has everything up to `seq` of the session of `owner_id`, and the page's new
    complete seq. The caller has checked that the person may see it.

    The complete seq is the newest message before the first incomplete one. A running answer is shown as of its last
    checkpoint, without `done`. An answer whose tools are running is incomplete: its cards will change. Sync.
    """
    own = Message.objects.filter(session_id=session_id, session__owner_id=owner_id)
    shown = read_shown(own.filter(active=True, seq__gt=seq).select_related("turn"))
    messages = [each.message for each in shown]
    cards = cards_of(messages)
    using_tools = {
        message.parent_id for message in messages if message.role == Message.Role.TOOL and message.is_running
    }
    frames: list[ReplayFrame] = []
    complete_seq, unbroken = seq, True
    for each in shown:
        message, running = each.message, each.message.is_running
        unbroken = unbroken and not running and message.pk not in using_tools
        if unbroken:
            complete_seq = message.seq
        if not message.is_said:
            continue
        frames.append(message_frame(each, cards))
        if not running and message.role == Message.Role.ASSISTANT:
            final = message.turn is None or message.turn.status != Turn.Status.RUNNING
            frames.append(done_frame(message, final=final))
    return frames, complete_seq


def updated_frame(owner_id: int, message_id: str) -> MessageFrame | None:
    """Return the frame of a finished message of the owner as it is now, with its cards; None without one. Sync."""
    own = Message.objects.filter(session__owner_id=owner_id, active=True)
    found = own.filter(pk=message_id).exclude(status=Message.Status.RUNNING).select_related("turn")
    for shown in read_shown(found):
        results = own.filter(parent=shown.message, role=Message.Role.TOOL)
        return message_frame(shown, cards_of([shown.message, *results]))
    return None


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

    That is the message `seq`, or one after the newest shown message, whose beginning the page may have got. Sync, one
    statement.
    """
    messages = Message.objects.filter(session=session_id, session__owner=owner_id)
    newest_shown = Message.objects.filter(session=session_id, active=True).order_by("-seq").values("seq")[:1]
    hidden = messages.filter(active=False).annotate(newest_shown=Subquery(newest_shown))
    return hidden.filter(Q(seq=seq) | Q(newest_shown__gt=seq, seq__gt=F("newest_shown"))).exists()


@dataclass(frozen=True)
class OpenPage:
    """The answer to `open`: what a page lacks of a conversation, or that it has to reload (`reset`)."""

    newest_seq: int
    reset: bool
    # Whose room it is: the owner of the session, or the person themselves when it does not exist yet.
    owner_id: int
    # The space that it is shared with.
    space_id: int | None = None
    frames: Sequence[ReplayFrame] = ()
    complete_seq: int = 0


def open_page(user: User, session_id: uuid.UUID, seq: int) -> OpenPage:
    """Make the session the person's current one, and return what a page that shows everything up to `seq` lacks. Sync.

    Two statements when it is the current one already and the page lacks nothing, which is so after most reconnects.
    Raise SessionNotFoundError.
    """
    session = lifecycle.open_session(user, session_id)
    if session is None and seq:
        raise lifecycle.SessionNotFoundError
    newest, owner_id = (session.last_seq, session.owner_id) if session else (0, user.pk)
    space_id = session.space_id if session and session.is_shared else None
    page = partial(OpenPage, newest, owner_id=owner_id, space_id=space_id)
    if seq > newest or (newest - seq > REPLAY_MAX_MESSAGES and is_far_behind(owner_id, session_id, seq)):
        return page(reset=True)
    if seq and shows_hidden_message(owner_id, session_id, seq):
        return page(reset=True)
    if seq == newest:
        return page(reset=False, complete_seq=seq)
    frames, complete_seq = frames_after(owner_id, session_id, seq)
    if is_too_much(frames, complete_seq):
        return page(reset=True)
    return page(reset=False, frames=frames, complete_seq=complete_seq)
