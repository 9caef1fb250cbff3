"""Log lines as JSON and as text, with the ids of what they belong to, and exceptions without their messages."""

import asyncio
import io
import json
import logging

import pytest
from django.http import HttpResponse
from django.utils.log import log_response

from oneclaw.llm.failures import failure_of_response
from oneclaw.telemetry import ids
from oneclaw.telemetry.logs import JsonLines, TextLines

WORD = "zyzzyva"


@pytest.fixture
def level():
    """The root's level is info, or what a test sets."""
    before = logging.root.level
    logging.root.setLevel(logging.INFO)
    yield logging.root.setLevel
    logging.root.setLevel(before)


@pytest.fixture(params=[JsonLines, TextLines], ids=["json", "text"])
def lines(request, level):
    """lines(name): a logger of that name; what it logs is in `lines.text`."""
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setFormatter(request.param())

    def logger(name="chat.turns.running"):
        made = logging.Logger(name)
        made.addHandler(handler)
        return made

    logger.text = output.getvalue
    return logger


def fail():
    raise ValueError(f"bad {WORD}")


def test_a_line_is_an_object_with_the_ids_and_the_exception(level):
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setFormatter(JsonLines())
    logger = logging.Logger("chat.turns.running")
    logger.addHandler(handler)
    request, turn = ids.request_id.set("req-7"), ids.turn_id.set(42)
    try:
        fail()
    except ValueError:
        logger.exception("Turn %s failed.", 42)
    finally:
        ids.request_id.reset(request)
        ids.turn_id.reset(turn)

    (line,) = output.getvalue().splitlines()
    found = json.loads(line)
    assert (found["level"], found["logger"], found["message"]) == ("ERROR", "chat.turns.running", "Turn 42 failed.")
    assert (found["request_id"], found["turn_id"]) == ("req-7", 42)
    first, *frames, name = found["exc_info"].splitlines()
    assert (first, name) == ("Traceback (most recent call last):", "ValueError")
    assert f'File "{__file__}", line {fail.__code__.co_firstlineno + 1}, in fail' in frames[-1]
    assert found["time"]


def test_every_exception_of_a_chain_is_named_and_none_is_quoted(lines):
    try:
        try:
            fail()
        except ValueError:
            try:
                raise KeyError(WORD)
            except KeyError as error:
                raise ExceptionGroup(WORD, [RuntimeError(WORD), OSError(28, WORD, WORD)]) from error
    except ExceptionGroup:
        lines().exception("It failed.")
    assert WORD not in lines.text()
    places = [lines.text().index(name) for name in ("ValueError", "KeyError", "ExceptionGroup", "RuntimeError")]
    assert places == sorted(places), "the first one first"
    assert "OSError (No space left on device)" in lines.text()


def test_an_endless_recursion_and_a_chain_in_a_circle_have_an_end(lines):
    def recurse():
        recurse()

    circle = [ValueError(WORD), KeyError(WORD)]
    circle[0].__cause__, circle[1].__cause__ = circle[1], circle[0]
    lines().error("It failed.", exc_info=circle[0])
    try:
        recurse()
    except RecursionError:
        lines().exception("It failed.")
    assert "further frames …" in lines.text()
    assert len(lines.text()) < 20_000


def test_an_exception_among_the_arguments_is_named(lines):
    lines().warning("Away: %s, %r", ValueError(WORD), OSError(13, WORD))
    lines().warning(KeyError(WORD))
    assert "Away: ValueError, 'OSError" not in lines.text()
    assert "Away: ValueError, " in lines.text()
    assert "KeyError" in lines.text()
    assert WORD not in lines.text()


def test_a_failure_of_the_model_tells_its_status_and_type(lines):
    body = {"error": {"type": "invalid_request_error", "message": f"bad {WORD}"}}
    lines().warning("Turn %s: %s", 1, failure_of_response(400, body))
    assert "Turn 1: 400 invalid_request_error" in lines.text()
    assert WORD not in lines.text()


def test_arguments_that_do_not_fit_lose_no_line_and_quote_nothing(lines, capsys):
    lines().warning("Two: %s %s", WORD)
    assert "Two: %s %s" in lines.text()
    assert WORD not in lines.text() + capsys.readouterr().err


def test_what_celery_tells_of_a_task_names_it_alone(lines):
    context = {"name": "chat.tasks.sweep", "id": "7", "exc": f"ValueError('{WORD}')", "args": WORD, "traceback": WORD}
    text = "Task %(name)s[%(id)s] raised unexpected: %(exc)s"
    lines("celery.app.trace").error(text, context, extra={"data": context})
    assert "Task chat.tasks.sweep[7] raised unexpected: …" in lines.text()
    assert WORD not in lines.text()


def test_a_task_of_the_event_loop_whose_exception_nobody_awaited_is_named(lines):
    async def failing():
        fail()

    async def story():
        loop = asyncio.get_running_loop()
        # As when the task is collected.
        task = loop.create_task(failing())
        await asyncio.wait([task])
        context = {"message": "Task exception was never retrieved", "exception": task.exception(), "future": task}
        loop.default_exception_handler(context)

    logger = logging.getLogger("asyncio")
    (handler,) = lines("asyncio").handlers
    logger.addHandler(handler)
    try:
        asyncio.run(story())
    finally:
        logger.removeHandler(handler)
    assert "Task exception was never retrieved" in lines.text()
    assert "in fail" in lines.text()
    assert WORD not in lines.text()


def test_what_a_library_adds_to_a_record_is_no_field(level, rf):
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setFormatter(JsonLines())
    logger = logging.Logger("django.request")
    logger.addHandler(handler)
    logger.error("Internal Server Error", extra={"request": rf.get("/search", {"q": WORD}), "status_code": 500})
    assert json.loads(output.getvalue())["status_code"] == 500
    assert WORD not in output.getvalue()


def test_what_another_handler_wrote_of_an_exception_is_not_taken_over(lines):
    logger = lines()
    logger.handlers.insert(0, logging.StreamHandler(io.StringIO()))
    try:
        fail()
    except ValueError:
        logger.exception("It failed.")
    assert "ValueError" in lines.text()
    assert WORD not in lines.text()


def test_at_the_level_debug_messages_are_kept(lines, level):
    level(logging.DEBUG)
    try:
        fail()
    except ValueError:
        lines().exception("It failed.")
    assert f"ValueError: bad {WORD}" in lines.text()


def test_a_probe_that_asks_too_early_logs_no_error(client, db, caplog):
    assert client.get("/readyz").status_code == 503
    assert [record.getMessage() for record in caplog.records] == []


def test_a_page_that_answers_the_same_is_logged(rf, caplog):
    log_response("Service Unavailable: %s", "/c/x", response=HttpResponse(status=503), request=rf.get("/c/x"))
    assert [record.getMessage() for record in caplog.records] == ["Service Unavailable: /c/x"]
