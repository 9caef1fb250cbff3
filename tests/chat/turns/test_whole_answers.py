"""What a turn does so that the person gets an answer in words: empty answers, pauses, many tools, and a full window."""

import json
import threading
import time

import pytest

from chat import extensions
from chat.context import notices
from chat.extensions import Extension, Tool, ToolResult
from chat.models import Message, Turn
from chat.rendering.messages import messages_html
from chat.rendering.shown import ShownMessage
from oneclaw.llm import facts_of
from oneclaw.reasons import Reason
from oneclaw.spend.usage import counts_of
from oneclaw.threads import in_database
from tests.scripted import answer, bad_request, thinking, tool_use
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)

EMPTY = {
    "nothing": answer(),
    "blanks": answer(" \n\t "),
    "thinking alone": answer(thinking("Hm."), stop_reason="end_turn"),
}


@pytest.fixture
def talk(ada, scripted):
    return Talk(ada, scripted)


@pytest.fixture
def tools():
    """The calls of the tools `look`, which only reads and takes a moment, and `note`, which writes."""
    calls, running, most = [], [], []
    lock = threading.Lock()

    def call(call):
        with lock:
            running.append(call.id)
            most.append(len(running))
        time.sleep(0.05)
        with lock:
            running.remove(call.id)
            calls.append(call.input.get("n"))
        return ToolResult("A result. " * int(call.input.get("size", 1)), "Done.")

    schema = {"type": "object"}
    look = Tool("look", "Looks.", schema, call, only_reads=True, whole=True)
    extension = extensions.register(Extension("odd", tools=[look, Tool("note", "Notes.", schema, call)]))
    yield {"calls": calls, "most": most}
    extensions.unregister(extension)


async def failed(talk, act, code):
    with pytest.raises(AssertionError, match=f"failed: {code}"):
        await act
    return await in_database(lambda: talk.messages().select_related("turn").last())


def html_of(message):
    return messages_html([ShownMessage(message)], {})


def told(body):
    return [block.get("text") for block in body["messages"][-1]["content"]]


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
async def test_an_empty_answer_is_asked_for_once_more(talk, scripted, empty):
    scripted.script(empty, answer("Here it is."))
    last = await talk.say("Hello")
    assert last.text == "Here it is."
    assert told(scripted.messages[1].body)[-1] == notices.PLEASE_ANSWER["text"]
    # What was said to the model is stored: the next request begins with it.
    await talk.say("Thanks")
    assert notices.PLEASE_ANSWER["text"] in json.dumps(scripted.messages[2].body["messages"][0])


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
async def test_an_answer_that_stays_empty_is_said_and_can_be_tried_again(talk, scripted, empty):
    scripted.script(empty, empty)
    last = await failed(talk, talk.say("Hello"), "empty_answer")
    assert last.turn.error == Reason("model.empty")
    html = await in_database(html_of, last)
    assert ("answered without text" in html, 'data-action="retry"' in html) == (True, True)
    assert len(scripted.messages) == 2
    last = await talk.repeat(Turn.Kind.RETRY)
    assert last.text == "Hello from the scripted model."


async def test_nothing_is_shown_of_an_answer_without_anything(talk, scripted):
    scripted.script(answer(), answer("Here it is."))
    await talk.say("Hello")
    empty = await in_database(lambda: talk.messages().filter(role="assistant").first())
    assert (empty.text, await in_database(html_of, empty)) == ("", "")


async def test_silence_after_words_and_tools_is_an_end(talk, scripted, tools):
    scripted.script(answer("I look.", tool_use("look", {})), answer(), answer())
    await talk.say("Hello")
    assert len(scripted.messages) == 3


async def test_a_paused_answer_goes_on(talk, scripted):
    scripted.script(answer("One,", stop_reason="pause_turn"), answer("two."))
    last = await talk.say("Count")
    assert last.text == "two."
    assert told(scripted.messages[1].body)[-1] == notices.GO_ON["text"]
    assert "One," in json.dumps(scripted.messages[1].body)


async def test_a_model_that_calls_tools_without_end_must_answer_in_the_last_request(talk, scripted, tools, settings):
    settings.TOOL_ROUNDS = 2

    def eager(body):
        if body.get("tool_choice") == {"type": "none"}:
            return answer("Enough.")
        return answer(tool_use("look", {}))

    scripted.default = eager
    last = await talk.say("Hello")
    assert last.text == "Enough."
    assert [each.body.get("tool_choice") for each in scripted.messages] == [None, None, {"type": "none"}]


async def test_a_model_that_only_calls_tools_is_told_truly_and_what_it_found_is_kept(talk, scripted, tools, settings):
    settings.TOOL_ROUNDS = 1
    scripted.default = lambda body: answer(tool_use("look", {}))
    await failed(talk, talk.say("Hello"), "only_tools")
    scripted.default = lambda body: answer("Found.")
    last = await talk.repeat(Turn.Kind.CONTINUE)
    assert last.text == "Found."
    assert "A result." in json.dumps(talk.sent["messages"])


async def test_a_refusal_says_why(talk, scripted):
    why = {"type": "refusal", "category": "bio", "explanation": "It is about dangerous things."}
    refused = answer("I ", stop_reason="refusal")
    scripted.script(type(refused)(refused.blocks, "refusal", ending={"stop_details": why}))
    last = await failed(talk, talk.say("Hello"), "refused")
    assert last.turn.error == Reason("model.refused", {"why": "It is about dangerous things."})
    assert "“It is about dangerous things.”" in str(last.turn.error)
    scripted.script(answer("I ", stop_reason="refusal"))
    last = await failed(talk, talk.say("Hello"), "refused")
    assert str(last.turn.error).startswith("The model declined to answer this. ")


async def test_of_one_answer_sixteen_calls_run_and_those_that_read_at_the_same_time(talk, scripted, tools):
    many = [tool_use("look", {"n": number}) for number in range(200)]
    scripted.script(answer(*many), answer("Done."))
    await talk.say("Hello")
    assert len(tools["calls"]) == 16
    assert 2 <= max(tools["most"]) <= 4
    results = talk.sent["messages"][-1]["content"]
    assert len(results) == 200
    assert sum("too_many_calls" in block["content"] for block in results) == 184
    assert [block["tool_use_id"] for block in results] == [
        block["id"] for block in talk.sent["messages"][-2]["content"] if block["type"] == "tool_use"
    ]


async def test_calls_that_write_run_one_after_the_other_in_order(talk, scripted, tools):
    scripted.script(answer(*(tool_use("note", {"n": number}) for number in range(5))), answer("Done."))
    await talk.say("Hello")
    assert (tools["calls"], max(tools["most"])) == ([0, 1, 2, 3, 4], 1)


async def test_continue_is_not_offered_in_the_middle_of_an_answer(talk, scripted, tools):
    scripted.script(answer("I look.", tool_use("look", {}), stop_reason="max_tokens"), answer("Done."))
    await talk.say("Hello")
    middle = await in_database(lambda: talk.messages().filter(role="assistant").first())
    assert middle.stop_reason == "max_tokens"
    assert 'data-action="continue"' not in await in_database(html_of, middle)


# -- A full window ---------------------------------------------------------------------------------


def size_of(body):
    """The tokens of a request, by a server whose tokens have three characters."""
    return len(json.dumps([body.get("system"), body.get("tools"), body["messages"]])) // 3


class SmallWindow:
    """A server whose window is full at `tokens`, and says so as the API does; `reply` answers what fits."""

    def __init__(self, tokens, reply):
        self.tokens, self.reply, self.refused = tokens, reply, 0

    def __call__(self, body):
        size = size_of(body)
        if size > self.tokens:
            self.refused += 1
            return bad_request(f"prompt is too long: {size} tokens > {self.tokens} maximum")
        found = self.reply(body)
        return type(found)(found.blocks, found.stop_reason, input_usage={"input_tokens": size})


def rounds_so_far(body):
    return sum(block["type"] == "tool_use" for each in body["messages"][-8:] for block in each["content"])


@pytest.mark.parametrize("window", [20_000, 32_000])
async def test_results_of_one_turn_never_overflow_a_small_window(talk, scripted, tools, settings, window):
    settings.WINDOWS = {settings.MODEL: window}

    def three_rounds_of_five(body):
        calls = sum(block["type"] == "tool_use" for each in body["messages"] for block in each["content"])
        if calls >= 15:
            return answer("Found it all.")
        return answer(*(tool_use("look", {"size": 2_000}) for _ in range(5)))

    server = scripted.default = SmallWindow(window, three_rounds_of_five)
    last = await talk.say("Look for everything")
    assert (last.text, server.refused) == ("Found it all.", 0)
    sizes = [
        sum(len(block["content"]) for block in each["content"] if block["type"] == "tool_result")
        for each in talk.sent["messages"]
    ]
    # The newest results are shortened first, and say how the rest is read.
    results = [size for size in sizes if size]
    assert results[0] >= results[-1] > 0
    assert "characters are left out here" in json.dumps(talk.sent["messages"])


async def test_an_answer_that_fills_the_window_is_kept_and_teaches_its_size(talk, scripted, settings):
    full = answer("Half of a long", stop_reason="model_context_window_exceeded", usage={"output_tokens": 9_000})
    scripted.script(full)
    last = await talk.say("Hello")
    assert (last.status, last.text) == (Message.Status.COMPLETE, "Half of a long")
    html = await in_database(html_of, last)
    assert 'data-action="continue"' in html
    window = (await in_database(facts_of, settings.MODEL)).window_tokens
    assert 9_000 < window == sum(counts_of(last.usage).values())


async def test_the_turn_after_a_full_window_has_room_again(talk, scripted, settings):
    for number in range(3):
        await talk.say(f"Question {number}. " + "More words about it. " * 200)
    scripted.script(answer("Half of a long", stop_reason="model_context_window_exceeded"))
    await talk.say("And more")
    before = size_of(talk.sent)
    await talk.say("What now?")
    assert "Question 0." not in json.dumps(talk.sent["messages"][1:])
    assert size_of(talk.sent) < before


async def test_the_message_alone_is_too_long_only_when_it_is(talk, scripted, settings):
    settings.WINDOWS = {settings.MODEL: 20_000}
    scripted.default = lambda body: bad_request("prompt is too long: 20100 tokens > 20000 maximum")
    last = await failed(talk, talk.say("Hello"), "context_too_long")
    assert last.turn.error == Reason("model.window_full")
    last = await failed(talk, talk.say("word " * 12_000), "context_too_long")
    assert last.turn.error == Reason("model.context_too_long")
