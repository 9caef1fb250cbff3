"""How much of some work a process does at once, and who is next."""

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from oneclaw.fair_slots import FairSlots, NoSlotError, ThreadSlots


class Line:
    """Work that takes slots; `running` has what has one, in the order in which it got it."""

    def __init__(self, total, most, **how):
        self.total, self.most = total, most
        self.slots = FairSlots(lambda: self.total, lambda holder: self.most, **how)
        self.running, self.tasks = [], {}

    async def begin(self, *names, seconds=None):
        """Each name is that of a holder and a letter, such as 1a."""
        for name in names:
            self.tasks[name] = asyncio.create_task(self._take(name, seconds))
            await asyncio.sleep(0)

    async def _take(self, name, seconds):
        await self.slots.take(name[0], seconds)
        self.running.append(name)

    async def end(self, *names):
        for name in names:
            self.running.remove(name)
            self.slots.release(name[0])
        await asyncio.sleep(0)


@pytest.mark.parametrize(("prefers_idle", "next_one"), [(False, "1c"), (True, "3a")])
async def test_a_free_slot_goes_to_whom_was_served_longest_ago_or_first_to_whom_has_fewest(prefers_idle, next_one):
    line = Line(3, 2, prefers_idle=prefers_idle)
    await line.begin("1a", "1b", "2a", "1c", "3a")
    # The holder 1 goes on with one, and 3 has none.
    await line.end("1b")
    assert line.running == ["1a", "2a", next_one]


async def test_of_many_who_wait_each_is_served_in_turn():
    line = Line(1, 1)
    await line.begin("1a", "1b", "1c", "2a", "2b", "3a")
    served = []
    while line.running:
        served += line.running
        await line.end(*line.running)
    assert served == ["1a", "1b", "2a", "3a", "1c", "2b"]


async def test_a_holder_whose_tickets_wait_is_not_overtaken_by_its_next_one():
    line = Line(2, 1)
    await line.begin("1a", "1b")
    assert (line.slots.waiting_count("1"), line.slots.is_free("1"), line.slots.is_free("2")) == (1, False, True)
    line.most = 2
    # The limit was raised, and what waits has not begun yet.
    await line.begin("1c")
    assert line.running == ["1a"]
    line.slots.give_free()
    await asyncio.sleep(0)
    assert line.running == ["1a", "1b"]


async def test_what_waits_too_long_or_is_cancelled_leaves_the_line():
    line = Line(1, 1)
    await line.begin("1a")
    await line.begin("1b", seconds=0.01)
    await line.begin("2a", "3a", "3b", "4a")
    with pytest.raises(NoSlotError):
        await line.tasks["1b"]
    line.tasks["2a"].cancel()
    line.tasks["3a"].cancel()
    # Before these two have run since: the next one of 3 loses nothing by it.
    await line.end("1a")
    assert line.running == ["3b"]
    await line.end("3b")
    assert line.running == ["4a"]
    await line.end("4a")
    assert (line.slots.waiting_count("1"), line.slots.is_free("1")) == (0, True)


async def test_a_slot_that_is_given_at_the_moment_of_cancelling_is_not_lost():
    line = Line(1, 1)
    await line.begin("1a", "2a", "3a")
    line.running.remove("1a")
    line.slots.release("1")
    line.tasks["2a"].cancel()
    await asyncio.wait([line.tasks["2a"]])
    await asyncio.sleep(0)
    assert line.running == ["3a"]


@pytest.mark.parametrize("seed", range(20))
async def test_slots_are_never_too_many_and_never_lost_whatever_happens(seed):
    chance, total, most = random.Random(seed), 3, 2
    slots, running = FairSlots(lambda: total, lambda holder: most, prefers_idle=seed % 2 == 0), []

    async def work(holder):
        try:
            await slots.take(holder, chance.choice((None, 0.001)))
        except NoSlotError:
            return
        running.append(holder)
        assert len(running) <= total
        assert running.count(holder) <= most
        try:
            await asyncio.sleep(chance.choice((0, 0.002)))
        finally:
            running.remove(holder)
            slots.release(holder)

    tasks = [asyncio.create_task(work(chance.randrange(4))) for _ in range(40)]
    for task in chance.sample(tasks, 10):
        await asyncio.sleep(0)
        task.cancel()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
    assert {type(each) for each in ended} <= {type(None), asyncio.CancelledError}
    assert all(slots.is_free(holder) for holder in range(4))
    assert (slots._running, slots._waiting) == ({}, {})


def test_threads_wait_for_one_another_and_give_up_in_time():
    slots, most = ThreadSlots(2), []
    counting, running = threading.Lock(), []

    def work(holder):
        with slots.slot(holder, 10):
            with counting:
                running.append(holder)
                most.append((len(running), running.count(holder)))
            threading.Event().wait(0.001)
            with counting:
                running.remove(holder)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, [number % 3 for number in range(60)]))
    assert (max(count for count, _ in most), max(own for _, own in most)) == (2, 1)
    with slots.slot(1, 0), slots.slot(2, 0):
        for holder in (1, 3):
            with pytest.raises(NoSlotError), slots.slot(holder, 0.01):
                pass
    with pytest.raises(ValueError, match="of the block"), slots.slot(1, 0):
        raise ValueError("of the block")
    with slots.slot(1, 0):
        pass
