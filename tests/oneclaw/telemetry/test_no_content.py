"""Logs hold nothing that people or models wrote, in turns that end well and in those that fail.

That is at every level but debug, at which the model's server and its SDK may quote conversations (docs/settings.md).
"""

import asyncio
import io
import json
import logging
import uuid

import pydantic
import pytest
from django.db import connection, transaction

from chat import extensions
from chat.extensions import Extension, Tool
from chat.live.publisher import TurnPublisher
from chat.turns import start
from chat.turns.running import running_turns
from oneclaw.telemetry.logs import JsonLines, TextLines
from tests.scripted import answer, bad_request, error, garbled, tool_use
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)
WORD = "zyzzyva"


class Count(pydantic.BaseModel):
    number: int


def quote_argument(text):
    raise ValueError(f"bad {text}")


def quote_key(text):
    return {}[text]


def quote_input(text):
    Count(number=text)


def quote_value(text):
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::int", [text])


def quote_row(text):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE words (word text PRIMARY KEY) ON COMMIT DROP")
        cursor.execute("INSERT INTO words VALUES (%s), (%s)", [text, text])


def quote_in_a_chain(text):
    try:
        quote_argument(text)
    except ValueError as error:
        error.add_note(f"while reading {text}")
        raise ExceptionGroup(f"several of {text}", [KeyError(text), RuntimeError(text)]) from error


BUGS = {
    quote_argument: "ValueError",
    quote_key: "KeyError",
    quote_input: "pydantic_core._pydantic_core.ValidationError",
    quote_value: "psycopg.errors.InvalidTextRepresentation (22P02)",
    quote_row: "psycopg.errors.UniqueViolation (23505)",
    quote_in_a_chain: "ExceptionGroup",
}


@pytest.fixture
def buggy():
    """buggy(bug): register the tool `look`, which calls `bug` with its argument."""
    made = []

    def register(bug):
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        tool = Tool("look", "Looks.", schema, lambda call: bug(call.input["text"]))
        made.append(extensions.register(Extension("looking", tools=[tool])))

    yield register
    for each in made:
        extensions.unregister(each)


@pytest.fixture(params=[JsonLines, TextLines], ids=["json", "text"])
def logged(request):
    """All that is logged by anybody at the level info, in lines with their exceptions."""
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setFormatter(request.param())
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
        error(400, f"bad {WORD}", "Refused."),
        error(529, "overloaded_error", f"{WORD} is too much"),
        garbled(answer(f"Your {WORD} is private."), after=1),
        answer(tool_use("save_memory", {"content": [WORD], WORD: WORD})),
        answer(tool_use(WORD, {"query": WORD})),
    ],
    ids=[
        "refused",
        "broken",
        "no key",
        "too often",
        "as a type",
        "overloaded",
        "garbled",
        "wrong arguments",
        "no such tool",
    ],
)
async def test_a_turn_that_fails_logs_nothing_of_it(ada, scripted, logged, failing):
    scripted.script(*[failing] * 6)
    await start.send(ada, uuid.uuid4(), uuid.uuid4(), f"Remember my {WORD}", listen=TurnPublisher)
    async with asyncio.timeout(60):
        while running_turns:
            await asyncio.sleep(0.01)
    assert lines_with_word(logged) == []


@pytest.mark.parametrize("logged", [JsonLines], indirect=True)
@pytest.mark.parametrize("bug", BUGS)
async def test_a_bug_that_quotes_what_it_was_given_is_logged_without_it(ada, scripted, logged, buggy, bug):
    buggy(bug)
    scripted.script(answer(tool_use("look", {"text": WORD})), answer("That did not work."))
    await Talk(ada, scripted).say(f"Look at my {WORD}")
    assert lines_with_word(logged) == []
    (line,) = [line for line in logged.getvalue().splitlines() if "The tool look failed." in line]
    traceback = json.loads(line)["exc_info"]
    assert BUGS[bug] in traceback.splitlines(), "its type is named"
    assert f'{__file__}", line ' in traceback, "and where it was raised"
    assert f"in {bug.__name__}" in traceback
