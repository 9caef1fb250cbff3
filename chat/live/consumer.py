"""The socket: one JSON frame in, one action; frames out through the outbox. docs/protocol.md says each."""

import asyncio
import contextlib
import json
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import Error
from django.utils import translation
from django.utils.translation import gettext as _

from chat.conversations import branches, lifecycle, presence, transcript
from chat.conversations.model_choice import Choice
from chat.live import revocation, rooms
from chat.live.draft import Composed
from chat.live.errors import NOT_FOUND, REFUSED, Refusal, refusal_of
from chat.live.outbox import Frame, Outbox, encode
from chat.models import ChatSession, Turn
from chat.turns import commands, start
from oneclaw import pubsub
from oneclaw.people.preferences import accepted_by, language_of
from oneclaw.text import checked, counted, mended
from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

LARGEST_FRAME = 64 * 1024
# Seconds without any frame from the browser, which pings every 20, before the socket counts as dead.
SILENCE = 45
# Closing codes.
TOO_SLOW, FAILED, COME_AGAIN, NOT_SIGNED_IN = 1013, 1011, 1012, 4401


class ChatConsumer(AsyncWebsocketConsumer):
    """One socket of one person, showing one session at a time."""

    writer: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket to its end, and let go of it however it ends."""
        try:
            await super().__call__(scope, receive, send)
        except Error:
            # The browser comes again, and sends again what was not acknowledged.
            logger.exception("A socket is closed, because the database did not answer.")
            await self.close(FAILED)
        finally:
            self._let_go()

    async def connect(self) -> None:
        self.user = self.scope["user"]
        self.room: rooms.Room | None = None
        self.outbox = Outbox()
        self.unsubscribe: Callable[[], None] = lambda: None
        self.silence: asyncio.TimerHandle | None = None
        await self.accept()
        if not self.user.is_authenticated:
            await self.close(NOT_SIGNED_IN)
            return
        # From here on in this context, which is this socket's alone, and that of the turns that it begins.
        translation.activate(language_of(self.user, accepted_by(self.scope)))
        self.last_heard = asyncio.get_running_loop().time()
        self.writer = asyncio.create_task(self._write())
        self._check_silence()
        self.unsubscribe = pubsub.subscribe(f"user:{self.user.pk}", self._hinted)
        presence.attendance.enter(self.user.pk)
        await in_database(presence.arrive, self.user)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self.last_heard = asyncio.get_running_loop().time()
        frame: dict[str, Any] = {}
        try:
            frame = decoded(text_data, bytes_data)
            await self.HANDLERS[frame["type"]](self, frame)
        except REFUSED as error:
            self._tell(error_frame(*refusal_of(error), frame.get("client_id")))

    # -- What a browser may say ------------------------------------------------------------------

    async def _open(self, frame: dict[str, Any]) -> None:
        if frame.get("person") not in (None, str(self.user.pk)):
            # Somebody else has signed in with this browser since: what this page has to send is not theirs.
            await self.close(NOT_SIGNED_IN)
            return
        session_id = uuid.uuid4() if frame.get("session") is None else identifier(frame, "session")
        last_seq = frame.get("last_seq", 0)
        if not isinstance(last_seq, int) or isinstance(last_seq, bool) or last_seq < 0:
            raise Refusal("bad_frame", "last_seq must be a whole number.")
        session = await in_database(lifecycle.open_session, self.user, session_id)
        if session is None and last_seq:
            raise NOT_FOUND
        newest = session.last_seq if session else 0
        far = newest - last_seq > rooms.LONGEST_REPLAY
        if last_seq > newest or (far and await in_database(rooms.is_far_behind, self.user.pk, session_id, last_seq)):
            self._tell(rooms.ready_frame(session_id, newest, reset=True))
            return
        room = self._enter_room(session_id)
        if last_seq and await in_database(rooms.was_tried_again, self.user.pk, session_id, last_seq):
            self._tell(rooms.ready_frame(session_id, newest, reset=True))
            return
        frames, settled = await room.read_rows(last_seq)
        if room is not self.room:
            return
        if rooms.is_too_much(frames, settled):
            self._tell(rooms.ready_frame(session_id, newest, reset=True))
            return
        if room.outboxes == {self.outbox}:
            room.settled_seq = max(room.settled_seq, settled)
        self._tell(rooms.ready_frame(session_id, newest, reset=False))
        self.outbox.owe((encode(found), None) for found in room.with_growing(frames))

    async def _send(self, frame: dict[str, Any]) -> None:
        client_id, session_id = identifier(frame, "client_id"), identifier(frame, "session")
        composed, mode = Composed.read(frame.get("text"), frame.get("files")), mode_in(frame)
        if reason := composed.ends_because:
            await in_database(commands.obey, self.user, session_id, reason)
            self._tell(rooms.ended_frame(session_id, client_id, reason))
            return
        accepted = await start.send(
            self.user, session_id, client_id, composed.text, mode, choice_in(frame), composed.files
        )
        self._tell(rooms.ack_frame(accepted.message, duplicate=accepted.duplicate))
        if self.room is None:
            room = self._enter_room(session_id)
            frames = room.with_growing([rooms.message_frame(accepted.message)])
            self.outbox.owe((encode(found), None) for found in frames)

    async def _edit(self, frame: dict[str, Any]) -> None:
        client_id, number = identifier(frame, "client_id"), message_number(frame)
        text = checked(frame.get("text"), longest=settings.MESSAGE_LENGTH)
        accepted = await start.edit(self.user, number, client_id, text, choice_in(frame))
        self._tell(rooms.ack_frame(accepted.message, duplicate=accepted.duplicate))

    async def _show(self, frame: dict[str, Any]) -> None:
        await in_database(branches.show, self.user, message_number(frame))

    async def _retry(self, frame: dict[str, Any]) -> None:
        await self._again(frame, Turn.Kind.RETRY)

    async def _continue(self, frame: dict[str, Any]) -> None:
        await self._again(frame, Turn.Kind.CONTINUE)

    async def _again(self, frame: dict[str, Any], kind: str) -> None:
        await start.again(self.user, message_number(frame), kind, choice_in(frame))

    async def _stop(self, frame: dict[str, Any]) -> None:
        number = message_number(frame) if frame.get("message") is not None else None
        session_id = self.room.session_id if self.room else None
        await in_database(transcript.request_stop, self.user, session_id, number)

    async def _ping(self, frame: dict[str, Any]) -> None:
        self._tell({"type": "pong"})

    HANDLERS: ClassVar[dict[str, Callable[["ChatConsumer", dict[str, Any]], Awaitable[None]]]] = {
        "open": _open,
        "send": _send,
        "edit": _edit,
        "show": _show,
        "stop": _stop,
        "retry": _retry,
        "continue": _continue,
        "ping": _ping,
    }

    # -- How it is done --------------------------------------------------------------------------

    def _let_go(self) -> None:
        if self.writer is None:
            return
        presence.attendance.leave(self.user.pk)
        self.unsubscribe()
        self._leave_room()
        self.writer.cancel()
        if self.silence is not None:
            self.silence.cancel()

    def _tell(self, frame: Frame) -> None:
        self.outbox.offer(encode(frame))

    def _enter_room(self, session_id: uuid.UUID) -> rooms.Room:
        if self.room is None or self.room.session_id != session_id:
            self._leave_room()
            self.room = rooms.room_of(self.user.pk, session_id)
            self.room.outboxes.add(self.outbox)
        return self.room

    def _leave_room(self) -> None:
        if self.room is not None:
            self.room.leave(self.outbox)
            self.room = None

    def _hinted(self, payload: dict[str, Any]) -> None:
        """Some process changed the person's list, or ended what this socket came by."""
        if payload["kind"] == "signed_out":
            if payload["sign_in"] == revocation.fingerprint(self.scope["session"].session_key):
                self.closing = asyncio.create_task(self.close(NOT_SIGNED_IN))
        elif payload["kind"] == "come_again":
            self.closing = asyncio.create_task(self.close(COME_AGAIN))
        else:
            self._tell({"type": "notice", "kind": "sessions", "html": ""})
        if payload == pubsub.MISSED:
            self.closing = asyncio.create_task(self._close_if_signed_out())

    async def _close_if_signed_out(self) -> None:
        """Hints were away: perhaps the one that ends this socket was among them."""
        if not await in_database(revocation.holds, self.user, self.scope.get("session")):
            await self.close(COME_AGAIN)

    async def _write(self) -> None:
        """Send what waits; a reader that is too slow is let go, and reconnects."""
        with contextlib.suppress(OSError, RuntimeError):  # the socket is gone: disconnect() follows
            await self.outbox.drain(self._send_text)
            await self.close(TOO_SLOW)

    async def _send_text(self, text: str) -> None:
        await self.send(text_data=text)

    def _check_silence(self) -> None:
        """Close a socket whose browser is gone without a word."""
        loop = asyncio.get_running_loop()
        left = self.last_heard + SILENCE - loop.time()
        if left > 0:
            self.silence = loop.call_later(left, self._check_silence)
        else:
            self.closing = asyncio.create_task(self.close())


def decoded(text: str | None, data: bytes | None) -> dict[str, Any]:
    """The frame, or a Refusal that says what is wrong with it."""
    if text is None:
        raise Refusal("bad_frame", "Frames are JSON text.")
    size = len(text.encode(errors="surrogatepass"))
    if size > LARGEST_FRAME:
        words = _("This frame has %(size)s bytes; at most %(most)s can be sent at once.")
        raise Refusal("too_large", words % {"size": counted(size), "most": counted(LARGEST_FRAME)})
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        raise Refusal("bad_frame", "This frame is not JSON.") from None
    kind = frame.get("type") if isinstance(frame, dict) else None
    if not isinstance(kind, str) or kind not in ChatConsumer.HANDLERS:
        raise Refusal("bad_frame", "This frame has no known type.")
    return frame


def identifier(frame: dict[str, Any], field: str) -> uuid.UUID:
    try:
        return uuid.UUID(frame[field])
    except (KeyError, ValueError, AttributeError, TypeError):
        raise Refusal("bad_frame", f"{field} must be a UUID.") from None


def mode_in(frame: dict[str, Any]) -> str | None:
    """The mode that a `send` names, if it names one."""
    mode = frame.get("mode")
    if mode is not None and mode not in ChatSession.Mode.values:
        raise Refusal("bad_frame", "mode must be agent, chat or temporary.")
    return mode


def choice_in(frame: dict[str, Any]) -> Choice:
    """The agent and the model that a frame names, if it names any."""
    try:
        return Choice.read(frame)
    except ValueError as error:
        raise Refusal("bad_frame", str(error)) from None


def message_number(frame: dict[str, Any]) -> int:
    value = frame.get("message")
    if not isinstance(value, str) or not value.isascii() or not value.isdigit() or len(value) > 18:
        raise Refusal("bad_frame", "message must be the id of a message.")
    return int(value)


def error_frame(code: str, sentence: str, client_id: object = None) -> Frame:
    frame: Frame = {"type": "error", "code": code, "text": sentence, "retry_after": None}
    if isinstance(client_id, str):
        frame["client_id"] = mended(client_id[:64])
    return frame
