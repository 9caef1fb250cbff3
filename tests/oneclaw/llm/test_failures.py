"""Every way in which the model can fail is one typed failure, with one plain sentence."""

import asyncio
import dataclasses
import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.utils import timezone

from oneclaw import llm
from oneclaw.llm.failures import failure_of_response
from oneclaw.reasons import Reason
from tests.scripted import (
    Reply,
    answer,
    bad_request,
    context_too_long,
    cut,
    ended,
    error,
    garbled,
    html,
    key_refused,
    overloaded,
    rate_limited,
    reset,
    server_fault,
    spend_limit,
    stalled,
    text,
    thinking,
    tool_use,
    unknown_model,
)
from tests.spending import NOBODY, Spending

REQUEST = llm.Request("claude-test", [], [{"role": "user", "content": "Hello?"}])
WHOLE = answer("Hello there, world.")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(llm.client, "RETRY_FIRST_SECONDS", 0.05)


async def outcome(request=REQUEST):
    """(text that was shown, seconds of each announced wait, the failure or Finished)"""
    said, waits = "", []
    try:
        async for event in llm.stream(request, Spending(NOBODY)):
            if isinstance(event, llm.TextDelta):
                said += event.text
            elif isinstance(event, llm.Retrying):
                waits.append(event.seconds)
            elif isinstance(event, llm.Finished):
                return said, waits, event
    except llm.ModelRequestError as failure:
        return said, waits, failure
    raise AssertionError("A stream ends with Finished or a failure.")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (key_refused(), llm.KeyRefusedError),
        (error(403, "permission_error", "no"), llm.KeyRefusedError),
        (error(402, "billing_error", "pay"), llm.SpendLimitError),
        (spend_limit(), llm.SpendLimitError),
        (unknown_model("claude-test"), llm.UnknownModelError),
        (bad_request(), llm.BadRequestError),
        (context_too_long(), llm.ContextTooLongError),
        (error(413, "request_too_large", "big"), llm.ContextTooLongError),
        (rate_limited(retry_after=600), llm.RateLimitedError),
        (html(), llm.UnreadableAnswerError),
        (bad_request("input length and `max_tokens` exceed context limit: 1 + 2 > 3"), llm.ContextTooLongError),
        (garbled(WHOLE), llm.UnreadableAnswerError),
    ],
)
async def test_what_cannot_pass_is_not_tried_again(scripted, reply, expected):
    scripted.script(reply)
    said, waits, failure = await outcome()
    assert type(failure) is expected
    assert (said, waits, len(scripted.requests)) == ("", [], 1)
    assert failure.sentence.endswith(".")


@pytest.mark.parametrize(
    "reply",
    [
        rate_limited(retry_after=0.05),
        rate_limited(),
        error(429, "rate_limit_error", "no", retry_after="inf"),
        error(429, "rate_limit_error", "no", retry_after="Wed, 21 Oct 2026 07:28:00 GMT"),
        overloaded(),
        overloaded(WHOLE),
        server_fault(500),
        server_fault(502),
        server_fault(504),
        reset(WHOLE),
        cut(WHOLE),
        ended(WHOLE),
        reset(WHOLE, after=200),
    ],
)
async def test_before_any_text_what_may_pass_is_tried_again(scripted, reply):
    scripted.script(reply, WHOLE)
    said, waits, finished = await outcome()
    assert said == "Hello there, world."
    assert isinstance(finished, llm.Finished)
    assert len(waits) == 1
    assert len(scripted.requests) == 2


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (rate_limited(retry_after=0.01), llm.RateLimitedError),
        (overloaded(), llm.OverloadedError),
        (server_fault(), llm.ServerFaultError),
        (reset(WHOLE), llm.UnreachableError),
    ],
)
async def test_it_is_tried_three_times_at_most(scripted, reply, expected):
    scripted.default = lambda body: reply
    _, waits, failure = await outcome()
    assert type(failure) is expected
    assert (len(waits), len(scripted.requests)) == (2, 3)


async def test_the_servers_wait_is_obeyed_and_told(scripted):
    scripted.script(rate_limited(retry_after=0.3), WHOLE)
    began = time.monotonic()
    _, waits, _ = await outcome()
    assert waits == [0.3]
    assert time.monotonic() - began >= 0.3


async def test_a_wait_that_is_too_long_is_told_to_the_person(scripted):
    scripted.script(rate_limited(retry_after=600))
    _, _, failure = await outcome()
    assert failure.retry_after == 600
    assert "10 minutes" in failure.sentence


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (overloaded(WHOLE, after="Hello"), llm.OverloadedError),
        (reset(WHOLE, after="Hello"), llm.CutOffError),
        (cut(WHOLE, after="Hello"), llm.CutOffError),
        (ended(WHOLE, after="Hello"), llm.CutOffError),
        (garbled(WHOLE, after="Hello"), llm.UnreadableAnswerError),
        (cut(answer("Hello", tool_use("t", {"a": 1})), after="Hello"), llm.CutOffError),
    ],
)
async def test_after_text_what_came_is_kept_and_nothing_is_tried_again(scripted, reply, expected):
    scripted.script(reply)
    said, waits, failure = await outcome()
    assert type(failure) is expected
    assert said.startswith("Hello")
    assert (waits, len(scripted.requests)) == ([], 1)


@pytest.mark.parametrize("after", [None, "Hello"])
async def test_silence_ends_by_the_timeout(scripted, settings, after):
    settings.SILENCE_TIMEOUT = 0.3
    scripted.script(stalled(WHOLE, after=after))
    began = time.monotonic()
    said, waits, failure = await outcome()
    assert type(failure) is llm.ModelTimeoutError
    assert said.startswith("Hello") == bool(after)
    assert waits == []
    assert time.monotonic() - began < 2


async def test_a_slow_answer_that_never_falls_silent_is_waited_for(scripted, settings):
    settings.SILENCE_TIMEOUT = 0.3
    scripted.script(answer(text("abcdefgh", pace=0.1, size=1), first_byte=0.2))
    said, _, finished = await outcome()
    assert said == "abcdefgh"
    assert isinstance(finished, llm.Finished)


async def test_a_server_that_is_not_there(scripted, settings):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings.ANTHROPIC_BASE_URL = f"http://127.0.0.1:{port}"
    _, waits, failure = await outcome()
    assert type(failure) is llm.UnreachableError
    assert len(waits) == 2


async def test_an_address_that_does_not_accept_is_given_up_in_time(scripted, settings):
    settings.CONNECT_TIMEOUT = 0.2
    # A listener whose queue is full accepts nothing more.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        held = []
        for _ in range(3):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
            held.append(waiting)
        settings.ANTHROPIC_BASE_URL = f"http://127.0.0.1:{full.getsockname()[1]}"
        began = time.monotonic()
        _, _, failure = await outcome()
        assert time.monotonic() - began < 3
        for waiting in held:
            waiting.close()
    assert type(failure) is llm.UnreachableError


async def test_without_a_key_nothing_is_asked(settings):
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = settings.DEMO_URL = ""
    _, waits, failure = await outcome()
    assert type(failure) is llm.NoKeyError
    assert waits == []
    with pytest.raises(llm.NoKeyError):
        await llm.count_tokens(REQUEST)


async def test_credentials_of_the_environment_are_not_picked_up(settings, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from the environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "from the environment")
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = settings.DEMO_URL = ""
    assert type((await outcome())[2]) is llm.NoKeyError


async def test_a_base_url_without_a_key_is_asked_with_a_placeholder(scripted, settings):
    settings.ANTHROPIC_API_KEY = ""
    await outcome()
    assert scripted.requests[0].headers["authorization"] == "Bearer none"


@pytest.mark.parametrize("status", [301, 307, 404])
async def test_an_address_where_something_else_answers(scripted, status):
    page = Reply(status=status, headers={"content-type": "text/html", "location": "http://127.0.0.1:1/"}, body=b"<p>")
    scripted.default = lambda body: page
    _, _, failure = await outcome()
    assert type(failure) is llm.UnreachableError
    assert "ANTHROPIC_BASE_URL" in failure.sentence


def test_nothing_but_a_request_loads_the_sdk():
    """It takes 75 MB and a second, which an idle worker and the commands need not pay."""
    code = "import django; django.setup(); import sys, chat.turns.running; print('anthropic' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert shown.stdout.strip() == "False"


def environment():
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}


async def test_no_secret_is_told(scripted, settings):
    settings.ANTHROPIC_API_KEY = "sk-ant-secret"
    scripted.default = lambda body: key_refused()
    _, _, failure = await outcome()
    assert "sk-ant-secret" not in f"{failure.sentence} {failure} {failure!r}"


def test_a_log_holds_status_and_type_and_the_servers_sentence_only_when_debugging(caplog):
    failure = failure_of_response(400, {"error": {"type": "invalid_request_error", "message": "I live in Lisbon"}})
    assert str(failure) == "400 invalid_request_error"
    assert failure.explanation == "I live in Lisbon"
    with caplog.at_level(logging.DEBUG):
        assert str(failure) == "400 invalid_request_error: I live in Lisbon"


async def test_other_requests_fail_in_the_same_ways(scripted, settings):
    scripted.script(unknown_model())
    with pytest.raises(llm.UnknownModelError):
        await llm.complete(REQUEST, Spending(NOBODY))
    settings.ANTHROPIC_BASE_URL += "/nowhere"
    with pytest.raises(llm.UnknownModelError):
        await llm.models()


async def test_stopping_passes_through(scripted):
    scripted.script(stalled(WHOLE, after="Hello"))
    task = asyncio.create_task(outcome())
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_every_failure_has_its_own_sentence_and_a_code_of_the_protocol():
    protocol = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text()
    failures = list(kinds_of(llm.ModelRequestError))
    parameters = {
        llm.BudgetUsedUpError: ("all", "day", timezone.now()),
        llm.AddressRefusedError: (Reason("outgoing.form_refused", {"host": "h"}),),
    }
    sentences = {failure(*parameters.get(failure, ())).sentence for failure in failures}
    assert len(sentences) == len(failures) >= 14
    for failure in failures:
        assert f"`{failure.code}`" in protocol


def kinds_of(failure):
    for kind in failure.__subclasses__():
        yield kind
        yield from kinds_of(kind)


@pytest.mark.parametrize("before", ["first byte", "text", "tool"])
async def test_a_model_that_thinks_may_be_silent_for_longer(scripted, settings, before):
    settings.SILENCE_TIMEOUT = 0.3
    pause = 0.8
    blocks = [thinking("Hm.", pace=pause if before == "text" else 0), text("Hello.")]
    if before == "tool":
        blocks.append(tool_use("look", {}, pace=pause))
    reply = answer(*blocks, first_byte=pause if before == "first byte" else 0)
    scripted.default = lambda body: reply
    _, _, finished = await outcome(dataclasses.replace(REQUEST, model="claude-sonnet-5-5"))
    assert isinstance(finished, llm.Finished)
    _, _, failure = await outcome()
    assert type(failure) is llm.ModelTimeoutError


async def test_inside_a_text_a_model_that_thinks_may_not_be_silent(scripted, settings):
    settings.SILENCE_TIMEOUT = 0.3
    scripted.script(stalled(WHOLE, after="Hello"))
    began = time.monotonic()
    _, _, failure = await outcome(dataclasses.replace(REQUEST, model="claude-sonnet-5-5"))
    assert type(failure) is llm.ModelTimeoutError
    assert time.monotonic() - began < 2
