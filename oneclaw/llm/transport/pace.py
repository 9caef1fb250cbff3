"""The pace of growing answers in this process: a frame is longer while the event loop is late.

Rendering and sending frames is most of what a busy process does. When it cannot keep up, fewer and larger frames show
the same text for less work.
"""

import asyncio
import time

from django.conf import settings

# How often the lateness is measured, and for how many samples after frames were last asked for.
SAMPLE_SECONDS = 0.1
IDLE_SAMPLES = 10
# The share of a new sample in the mean lateness: a single pause is forgotten in half a second.
SAMPLE_SHARE = 0.3
# The mean lateness that does not lengthen a frame, and by how much each further second does.
TOLERATED_SECONDS = 0.02
SLOWDOWN_FACTOR = 5
FRAME_MAX_SECONDS = 0.5


def frame_seconds() -> float:
    """Return the seconds between two frames of a growing answer: 1 / FRAMES_PER_SECOND, and up to FRAME_MAX_SECONDS
    while the running event loop is late."""
    return FramePace.of_this_loop().frame_seconds()


class FramePace:
    """The length of a frame on one event loop, by the mean lateness of its timers while frames are asked for."""

    _of_loop: "tuple[asyncio.AbstractEventLoop, FramePace] | None" = None

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._mean_lateness = 0.0
        self._seconds = 1 / settings.FRAMES_PER_SECOND
        # When the next sample is due, on the monotonic clock; 0 while none is taken.
        self._due = 0.0
        self._unasked_samples = 0

    @classmethod
    def of_this_loop(cls) -> "FramePace":
        """Return the pace of the running event loop, made on first use."""
        loop = asyncio.get_running_loop()
        if cls._of_loop is None or cls._of_loop[0] is not loop:
            cls._of_loop = loop, cls()
        return cls._of_loop[1]

    @property
    def is_measuring(self) -> bool:
        """Return whether a timer runs whose lateness will be measured."""
        return bool(self._due)

    def frame_seconds(self) -> float:
        """Return the seconds between two frames."""
        self._unasked_samples = 0
        if not self._due:
            self._sample_later()
        return self._seconds

    def _sample_later(self) -> None:
        self._due = time.monotonic() + SAMPLE_SECONDS
        self._loop.call_later(SAMPLE_SECONDS, self._sample)

    def _sample(self) -> None:
        lateness = max(0.0, time.monotonic() - self._due)
        self._mean_lateness += SAMPLE_SHARE * (lateness - self._mean_lateness)
        shortest = 1 / settings.FRAMES_PER_SECOND
        slower = shortest + SLOWDOWN_FACTOR * max(0.0, self._mean_lateness - TOLERATED_SECONDS)
        self._seconds = max(shortest, min(slower, FRAME_MAX_SECONDS))
        self._unasked_samples += 1
        self._due = 0.0
        # An idle process has no timer.
        if self._unasked_samples <= IDLE_SAMPLES:
            self._sample_later()
