"""The scripted model itself: what tests and benchmarks lean on."""

import asyncio
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from django.conf import settings

from oneclaw import llm
from tests.scripted import ScriptedModel, answer, html, stalled, text, thinking, tool_use
from tests.spending import NOBODY, Spending

REQUEST = llm.Request("claude-test", [], [{"role": "user", "content": "Hello?"}])
BODY = {"model": "claude-test", "max_tokens": 100, "messages": [{"role": "user", "content": "x"}]}


def post(url, body, path="/v1/messages"):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as response:
        return response.headers["content-type"], response.read()


async def say(request=REQUEST):
    return "".join(
        [event.text async for event in llm.stream(request, Spending(NOBODY)) if isinstance(event, llm.TextDelta)]
    )


async def test_the_script_comes_first_and_then_the_rule(scripted):
    scripted.script(answer("one"), answer("two"))
    scripted.default = lambda body: answer(f"You are {body['model']}.")
    assert [await say() for _ in range(4)] == ["one", "two", "You are claude-test.", "You are claude-test."]


def test_a_request_that_does_not_stream_gets_one_message():
    with ScriptedModel(answer(thinking("Hm."), "Hello.", tool_use("look", {"at": 1}, id="toolu_1"))) as model:
        kind, body = post(model.url, BODY)
    message = json.loads(body)
    assert kind == "application/json"
    assert message["stop_reason"] == "tool_use"
    assert message["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"},
        {"type": "text", "text": "Hello."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}},
    ]


def test_a_page_is_sent_as_it_is():
    with ScriptedModel(html()) as model:
        kind, body = post(model.url, {**BODY, "stream": True})
    assert kind == "text/html"
    assert b"Sign in" in body


@pytest.mark.parametrize(("path", "status"), [("/v1/nowhere", 404), ("/v1/messages", 400)])
def test_what_the_api_does_not_have_is_an_error_of_the_api(path, status):
    with ScriptedModel() as model:
        with pytest.raises(urllib.error.HTTPError) as failed:
            post(model.url, {}, path)
        assert failed.value.code == status
        assert json.load(failed.value)["type"] == "error"
        failed.value.close()


async def test_a_pace_is_kept(scripted):
    scripted.script(answer(text("abcdefghij", size=1, pace=0.03), first_byte=0.1))
    began = time.monotonic()
    assert await say() == "abcdefghij"
    assert 0.38 <= time.monotonic() - began < 1.5


async def test_hundreds_of_streams_at_once(scripted):
    scripted.default = lambda body: answer(text("word " * 10, pace=0.02))
    said = await asyncio.gather(*(say() for _ in range(200)))
    assert set(said) == {"word " * 10}
    assert len(scripted.messages) == 200


async def test_a_client_that_leaves_is_noted(scripted):
    scripted.script(stalled(answer("Hello."), after="Hello"))
    task = asyncio.create_task(say())
    await asyncio.to_thread(scripted.wait_for, 1)
    await asyncio.sleep(0.1)
    task.cancel()
    for _ in range(100):
        if scripted.messages[0].outcome == "left":
            return
        await asyncio.sleep(0.02)
    raise AssertionError("The server still waits.")


def test_waiting_for_requests_that_do_not_come_ends():
    with ScriptedModel() as model, pytest.raises(TimeoutError, match="0 of 1"):
        model.wait_for(1, seconds=0.05)


def test_stopping_drops_who_still_reads():
    model = ScriptedModel(stalled(answer("Hello."), after="Hello"))
    model.start()
    url = model.url
    body = {"messages": [{"role": "user", "content": "x"}], "stream": True}
    code = "import sys, urllib.request as u; u.urlopen(sys.argv[1], sys.argv[2].encode()).read()"
    reading = subprocess.Popen(
        [sys.executable, "-c", code, f"{url}/v1/messages", json.dumps(body)], stderr=subprocess.DEVNULL
    )
    model.wait_for(1)
    model.stop()
    assert reading.wait(10) != 0
    with pytest.raises(OSError, match="refused"):
        post(url, body)


def test_it_runs_alone_and_ends_when_asked():
    command = [sys.executable, "-m", "tests.scripted", "--length", "20", "--size", "5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=settings.BASE_DIR) as alone:
        url = alone.stdout.readline().strip()
        _, body = post(url, {**BODY, "stream": True})
        assert b"The q" in body
        alone.send_signal(signal.SIGTERM)
        assert alone.wait(10) == 0
