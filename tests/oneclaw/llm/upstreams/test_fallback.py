"""Another server answers when the first one is overloaded; both are strict about thinking."""

import json

import pytest

from chat import extensions
from chat.extensions import Extension, Tool, ToolResult
from oneclaw import llm
from oneclaw.config.upstreams import read_upstreams
from oneclaw.models import Spend
from oneclaw.threads import in_database
from tests.scripted import ScriptedModel, answer, overloaded, rate_limited, tool_use, unknown_model
from tests.spending import NOBODY, Spending
from tests.talk import MODEL, Talk

pytestmark = pytest.mark.django_db(transaction=True)

ECHO = Tool("echo", "Returns its words.", {"type": "object"}, lambda call: ToolResult("Echoed.", "Echoed."))
HELLO = [{"role": "user", "content": "Hello?"}]


@pytest.fixture
def echo():
    extension = extensions.register(Extension("echo", tools=[ECHO]))
    yield extension
    extensions.unregister(extension)


@pytest.fixture
def second(scripted, settings, tmp_path, monkeypatch):
    """Another strict server, which has the model, too, and one of its own."""
    with ScriptedModel() as model:
        models = {MODEL: {"price": "4/20"}, "llama": {"label": "Llama at home", "instead_of": ["claude-haiku-5-5"]}}
        about = {"second": {"url": model.url, "key_variable": "SECOND_KEY", "models": models}}
        path = tmp_path / "upstreams.json"
        path.write_text(json.dumps(about))
        monkeypatch.setenv("SECOND_KEY", "its key")
        settings.UPSTREAMS, settings.MODEL, settings.TITLES = read_upstreams(str(path)), MODEL, False
        settings.PRICES = {MODEL: (2, 10, 0.2, 2.5)}
        yield model


def blocks_of(body, kind):
    return [block for each in body["messages"] for block in each["content"] if block["type"] == kind]


async def test_a_conversation_goes_on_there_in_the_middle_of_a_turn_and_comes_back(ada, scripted, second, echo, client):
    talk = Talk(ada, scripted)
    await talk.say("One")
    scripted.script(answer(tool_use("echo", {}, id="toolu_a")), overloaded())
    second.script(answer(tool_use("echo", {}, id="toolu_b")))
    answered = await talk.say("Two")
    # The second server called the tool again, and the first one ended the turn.
    [there] = second.messages
    assert there.headers["authorization"] == "Bearer its key"
    assert blocks_of(there.body, "thinking") == []
    assert len(blocks_of(there.body, "tool_result")) == 1
    assert "upstream" not in answered.meta
    assert talk.thoughts() == 2
    await talk.say("Three")
    assert talk.thoughts() == 2 + ("thinking" in {block["type"] for block in answered.content})

    scripted.script(overloaded())
    second.script(answer("I stand in."))
    answered = await talk.say("Four")
    assert (answered.text, answered.model, answered.meta["upstream"]) == ("I stand in.", MODEL, "second")
    assert not any(block.get("signature") for block in answered.content)
    assert second.messages[-1].body["thinking"]["type"] == "adaptive"
    spends = await in_database(lambda: list(Spend.objects.filter(purpose="answer")))
    assert sorted(int(spend.price[1]) for spend in spends) == [10] * 4 + [20] * 2
    await in_database(client.force_login, ada)
    page = await in_database(client.get, f"/messages/{answered.pk}/details")
    assert "(second)" in page.content.decode()
    # The first server takes it all again, with the thinking that it has signed itself.
    await talk.say("Five")


async def test_a_limit_of_the_rate_is_not_waited_for_when_another_server_has_a_substitute(scripted, second):
    scripted.script(rate_limited(retry_after=29))
    request = llm.Request("claude-haiku-5-5", [], HELLO, max_tokens=300, thinks=False)
    events = [event async for event in llm.stream(request, Spending(NOBODY))]
    assert not any(isinstance(event, llm.Retrying) for event in events)
    assert (events[-1].model, events[-1].upstream) == ("llama", "second")


async def test_when_all_servers_fail_the_first_is_asked_again_and_its_failure_is_told(scripted, second):
    scripted.script(overloaded(), overloaded(), overloaded())
    second.script(unknown_model(), unknown_model(), unknown_model())
    with pytest.raises(llm.OverloadedError):
        await llm.complete(llm.Request(MODEL, [], HELLO), Spending(NOBODY))
    assert (len(scripted.messages), len(second.messages)) == (3, 3)


async def test_an_answer_that_has_begun_is_not_begun_again_elsewhere(scripted, second):
    scripted.script(overloaded(answer("Once upon a time."), after="Once upon"))
    with pytest.raises(llm.OverloadedError):
        await llm.complete(llm.Request(MODEL, [], HELLO), Spending(NOBODY))
    assert second.messages == []


async def test_a_model_that_only_another_server_has_is_offered_and_asked_for_there(ada, scripted, second, adas):
    offered = await in_database(adas.get, "/models")
    assert "llama" in json.dumps(offered.json())
    assert await llm.complete(llm.Request("llama", [], HELLO), Spending(NOBODY)) == "Hello from the scripted model."
    assert (len(scripted.messages), len(second.messages)) == (0, 1)
