"""What waits for one socket."""

import asyncio

from chat.live.outbox import WAITING_MAX_BYTES, Outbox


async def drained(outbox, count):
    sent = []

    async def send(text):
        sent.append(text)

    task = asyncio.create_task(outbox.drain(send))
    while len(sent) < count and not task.done():
        await asyncio.sleep(0)
    task.cancel()
    return sent


async def test_frames_leave_in_order():
    outbox = Outbox()
    for text in "abc":
        outbox.put(text)
    assert await drained(outbox, 3) == ["a", "b", "c"]


async def test_a_newer_frame_replaces_the_one_of_its_key_and_goes_to_the_end():
    outbox = Outbox()
    outbox.put("old", "k")
    outbox.put("other")
    outbox.put("new", "k")
    assert await drained(outbox, 2) == ["other", "new"]


async def test_a_reader_that_does_not_read_is_given_up():
    outbox = Outbox()

    async def never(text):
        raise AssertionError("nothing is sent any more")

    while not outbox.overflowed:
        outbox.put("x" * 1000)
    await asyncio.wait_for(outbox.drain(never), 1)


async def test_a_slow_reader_of_one_growing_block_is_not_given_up():
    outbox = Outbox()
    for size in range(2000):
        outbox.put("x" * size, "block")
    assert not outbox.overflowed
    assert await drained(outbox, 1) == ["x" * 1999]


def test_the_bound_is_as_documented():
    assert WAITING_MAX_BYTES == 256 * 1024


async def test_what_waits_is_counted_in_bytes():
    outbox = Outbox()
    outbox.put("😀" * (WAITING_MAX_BYTES // 4))
    assert not outbox.overflowed
    outbox.put("a")
    assert outbox.overflowed


async def test_what_is_owed_may_be_of_any_size_but_only_once_at_a_time():
    outbox = Outbox()
    outbox.put_together((text * WAITING_MAX_BYTES, None) for text in "abc")
    outbox.put("x" * WAITING_MAX_BYTES)
    assert not outbox.overflowed
    assert [text[0] for text in await drained(outbox, 4)] == ["a", "b", "c", "x"]
    outbox.put_together([("d" * WAITING_MAX_BYTES, None), ("e", None)])
    assert not outbox.overflowed
    outbox.put_together([("f", None)])
    assert outbox.overflowed


async def test_a_frame_that_is_larger_than_the_bound_by_itself_is_sent():
    outbox = Outbox()
    for _ in range(3):
        outbox.put("x" * (WAITING_MAX_BYTES + 1), "block")
    outbox.put("done")
    assert not outbox.overflowed
    assert [len(text) for text in await drained(outbox, 2)] == [WAITING_MAX_BYTES + 1, 4]
