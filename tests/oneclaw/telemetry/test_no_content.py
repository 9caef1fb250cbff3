"""Logs hold nothing that people or models wrote, in turns that end well and in those that fail.

That is at every level but debug, at which the model's server and its SDK may quote conversations (docs/settings.md).
"""

import asyncio
import io
import logging
import uuid

import pytest

from chat.live.publisher import TurnPublisher
from chat.turns import loop, start
from oneclaw.demo.replies import answer, bad_request, error, garbled, tool_use
from oneclaw.telemetry.logs import JsonLines
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)
WORD = "zyzzyva"


@pytest.fixture
def logged():
    """All that is logged by anybody at the level info, as lines of JSON with their exceptions."""
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setFormatter(JsonLines())
    loggers = [
        logging.getLogger(),
        *(each for each in logging.Logger.manager.loggerDict.values() if isinstance(each, logging.Logger)),
    ]
    before = [(each, each.level, each.disabled) for each in loggers]
    for each in loggers:
        each.setLevel(logging.INFO)
        if each.parent is None or not each.propagate:
            each.addHandler(handler)
    yield output
    for each, level, disabled in before:
        each.setLevel(level)
        each.disabled = disabled
        each.removeHandler(handler)


def lines_with_word(logged: io.StringIO) -> list[str]:
    """Return the lines that hold the word, after one that shows that lines are kept."""
    logging.getLogger("oneclaw").info("A line that is there.")
    assert "A line that is there." in logged.getvalue()
    return [line for line in logged.getvalue().splitlines() if WORD in line]


async def test_a_turn_with_tools_logs_nothing_of_it(ada, scripted, logged, async_client):
    scripted.script(
        answer(tool_use("save_memory", {"content": f"My {WORD} is private"})),
        answer(tool_use("memory_search", {"query": WORD})),
        answer(f"Your {WORD} is private."),
    )
    talk = Talk(ada, scripted)
    await talk.say(f"Remember my {WORD}")
    await async_client.aforce_login(ada)
    await async_client.get("/search", {"q": WORD})
    await async_client.get(f"/c/{talk.session_id}")
    await async_client.post("/prompts/", {"name": WORD, "text": WORD})
    assert lines_with_word(logged) == []


@pytest.mark.parametrize(
    "failing",
    [
        bad_request(f"messages.0: {WORD} is wrong"),
        error(500, "api_error", f"{WORD} broke it"),
        error(401, "authentication_error", f"{WORD} is no key"),
        error(429, "rate_limit_error", f"{WORD} comes too often"),
        garbled(answer(f"Your {WORD} is private."), after=1),
        answer(tool_use("save_memory", {"content": [WORD], WORD: WORD})),
        answer(tool_use(WORD, {"query": WORD})),
    ],
    ids=["refused", "broken", "no key", "too often", "garbled", "wrong arguments", "no such tool"],
)
async def test_a_turn_that_fails_logs_nothing_of_it(ada, scripted, logged, failing):
    scripted.script(*[failing] * 6)
    await start.send(ada, uuid.uuid4(), uuid.uuid4(), f"Remember my {WORD}", listen=TurnPublisher)
    async with asyncio.timeout(60):
        while loop.running_turns:
            await asyncio.sleep(0.01)
    assert lines_with_word(logged) == []
