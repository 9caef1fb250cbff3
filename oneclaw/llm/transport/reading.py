"""When the socket of a growing answer is read: once in a frame of the page instead of once for each delta.

The kernel collects what arrives between two reads (SO_RCVLOWAT). It wakes the reader at once when the connection ends
or is reset, and gives it everything that arrived before, so that nothing of an answer that is cut off is lost. Bytes
that aiohttp had taken would be lost by a reset: the reader must be waiting for data whenever some may arrive.
"""

import asyncio
import contextlib
import socket
import sys
from typing import TYPE_CHECKING, Self

from oneclaw.llm.transport.pace import frame_seconds

if TYPE_CHECKING:
    import httpx2

# A held socket is readable with so many bytes, which is several times what a model writes in a frame.
HELD_BYTES = 16 * 1024
# On Linux (since 4.18), lowering SO_RCVLOWAT wakes a waiting reader; elsewhere this is not promised.
CAN_HOLD = sys.platform == "linux"


class FrameReads:
    """The reads of one answer, as a context manager.

    What comes within a frame of the first events is read as it arrives, so that the first text and short answers do
    not wait; then the socket is read once in a frame.
    """

    def __init__(self, response: "httpx2.Response") -> None:
        stream = response.extensions.get("network_stream")
        self._transport: asyncio.Transport | None = stream.get_extra_info("transport") if stream and CAN_HOLD else None
        self._socket: socket.socket | None = self._transport.get_extra_info("socket") if self._transport else None
        self._loop = asyncio.get_running_loop()
        self._hold_from: float | None = None
        self._release: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.release()

    def hold(self) -> None:
        """Let the kernel collect what arrives until the next frame; to be called after each read that had events."""
        now = self._loop.time()
        if self._hold_from is None:
            self._hold_from = now + frame_seconds()
        elif self._release is None and now >= self._hold_from:
            self._set_readable_from(HELD_BYTES)
            self._release = self._loop.call_later(frame_seconds(), self.release)

    def release(self) -> None:
        """Read what arrives at once: the frame has passed, or the answer has ended and others use its connection."""
        if self._release is not None:
            self._release.cancel()
            self._release = None
            self._set_readable_from(1)

    def _set_readable_from(self, count: int) -> None:
        # The number of a closed socket may already be another socket's.
        if self._socket is not None and self._transport is not None and not self._transport.is_closing():
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
