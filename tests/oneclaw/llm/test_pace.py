"""Frames are longer while the event loop is late, and as short as before when it is not."""

import asyncio
import time

from oneclaw.llm.transport.pace import FRAME_MAX_SECONDS, FramePace, frame_seconds


async def until(happened):
    async with asyncio.timeout(30):
        while not happened():
            await asyncio.sleep(0.02)


async def test_frames_are_longer_while_the_loop_is_blocked(settings):
    settings.FRAMES_PER_SECOND = 20
    await until(lambda: frame_seconds() == 0.05)
    for _ in range(10):
        time.sleep(0.25)  # noqa: ASYNC251 - blocks the loop
        await asyncio.sleep(0)
        assert frame_seconds() <= FRAME_MAX_SECONDS
    assert frame_seconds() > 0.3
    await until(lambda: frame_seconds() == 0.05)


async def test_a_single_pause_does_not_make_frames_longest(settings):
    settings.FRAMES_PER_SECOND = 20
    await until(lambda: frame_seconds() == 0.05)
    time.sleep(0.15)  # noqa: ASYNC251 - blocks the loop
    await asyncio.sleep(0)
    assert frame_seconds() < FRAME_MAX_SECONDS / 2


async def test_nothing_is_measured_when_no_answer_grows():
    frame_seconds()
    pace = FramePace.of_this_loop()
    assert pace.is_measuring
    await until(lambda: not pace.is_measuring)
