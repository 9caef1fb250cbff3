"""The WebSocket consumer: passes a client's frames to `handle` and sends the frames of its room (docs/protocol.md)."""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import Error
from django.utils import translation

from chat.conversations import lifecycle, presence
from chat.conversations.shown import just_stored
from chat.live import replay, revocation
from chat.live.errors import CLIENT_ERRORS, code_and_sentence, retry_after
from chat.live.frames import ClientFrame, OpenFrame, PingFrame, SendFrame, WritingFrame, client_frame, decoded
from chat.live.growing_blocks import GrowingBlock
from chat.live.handle import Sent, Stored, handle
from chat.live.outbox import Outbox
from chat.live.publisher import begin_next
from chat.live.rooms import Room, room_of
from chat.live.server_frames import (
    PONG,
    SESSIONS_CHANGED,
    SHARING_CHANGED,
    ServerFrame,
    budget_frame,
    encode,
    error_frame,
    message_frame,
    ready_frame,
)
from chat.rendering.shown import ShownMessage
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.people import seen
from oneclaw.people.preferences import accept_language_of, language_of
from oneclaw.telemetry import metrics
from oneclaw.threads import in_admission_thread, in_database

logger = logging.getLogger(__name__)

# A socket without any frame for this long counts as dead; browsers ping every 20 s.
SILENCE_SECONDS = 45
# Close codes of the WebSocket.
TRY_LATER_CODE, FAILED_CODE, RECONNECT_CODE, NOT_SIGNED_IN_CODE = 1013, 1011, 1012, 4401


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One socket of one person, showing one session at a time."""

    writer: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket until it closes, and release its resources even after an error."""
        try:
            await super().__call__(scope, receive, send)
        except Error:
            # The browser reconnects and resends what was not acknowledged.
            logger.exception("A socket is closed, because the database did not answer.")
            await self.close(FAILED_CODE)
        finally:
            self._release()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler of `message`. Unlike Channels, do not look after this thread's connections, for each frame
        in another thread: all queries of a socket run in threads that look after theirs.
        """
        match message["type"]:
            case "websocket.connect":
                await self.websocket_connect(message)
            case "websocket.receive":
                await self.websocket_receive(message)
            case "websocket.disconnect":
                await self.websocket_disconnect(message)

    async def connect(self) -> None:
        self.user = self.scope["user"]
        self.room: Room | None = None
        self.outbox = Outbox()
        self.outbox.turn_away = self._turned_away
        self.unsubscribe: Callable[[], None] = lambda: None
        self.silence: asyncio.TimerHandle | None = None
        await self.accept()
        if not self.user.is_authenticated:
            await self.close(NOT_SIGNED_IN_CODE)
            return
        if presence.open_sockets.count_of(self.user.pk) >= settings.SOCKETS:
            # A page tries again later; what it shows meanwhile it asks for by requests.
            await self.close(TRY_LATER_CODE)
            return
        # For this socket's context, which the turns that it starts inherit.
        translation.activate(language_of(self.user, accept_language_of(self.scope)))
        self.outbox.person_id, self.outbox.language = self.user.pk, translation.get_language() or ""
        self.last_heard = asyncio.get_running_loop().time()
        self.writer = asyncio.create_task(self._write())
        self._check_silence()
        # Before anything that waits: a hint that the sign-in has ended must not be lost.
        self.unsubscribe = pubsub.subscribe(f"user:{self.user.pk}", self._hinted)
        presence.open_sockets.enter(self.user.pk)
        metrics.sockets.inc()
        await in_admission_thread(_arrive, self.user)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self.last_heard = asyncio.get_running_loop().time()
        fields: dict[str, Any] = {}
        try:
            fields = decoded(text_data)
            await self._handle(client_frame(fields))
        except CLIENT_ERRORS as error:
            self._send_frame(error_frame(*code_and_sentence(error), fields.get("client_id"), retry_after(error)))

    async def _handle(self, frame: ClientFrame) -> None:
        if isinstance(frame, PingFrame):
            self._send_frame(PONG)
        elif isinstance(frame, OpenFrame):
            await self._open(frame)
        elif isinstance(frame, WritingFrame):
            if self.room is not None and self.room.company is not None:
                self.room.company.writes(self.user.pk)
        else:
            if isinstance(frame, SendFrame) and self.room is not None and self.room.company is not None:
                self.room.company.wrote(self.user.pk)
            outcome = await handle(self.user, frame, self.room.session_id if self.room else None)
            if isinstance(outcome, Sent):
                self._send_frame(outcome.frame())
                metrics.acknowledgements.observe(asyncio.get_running_loop().time() - self.last_heard)
                if seen.is_due(self.user):
                    await in_database(seen.record_seen, self.user)
            if isinstance(frame, SendFrame) and isinstance(outcome, Stored) and self.room is None:
                session = outcome.message.session
                room = self._enter_room(frame.session, session.owner_id)
                self._watch(room, session.space_id if session.is_shared else None)
                # Of a message that was stored before, the author is not loaded.
                shown = ShownMessage(outcome.message) if outcome.duplicate else just_stored(outcome.message)
                self._send_frames(room.with_growing([message_frame(shown, {})]))

    async def _open(self, frame: OpenFrame) -> None:
        if frame.person not in (None, str(self.user.pk)):
            # Another person has signed in with this browser since the page was made.
            await self.close(NOT_SIGNED_IN_CODE)
            return
        self.outbox.appends = frame.appends
        session_id, last_seq = frame.session or uuid.uuid4(), frame.last_seq
        owner_id = await self._open_room(session_id, last_seq, self.user.pk)
        if owner_id != self.user.pk:
            # Another person has shared it: their room is the one that gets its frames.
            await self._open_room(session_id, last_seq, owner_id)

    async def _open_room(self, session_id: uuid.UUID, last_seq: int, owner_id: int) -> int:
        """Enter the room of the session of `owner_id`, and send what the page lacks; return whose the session is. When
        it is of another person, send nothing."""
        # Entered before the rows are read, so that no hint about a later change is lost.
        room = self._enter_room(session_id, owner_id)
        with room.joining():
            try:
                page = await room.read_stable(
                    lambda: in_admission_thread(replay.open_page, self.user, session_id, last_seq),
                )
            except lifecycle.SessionNotFoundError:
                self._leave_room()
                raise
            if room is not self.room or page.owner_id != owner_id:
                return page.owner_id if room is self.room else owner_id
            self._watch(room, page.space_id)
            self._send_frame(ready_frame(session_id, page.newest_seq, reset=page.reset))
            if page.reset:
                return owner_id
            if room.outboxes == {self.outbox}:
                room.complete_seq = max(room.complete_seq, page.complete_seq)
            self._send_frames(room.with_growing(page.frames))
        return owner_id

    def _watch(self, room: Room, space_id: int | None) -> None:
        """Show who else is in the room of a shared session, and what waits there."""
        room.watch(space_id)
        if space_id is not None:
            room.begin_next = partial(begin_next, room.session_id)
            room.show_queue()
            if room.company is not None and (frame := room.company.frame()):
                self._send_frame(frame)

    def _turned_away(self) -> None:
        """Tell the page that the person may not see the session any more, which gets no further frames of it."""
        self.room = None
        with translation.override(self.outbox.language):
            self._send_frame(error_frame(*code_and_sentence(lifecycle.SessionNotFoundError())))
        # The page loads again, and finds nothing.
        self._send_frame(SHARING_CHANGED)

    def _release(self) -> None:
        if self.writer is None:
            return
        presence.open_sockets.leave(self.user.pk)
        metrics.sockets.dec()
        self.unsubscribe()
        self._leave_room()
        self.writer.cancel()
        if self.silence is not None:
            self.silence.cancel()

    def _send_frame(self, frame: ServerFrame) -> None:
        self.outbox.put(encode(frame))

    def _send_frames(self, frames: list[ServerFrame | GrowingBlock]) -> None:
        """Send messages that the page lacks, with the blocks of a running one."""
        self.outbox.forget_blocks()
        self.outbox.put_together(
            (each, each.key) if isinstance(each, GrowingBlock) else (encode(each), None) for each in frames
        )

    def _enter_room(self, session_id: uuid.UUID, owner_id: int) -> Room:
        if self.room is None or self.room.key != (owner_id, session_id):
            self._leave_room()
            self.room = room_of(owner_id, session_id)
            self.room.outboxes.add(self.outbox)
        return self.room

    def _leave_room(self) -> None:
        if self.room is not None:
            self.room.leave(self.outbox)
            self.room = None

    def _hinted(self, payload: dict[str, Any]) -> None:
        """Handle a hint: a process changed the person's list, or ended the sign-in of this socket."""
        if payload["kind"] == "signed_out":
            if payload["sign_in"] == revocation.fingerprint(self.scope["session"].session_key):
                self.closing = asyncio.create_task(self._close(NOT_SIGNED_IN_CODE))
        elif payload["kind"] == "come_again":
            self.closing = asyncio.create_task(self._close(RECONNECT_CODE))
        elif payload["kind"] == "budget":
            self._send_frame(budget_frame(payload))
        else:
            self._send_frame(SESSIONS_CHANGED)
        if payload == pubsub.MISSED:
            self.closing = asyncio.create_task(self._close_if_signed_out())

    async def _close(self, code: int | None = None) -> None:
        """Close the socket, unless it is closed already."""
        with contextlib.suppress(RuntimeError):
            await self.close(code)

    async def _close_if_signed_out(self) -> None:
        """Close the socket if its sign-in has ended: the hint that says so may be among those that were lost."""
        if not await in_database(revocation.is_valid, self.user, self.scope.get("session")):
            await self._close(RECONNECT_CODE)

    async def _write(self) -> None:
        """Send the waiting frames. A reader that is too slow is disconnected, and reconnects."""
        with contextlib.suppress(OSError, RuntimeError):  # the connection is closed: disconnect() follows
            await self.outbox.drain(lambda text: self.send(text_data=text))
            await self.close(TRY_LATER_CODE)

    def _check_silence(self) -> None:
        """Close the socket if nothing was received for SILENCE_SECONDS; otherwise check again later."""
        loop = asyncio.get_running_loop()
        left = self.last_heard + SILENCE_SECONDS - loop.time()
        if left > 0:
            self.silence = loop.call_later(left, self._check_silence)
        else:
            self.closing = asyncio.create_task(self._close())


def _arrive(user: User) -> None:
    """Record that the person is present, and was here."""
    presence.arrive(user)
    if seen.is_due(user):
        seen.record_seen(user)
