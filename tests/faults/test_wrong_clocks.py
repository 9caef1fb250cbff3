"""A process whose clock is minutes wrong takes nothing from the others, and does its own work in time."""

import contextlib
import sys
import time
import uuid
from collections.abc import Iterator

import pytest

from tests.faults.site import LONG, Site, send
from tests.scripted import answer, text
from tests.stage import until

pytestmark = [
    pytest.mark.faults,
    pytest.mark.timeout(180),
    pytest.mark.parametrize("site", ["team"], indirect=True),
    pytest.mark.parametrize("skew", [300, -300], ids=["ahead", "behind"]),
]


@contextlib.contextmanager
def wrong(site: Site, name: str, role: str, skew: int) -> Iterator[None]:
    """The process `name` runs with a clock that is wrong by `skew` seconds."""
    running = site.house[name]
    running.stop()
    right = running.command
    running.command = [sys.executable, "-m", "tests.skewed", str(skew), "serve", role]
    running.start()
    site.house.wait_until_ready()
    try:
        yield
    finally:
        running.stop()
        running.command = right
        running.start()
        site.house.wait_until_ready()


def test_a_worker_with_a_wrong_clock_ends_the_lost_answers_and_no_others(site: Site, skew: int):
    with wrong(site, "worker", "worker", skew), contextlib.ExitStack() as stack:
        sessions = [str(uuid.uuid4()) for _ in range(3)]
        lost, *living = sessions
        for session, web in zip(sessions, (1, 0, 0), strict=True):
            site.upstream.replies.append(answer(text(LONG, pace=0.02)))
            talk = stack.enter_context(site.house.socket(site.cookie, web=web))
            talk.say("open", session=session, last_seq=0)
            talk.hear("ready")
            send(talk, session, "Something long, please.")
            site.until_saved(session)
        site.house["web2"].kill()
        try:
            for _ in range(4):
                site.sweep("chat")
                time.sleep(0.3)
            query = "SELECT status FROM chat_turn WHERE session_id = ANY(%s::uuid[])"
            assert site.rows(query, living) == [("running",)] * 2
            until(lambda: site.sweep("chat") or site.rows(query, [lost]) == [("interrupted",)], 20, "it is ended")
            for session in living:
                site.until_settled(session)
            assert site.rows(query, living) == [("complete",)] * 2
        finally:
            site.house["web2"].start()
            site.house.wait_until_ready()


def test_a_web_with_a_wrong_clock_keeps_its_answers_and_its_conversations_are_noted(site: Site, skew: int):
    with wrong(site, "web1", "web", skew):
        session, word = str(uuid.uuid4()), uuid.uuid4().hex
        site.upstream.notes = lambda transcript: answer(f"- Something long: {word}.")
        site.upstream.replies.append(answer(text(LONG, pace=0.02)))
        with site.talk(session) as talk:
            send(talk, session, "Something long, please.")
            site.until_saved(session)
            for _ in range(4):
                site.sweep("chat")
                site.sweep("memory")
                time.sleep(0.3)
            talk.hear("done", final=True, status="complete", seconds=60)
        flushes = "SELECT status FROM memory_flush WHERE session_id = %s"
        assert site.rows(flushes, session) == []
        site.open_after_another(session, site.ask("Something else."))
        until(lambda: site.rows(flushes, session) == [("done",)], 30, "it is noted")
