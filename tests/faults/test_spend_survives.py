"""What the model's server has charged is stored to the token, also when the process that reads it is killed."""

import random
import signal
import uuid

import pytest

from tests import replies
from tests.faults.site import LONG, Site, Team, send
from tests.scripted import Reply, answer, text, tool_use
from tests.stage import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
SUMS = """
    SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(cached_tokens), 0),
        coalesce(sum(written_tokens), 0)
    FROM oneclaw_spend WHERE session_id = %s AND purpose = 'answer'
"""
OF_ADA = "SELECT DISTINCT email FROM oneclaw_spend JOIN oneclaw_user ON oneclaw_user.id = user_id WHERE session_id = %s"
SAVED = "SELECT 1 FROM chat_turn WHERE session_id = %s AND status = 'running' AND unstored_calls IS NOT NULL"


@pytest.fixture(autouse=True)
def warm(request: pytest.FixtureRequest) -> None:
    """While its processes start, a busy machine answers later than a turn waits: another conversation tries it."""
    house: Site = request.getfixturevalue("team_site" if "seed" in request.fixturenames else "site")

    def is_answered() -> bool:
        house.upstream.forget()
        session = house.ask("Hello.", answer("Good morning."))
        return house.rows("SELECT status FROM chat_turn WHERE session_id = %s", session) == [("complete",)]

    until(is_answered, 90, "a message was answered")


def slow() -> Reply:
    return answer(text(LONG, pace=0.03))


def counted(site: Site, session: str) -> tuple[int, ...]:
    """Of the answers in this session: how many requests the server has charged for, and the tokens."""
    asked = [request for request in site.upstream.server.messages if session in str(request.body["messages"])]
    told = [request.usage for request in asked if request.body.get("tools") and request.usage]
    return len(told), *(sum(each.get(name) or 0 for each in told) for name in NAMES)


def stored(site: Site, session: str) -> tuple[int, ...]:
    return site.rows(SUMS, session)[0]


def killed_in_an_answer(site: Site, session: str) -> None:
    """The web process is killed when a checkpoint has saved what the call took, and another one ends the turn."""
    site.upstream.replies.append(slow())
    with site.talk(session) as talk:
        send(talk, session, f"Tell me all the words of {session}.")
        until(lambda: site.rows(SAVED, session), 60, "the call was saved")
        site.strike("web", signal.SIGKILL)
    site.back("web")
    site.until_settled(session)


def test_after_kill_9_the_tokens_of_the_prompt_are_spent_once(site: Site):
    session = str(uuid.uuid4())
    killed_in_an_answer(site, session)
    count, *tokens = counted(site, session)
    assert (count, sum(tokens) > 100) == (1, True)
    assert stored(site, session) == (count, *tokens)
    assert site.rows(OF_ADA, session) == [("ada@example.org",)]
    site.sweep("chat")
    site.ask(f"And now, {session}?", answer("Well."), session=session)
    assert stored(site, session) == counted(site, session)
    assert stored(site, session)[0] == 2


def test_a_frozen_web_that_wakes_up_doubles_nothing(site: Site):
    session = str(uuid.uuid4())
    site.upstream.replies.append(slow())
    with site.talk(session) as talk:
        send(talk, session, f"Tell me all the words of {session}.")
        until(lambda: site.rows(SAVED, session), 60, "the call was saved")
        with site.frozen("web"):
            site.until_settled(session)
            before = stored(site, session)
        talk.hear("done", status="interrupted", final=True)
    assert before[0] == 1
    assert sum(before) > 100
    # Of the whole answer it has read at most the end.
    count, read, written, *rest = stored(site, session)
    assert (read, *rest) == (before[1], *before[3:])
    assert count in (1, 2)
    assert before[2] <= written <= counted(site, session)[2]


def stopped(site: Site, session: str) -> None:
    site.upstream.replies.append(slow())
    with site.talk(session) as talk:
        send(talk, session, f"Tell me some words of {session}.")
        message = talk.hear("block")["message"]
        talk.say("stop", message=message)
        talk.hear("done", final=True)


def asked(site: Site, session: str, *said: Reply) -> None:
    site.ask(f"Tell me about {session}.", *said, session=session)


@pytest.mark.parametrize("seed", range(2))
def test_over_faults_stops_and_kills_spend_is_what_the_server_has_counted(team_site: Team, seed: int):
    chance, session, site = random.Random(seed), str(uuid.uuid4()), team_site
    whole = answer(text(LONG[:400]))
    acts = {
        "killed": lambda: killed_in_an_answer(site, session),
        "stopped": lambda: stopped(site, session),
        "whole": lambda: asked(site, session, whole),
        "tool": lambda: asked(site, session, answer(tool_use("memory_search", {"query": "tea"})), whole),
        "cut": lambda: asked(site, session, replies.cut(whole, after=chance.randint(700, 1500))),
        "overloaded": lambda: asked(site, session, replies.overloaded(whole, after="word1")),
        "refused, then whole": lambda: asked(site, session, replies.rate_limited(0.1), whole),
    }
    for act in chance.sample([*acts, "killed"], k=len(acts) + 1):
        acts[act]()
        site.upstream.forget()
        until(lambda: stored(site, session)[0] >= counted(site, session)[0], 20, f"{act} is stored")
        assert stored(site, session) == counted(site, session), act
