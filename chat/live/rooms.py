"""Who is looking at a session right now, in this process: frames go from the running turn straight to its sockets.

Token deltas never leave the process. Other processes get a hint and read the rows (`catch_up`).
"""

import asyncio
import logging
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import Error
from django.db.models import Max
from django.utils import translation
from django.utils.translation import get_language, gettext_lazy

from chat.conversations import versions
from chat.live.outbox import Frame, Outbox, encode
from chat.models import Message
from chat.rendering.messages import cards_of, message_html
from oneclaw import pubsub
from oneclaw.threads import in_database

if TYPE_CHECKING:
    from chat.live.publisher import Broadcast

logger = logging.getLogger(__name__)

# A page that lacks more messages than this, or more characters of HTML, fetches the list instead of a replay: what a
# request brings waits for its reader on the wire, and not in this process.
LONGEST_REPLAY = 50
LARGEST_REPLAY = 1024 * 1024


class Room:
    """A person's sockets that show one session in this process, and the turn that this process runs for it, if any.

    Whoever opened the id before its session existed stands in a room of their own: nothing that is said arrives there.
    """

    def __init__(self, owner_id: int, session_id: uuid.UUID) -> None:
        self.owner_id, self.session_id = owner_id, session_id
        # Hints are heard in nobody's language.
        self.language = settings.LANGUAGE_CODE
        self.outboxes: set[Outbox] = set()
        self.running: Broadcast | None = None
        # The newest message with nothing running before it that every socket here has been sent.
        self.settled_seq = 0
        # The last turn that ran here, which tells everything itself: a hint about what it wrote brings nothing new.
        self.told_by: int | None = None
        # Whether a hint by somebody else was not followed, because a turn was running here.
        self.behind = False
        # Whether hints were lost since the rows were read last.
        self._missed = False
        # Counts what was published apart from growing blocks, so that a reader of rows sees whether they are stale.
        self.version = 0
        self._catching_up: asyncio.Task[None] | None = None
        self._changed_again = False
        self._unsubscribe = pubsub.subscribe(f"session:{session_id}", self._hinted)

    @property
    def key(self) -> tuple[int, uuid.UUID]:
        return self.owner_id, self.session_id

    def publish(self, frame: Frame, key: object = None) -> None:
        if key is None:
            self.version += 1
        if self.outboxes:
            text = encode(frame)
            for outbox in self.outboxes:
                outbox.offer(text, key)

    def publish_whole(self, frames: Iterable[Frame]) -> None:
        """What belongs together and may be large, such as a finished answer: it leaves in one go."""
        self.version += 1
        texts = [(encode(frame), None) for frame in frames] if self.outboxes else []
        for outbox in self.outboxes:
            outbox.owe(texts)

    def leave(self, outbox: Outbox) -> None:
        self.outboxes.discard(outbox)
        self.close_if_empty()

    def close_if_empty(self) -> None:
        if not self.outboxes and self.running is None and rooms.get(self.key) is self:
            del rooms[self.key]
            self._unsubscribe()

    async def read_rows(self, seq: int) -> tuple[list[Frame], int]:
        """`frames_after`, as of one moment: read again when something was published meanwhile."""
        while True:
            version = self.version
            found = await in_database(frames_after, self.owner_id, self.session_id, seq)
            if self.version == version:
                return found

    def with_growing(self, frames: list[Frame]) -> list[Frame]:
        """These frames of rows, and the answer that grows here: as it is now, instead of as it was saved."""
        growing = self.running.growing_frames() if self.running else []
        # Once the rows know its end, what grew here is older.
        if not growing or any(frame["type"] == "done" and frame["message"] == growing[0]["id"] for frame in frames):
            return frames
        return [frame for frame in frames if frame.get("id") != growing[0]["id"]] + growing

    def _hinted(self, payload: dict[str, Any]) -> None:
        """Some process changed the session's rows, or asks its running turn to stop."""
        if payload.get("owner", self.owner_id) != self.owner_id:
            return  # the session turned out to be somebody else's
        if payload["kind"] == "stop":
            if self.running is not None:
                self.running.stop(payload["turn"])
        elif payload["kind"] == "reset":
            self.publish(ready_frame(self.session_id, payload["seq"], reset=True))
        elif payload["kind"] == "deleted":
            with translation.override(self.language):
                self.publish({"type": "error", "code": "not_found", "text": str(GONE), "retry_after": None})
            if self.running is not None:
                self.running.stop(None)
        elif payload == pubsub.MISSED:
            self._missed = True
            self.refresh()
        elif payload.get("turn") is None or payload["turn"] != self.told_by:
            self.refresh()

    def refresh(self) -> None:
        """Read the rows again, for whoever is looking, unless a turn here tells everything itself."""
        if self._catching_up is not None:
            self._changed_again = True
        elif self.running is not None:
            self.behind = True
        elif self.outboxes:
            self.behind = False
            self._catching_up = asyncio.create_task(self._catch_up())

    async def _shows_another_branch(self) -> bool:
        """A hint that another branch is shown now may be among the lost ones."""
        return await in_database(was_tried_again, self.owner_id, self.session_id, self.settled_seq)

    async def _catch_up(self) -> None:
        """Send what another process wrote to the sockets here. A running answer arrives as of its checkpoint."""
        try:
            while self.outboxes:
                self._changed_again = False
                try:
                    with translation.override(self.language):
                        frames, settled = await self.read_rows(self.settled_seq)
                except Error:
                    logger.warning("The database is away; reading again soon.", exc_info=True)
                    await asyncio.sleep(1)
                    continue
                if self.running is not None:
                    self.behind = True
                    return
                if is_too_much(frames, settled) or (self._missed and await self._shows_another_branch()):
                    frames = [ready_frame(self.session_id, settled, reset=True)]
                texts = [(encode(frame), (frame["type"], frame.get("id") or frame.get("message"))) for frame in frames]
                for outbox in self.outboxes:
                    outbox.owe(texts)
                self.settled_seq = max(self.settled_seq, settled)
                self._missed = False
                if not self._changed_again:
                    return
        finally:
            self._catching_up = None


GONE = gettext_lazy("This conversation was deleted.")

rooms: dict[tuple[int, uuid.UUID], Room] = {}


def room_of(owner_id: int, session_id: uuid.UUID) -> Room:
    """The person's room. What it says by itself is in the language of whoever came last."""
    key = owner_id, session_id
    if key not in rooms:
        rooms[key] = Room(owner_id, session_id)
    rooms[key].language = get_language() or settings.LANGUAGE_CODE
    return rooms[key]


def ack_frame(message: Message, *, duplicate: bool) -> Frame:
    return {
        "type": "ack",
        "client_id": str(message.client_id),
        "message": str(message.pk),
        "seq": message.seq,
        "duplicate": duplicate,
    }


def ended_frame(session_id: uuid.UUID, client_id: uuid.UUID, reason: str) -> Frame:
    return {"type": "ended", "client_id": str(client_id), "session": str(session_id), "reason": reason}


def message_frame(message: Message, results: dict[str, dict] | None = None) -> Frame:
    html = message_html(message, results)
    return {"type": "message", "seq": message.seq, "id": str(message.pk), "html": html}


def ready_frame(session_id: uuid.UUID, seq: int, *, reset: bool) -> Frame:
    """The session is open; with `reset` the page's list is out of date, and it fetches the list and opens again."""
    return {"type": "ready", "session": str(session_id), "seq": seq, "reset": reset}


def done_frame(message: Message, *, final: bool) -> Frame:
    return {
        "type": "done",
        "message": str(message.pk),
        "status": message.status,
        "usage": message.usage,
        "final": final,
    }


def is_far_behind(owner_id: int, session_id: uuid.UUID, seq: int) -> bool:
    """Whether a page that shows everything up to `seq` lacks more than is replayed. Sync."""
    lacking = Message.objects.filter(session=session_id, session__owner=owner_id, active=True, seq__gt=seq)
    return lacking.count() > LONGEST_REPLAY


def is_too_much(frames: Iterable[Frame], settled: int) -> bool:
    """Whether a page that lacks these frames better fetches the list, which brings it up to `settled`."""
    sizes = [len(frame["html"]) for frame in frames if frame["type"] == "message" and frame["seq"] <= settled]
    return len(sizes) > LONGEST_REPLAY or sum(sizes) > LARGEST_REPLAY


def was_tried_again(owner_id: int, session_id: uuid.UUID, seq: int) -> bool:
    """Whether a page that shows everything up to this place shows something that is not shown any more: the message
    there, or one after the newest, which it may have seen beginning. Sync."""
    messages = Message.objects.filter(session=session_id, session__owner=owner_id)
    if messages.filter(active=False, seq=seq).exists():
        return True
    newest = messages.filter(active=True).aggregate(seq=Max("seq"))["seq"] or 0
    return newest > seq and messages.filter(active=False, seq__gt=newest).exists()


def frames_after(owner_id: int, session_id: uuid.UUID, seq: int) -> tuple[list[Frame], int]:
    """What a page of this person lacks that shows everything up to `seq`: the frames, and the new settled seq. Sync.

    A running answer is as of its last checkpoint; its `done` is still to come. An answer whose tools run is not
    settled, because its cards will change.
    """
    theirs = Message.objects.filter(session_id=session_id, session__owner_id=owner_id)
    messages = list(theirs.filter(active=True, seq__gt=seq).select_related("turn").order_by("seq"))
    versions.mark(messages)
    results = cards_of(messages)
    using_tools = {
        message.parent_id for message in messages if message.role == Message.Role.TOOL and message.is_running
    }
    frames: list[Frame] = []
    settled, unbroken = seq, True
    for message in messages:
        running = message.is_running
        unbroken = unbroken and not running and message.pk not in using_tools
        if unbroken:
            settled = message.seq
        if message.role == Message.Role.TOOL:
            continue
        frames.append(message_frame(message, results))
        if not running and message.role == Message.Role.ASSISTANT:
            final = message.turn is None or message.turn.status != "running"
            frames.append(done_frame(message, final=final))
    return frames, settled
