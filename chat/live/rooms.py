"""Rooms: the open sockets of each session in this process, to which the running turn sends its frames.

Text deltas never leave the process. Other processes get a hint and read the rows.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.db import Error
from django.utils import translation
from django.utils.translation import get_language, gettext_lazy

from chat.conversations.shared import queue
from chat.live.company import Company
from chat.live.growing_blocks import GrowingBlock
from chat.live.members import Members
from chat.live.outbox import Outbox
from chat.live.replay import ReplayFrame, frames_after, is_too_much, shows_hidden_message, updated_frame
from chat.live.server_frames import (
    ROUNDS_CHANGED,
    SHARING_CHANGED,
    MessageFrame,
    QueueFrame,
    ServerFrame,
    encode,
    error_frame,
    queue_frame,
    ready_frame,
    waiting_frame,
)
from oneclaw import pubsub
from oneclaw.threads import in_database

R = TypeVar("R")

logger = logging.getLogger(__name__)

DELETED = gettext_lazy("This conversation was deleted.")
DATABASE_RETRY_SECONDS = 1


class LiveTurn(Protocol):
    """The interface of a running turn that its room uses."""

    is_waiting: bool

    def stop(self, turn_id: int | None) -> None:
        """Stop the turn if its id is `turn_id`, or if `turn_id` is None."""

    def message_frame(self) -> MessageFrame:
        """Return the frame of the running answer's placeholder."""

    def blocks(self) -> list[GrowingBlock]:
        """Return the running answer's blocks as they are now, for a page that is sent its placeholder before."""


class Room:
    """The sockets that show one session in this process, and the turn that this process runs for it, if any.

    They are of its owner and, when it is shared, of members of its space. A person who opened the id before another
    person created its session has a separate room, which gets no frames.
    """

    def __init__(self, owner_id: int, session_id: uuid.UUID) -> None:
        self.owner_id, self.session_id = owner_id, session_id
        # A hint arrives outside any request, so the room keeps a language for it.
        self.language = settings.LANGUAGE_CODE
        self.outboxes: set[Outbox] = set()
        self.running: LiveTurn | None = None
        # The newest message before the first incomplete one that every socket here has got.
        self.complete_seq = 0
        # Whether a hint from another process was postponed, because a turn was running here.
        self.behind = False
        # Whether hints were lost since the rows were read last.
        self._missed = False
        # Counts the published frames apart from growing blocks, so that a reader of rows detects that they are stale.
        self.version = 0
        self._catching_up: asyncio.Task[None] | None = None
        self._changed_again = False
        # Sockets that are opening, and whether rows changed meanwhile.
        self._joining = 0
        self._changed_while_joining = False
        self._updating: set[asyncio.Task[None]] = set()
        self._unsubscribe = pubsub.subscribe(f"session:{session_id}", self._hinted)
        self.members = Members(self)
        # Only of a shared session: who is here, how many messages wait, and what answers the next one of them.
        self.company: Company | None = None
        self.waiting_count = 0
        self.begin_next: Callable[[], Awaitable[None]] | None = None

    @property
    def key(self) -> tuple[int, uuid.UUID]:
        return self.owner_id, self.session_id

    def publish(self, frame: ServerFrame | Callable[[], ServerFrame], key: object = None) -> None:
        """Send `frame`, or what it returns in each language of the sockets, to every socket; with a `key` it replaces a
        waiting frame of the same key."""
        if key is None:
            self.version += 1
        for language, outboxes in self.by_language().items():
            text = encode(worded(frame, language) if callable(frame) else frame)
            for outbox in outboxes:
                outbox.put(text, key)

    def publish_block(self, block: GrowingBlock) -> None:
        """Send a growing block to every socket."""
        for outbox in self.outboxes:
            outbox.put(block, block.key)

    def forget_blocks(self) -> None:
        """Forget the growing blocks that the sockets were sent, and drop those that wait."""
        for outbox in self.outboxes:
            outbox.forget_blocks()

    def publish_whole(self, frames: Callable[[], Iterable[ServerFrame]]) -> None:
        """Send the frames that `frames` returns in each language of the sockets, which belong together and may be
        large, such as a finished answer, to every socket."""
        self.version += 1
        for language, outboxes in self.by_language().items():
            texts = [(encode(frame), None) for frame in worded(frames, language)]
            for outbox in outboxes:
                outbox.put_together(texts)

    def by_language(self) -> dict[str, list[Outbox]]:
        """Return the sockets by the language of their pages; nearly always there is one."""
        found: dict[str, list[Outbox]] = {}
        for outbox in self.outboxes:
            found.setdefault(outbox.language, []).append(outbox)
        return found

    def watch(self, space_id: int | None) -> None:
        """Turn away sockets whose people lose their role in this space, and show who is here; None: the session is
        private."""
        self.members.watch(space_id)
        if space_id is not None:
            self.company = self.company or Company(self)
            self.company.changed()

    def leave(self, outbox: Outbox) -> None:
        """Remove a socket by its outbox."""
        self.outboxes.discard(outbox)
        if self.company is not None:
            self.company.changed()
        self.close_if_empty()

    def close_if_empty(self) -> None:
        """Remove the room when it has no socket and no running turn."""
        if not self.outboxes and self.running is None and rooms.get(self.key) is self:
            del rooms[self.key]
            self._unsubscribe()
            self.members.watch(None)
            if self.company is not None:
                self.company.close()

    async def read_rows(self, seq: int) -> tuple[list[ReplayFrame], int]:
        """Return `frames_after` for `seq`; reads the rows again when a frame was published meanwhile."""
        return await self.read_stable(lambda: in_database(frames_after, self.owner_id, self.session_id, seq))

    async def read_stable(self, read: Callable[[], Awaitable[R]]) -> R:
        """Return what `read` returns; calls it again when a frame was published meanwhile."""
        while True:
            version = self.version
            found = await read()
            if self.version == version:
                return found

    def with_growing(self, frames: Sequence[ReplayFrame]) -> list[ServerFrame | GrowingBlock]:
        """Return `frames`, read from rows, with the current state of the answer that is running here, if any."""
        if self.running is None:
            return [*frames]
        growing = self.running.message_frame()
        # The rows contain its end, so the state here is older.
        if any(frame["type"] == "done" and frame["message"] == growing["id"] for frame in frames):
            return [*frames]
        rest = [frame for frame in frames if frame["type"] == "done" or frame["id"] != growing["id"]]
        waiting = [waiting_frame(True)] if self.running.is_waiting else []
        return [*rest, growing, *self.running.blocks(), *waiting]

    def refresh(self) -> None:
        """Start reading the rows again for the sockets here, unless a turn here is running, which publishes itself."""
        if self._catching_up is not None:
            self._changed_again = True
        elif self.running is not None:
            self.behind = True
        elif self._joining:
            self._changed_while_joining = True
        elif self.outboxes:
            self.behind = False
            self._catching_up = asyncio.create_task(self._catch_up())

    @contextlib.contextmanager
    def joining(self) -> Iterator[None]:
        """Postpone `refresh` while a socket reads what it lacks: only then `complete_seq` is known."""
        self._joining += 1
        try:
            yield
        finally:
            self._joining -= 1
            if self._changed_while_joining and not self._joining:
                self._changed_while_joining = False
                self.refresh()

    def _hinted(self, payload: dict[str, Any]) -> None:
        """Handle a hint: a process changed the session's rows, or asks its running turn to stop."""
        if payload.get("owner", self.owner_id) != self.owner_id:
            return  # the session belongs to another person
        if payload["kind"] == "stop":
            if self.running is not None:
                self.running.stop(payload["turn"])
        elif payload["kind"] == "reset":
            self.publish(ready_frame(self.session_id, payload["seq"], reset=True))
        elif payload["kind"] == "updated":
            if self.outboxes:
                self._begin(self._update(payload["message"]))
        elif payload["kind"] == "rounds":
            self.publish(ROUNDS_CHANGED, ROUNDS_CHANGED["kind"])
        elif payload["kind"] == "company":
            if self.company is not None:
                self.company.hinted(payload)
        elif payload["kind"] == "queue":
            self.show_queue()
        elif payload["kind"] == "shared":
            self.members.check()
            self.publish(SHARING_CHANGED, SHARING_CHANGED["kind"])
        elif payload["kind"] == "deleted":
            self.publish(lambda: error_frame("not_found", str(DELETED)))
            if self.running is not None:
                self.running.stop(None)
        elif payload == pubsub.MISSED:
            self._missed = True
            self.members.check()
            self.publish(ROUNDS_CHANGED, ROUNDS_CHANGED["kind"])
            self.refresh()
        elif payload.get("by") != pubsub.own_name():
            # A turn that runs here publishes all its changes itself.
            self.refresh()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._updating.add(task := asyncio.create_task(work))
        task.add_done_callback(self._updating.discard)

    def show_queue(self) -> None:
        """Begin to send the messages that wait in a shared session to the sockets here."""
        if self.outboxes:
            self._begin(self._show_queue())

    async def _show_queue(self) -> None:
        """Send the messages that wait to the sockets here. A failure is logged: it is shown with the next change."""
        try:
            frame = await in_database(waiting_messages, self.session_id)
        except Error:
            logger.warning("The database is away; an open page shows an older queue.", exc_info=True)
            return
        self.waiting_count = len(frame["waiting"])
        self.publish(frame, "queue")

    def answer_next(self) -> None:
        """Begin to answer the next message of the queue, if one waits although no answer is running here: the process
        that would have done that has ended."""
        if self.waiting_count and self.running is None and self.begin_next is not None:
            self._begin(self._answer_next(self.begin_next))

    async def _answer_next(self, begin_next: Callable[[], Awaitable[None]]) -> None:
        try:
            await begin_next()
        except Error:
            logger.warning("The database is away; the queue is looked at again soon.", exc_info=True)

    async def _update(self, message_id: str) -> None:
        """Send a finished message, whose card changed, to the sockets here. A failure is logged: a reload shows it."""
        frames = {}
        try:
            for language in self.by_language():
                with translation.override(language or self.language):
                    frames[language] = await in_database(updated_frame, self.owner_id, message_id)
        except Error:
            logger.warning("The database is away; an open page shows an older card.", exc_info=True)
            return
        self.version += 1
        for outbox in self.outboxes:
            if frame := frames.get(outbox.language):
                outbox.put(encode(frame))

    async def _shows_another_branch(self) -> bool:
        """Return whether another branch may be shown now, which a lost hint would have said."""
        return await in_database(shows_hidden_message, self.owner_id, self.session_id, self.complete_seq)

    async def _read_in_languages(self) -> tuple[dict[str, list[ReplayFrame]], int]:
        """Return what the sockets here lack, in the language of each, and their new complete seq."""
        read, complete_seq = {}, 0
        for language in self.by_language():
            with translation.override(language or self.language):
                read[language], complete_seq = await self.read_rows(self.complete_seq)
        return read, complete_seq

    async def _catch_up(self) -> None:
        """Send the rows that another process wrote to the sockets here; a running answer as of its checkpoint."""
        try:
            while self.outboxes:
                self._changed_again = False
                try:
                    read, complete_seq = await self._read_in_languages()
                except Error:
                    logger.warning("The database is away; reading again soon.", exc_info=True)
                    await asyncio.sleep(DATABASE_RETRY_SECONDS)
                    continue
                if self.running is not None:
                    self.behind = True
                    return
                frames = next(iter(read.values()), [])
                reset: list[tuple[str, object]] = []
                if is_too_much(frames, complete_seq) or (self._missed and await self._shows_another_branch()):
                    reset = [(encode(ready_frame(self.session_id, complete_seq, reset=True)), ("ready", None))]
                texts = {name: [(encode(frame), key_of(frame)) for frame in found] for name, found in read.items()}
                for outbox in self.outboxes:
                    # One that came meanwhile has read by itself what it lacks.
                    outbox.put_together(reset or texts.get(outbox.language, []))
                self.complete_seq = max(self.complete_seq, complete_seq)
                self._missed = False
                if not self._changed_again:
                    return
        finally:
            self._catching_up = None


def waiting_messages(session_id: uuid.UUID) -> QueueFrame:
    """Return the frame with the messages that wait in the session. Sync."""
    return queue_frame(queue.waiting(session_id))


def key_of(frame: ReplayFrame) -> tuple[str, str | None]:
    """Return the key under which a newer frame about the same message replaces `frame`."""
    return frame["type"], frame["id"] if frame["type"] == "message" else frame["message"]


def worded(make: Callable[[], R], language: str) -> R:
    """Return what `make` returns in `language`; "" for the active one."""
    if not language or language == get_language():
        return make()
    with translation.override(language):
        return make()


rooms: dict[tuple[int, uuid.UUID], Room] = {}


def room_of(owner_id: int, session_id: uuid.UUID) -> Room:
    """Return the person's room of this session, created if needed, and set its language to the active one."""
    key = owner_id, session_id
    if key not in rooms:
        rooms[key] = Room(owner_id, session_id)
    rooms[key].language = get_language() or settings.LANGUAGE_CODE
    return rooms[key]
