"""A server that refuses what the real one refuses takes every request, whichever model it is for."""

import dataclasses

import pytest

from oneclaw import llm, tasks
from oneclaw.llm import facts
from oneclaw.llm.known_models import known_facts
from oneclaw.models import ModelFacts
from tests.scripted import answer, thinking
from tests.spending import NOBODY, Spending
from tests.strict_api.api import StrictApi
from tests.strict_api.models import MODELS

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # The SDK warns of models that will be retired.
    pytest.mark.filterwarnings("ignore:The model:DeprecationWarning", "ignore:Using Claude with"),
]
HELLO = [{"role": "user", "content": "Hello?"}]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("effort", ["", "low", "max"])
async def test_no_model_refuses_what_it_is_sent(scripted, settings, model, effort):
    settings.EFFORT, settings.THINKING = effort, 2048
    for request in (
        llm.Request(model, [], HELLO),
        llm.Request(model, [], HELLO, max_tokens=300, thinks=False),
        llm.Request(model, [], HELLO, max_tokens=300, effort="max", thinks=False),
    ):
        assert await llm.complete(request, Spending(NOBODY)) == "Hello from the scripted model."
    # One request for each: nothing had to be learnt, and nothing was cut.
    assert len(scripted.messages) == 3


@pytest.mark.parametrize("model", MODELS)
def test_the_documented_facts_are_the_servers(model):
    ours, theirs = known_facts(model), MODELS[model]
    assert (ours.thinking, ours.thinks) == (theirs.thinking, theirs.thinks)
    assert ours.preserved_thinking == theirs.preserved
    assert ours.window_tokens <= theirs.window_tokens
    assert ours.max_output_tokens == theirs.output_tokens
    assert set(ours.efforts) <= set(theirs.efforts)
    assert ours.compacts == theirs.compaction


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5", "llama-70b"])
async def test_a_server_of_the_plain_api_answers_too(scripted, settings, model):
    scripted.api = StrictApi(plain=True)
    settings.EFFORT = "high"
    for thinks in (True, False):
        request = llm.Request(model, [], HELLO, max_tokens=300, thinks=thinks)
        assert await llm.complete(request, Spending(NOBODY)) == "Hello from the scripted model."
    asked = len(scripted.messages)
    assert await llm.complete(request, Spending(NOBODY)) == "Hello from the scripted model."
    assert len(scripted.messages) == asked + 1


async def test_a_model_whose_thinking_uses_up_the_room_gives_no_answer(scripted):
    scripted.api = StrictApi(thinking_tokens=5_000)
    request = llm.Request("claude-haiku-5-5", [], HELLO, max_tokens=300)
    with pytest.raises(llm.TruncatedAnswerError):
        await llm.complete(request, Spending(NOBODY))
    quiet = dataclasses.replace(request, thinks=False)
    assert await llm.complete(quiet, Spending(NOBODY)) == "Hello from the scripted model."


async def test_the_thinking_of_an_answer_can_be_read(scripted):
    # The server sends it only to a request that asks for a summary.
    scripted.script(answer(thinking("They greet me."), "Hello."))
    events = [event async for event in llm.stream(llm.Request("claude-sonnet-5-5", [], HELLO), Spending(NOBODY))]
    assert "".join(event.text for event in events if isinstance(event, llm.ThinkingDelta)) == "They greet me."


async def test_a_window_smaller_than_documented_is_learnt(scripted):
    small = {"claude-sonnet-5-5": dataclasses.replace(MODELS["claude-sonnet-5-5"], window_tokens=20_000)}
    scripted.api = StrictApi(models_facts=small)
    long = [{"role": "user", "content": "word " * 20_000}]
    with pytest.raises(llm.ContextTooLongError) as failed:
        await llm.complete(llm.Request("claude-sonnet-5-5", [], long), Spending(NOBODY))
    assert failed.value.limit == 20_000
    assert facts.cached_facts("claude-sonnet-5-5").window_tokens == 20_000


def test_the_servers_description_is_understood(scripted, settings):
    settings.MODELS = {name: name for name in MODELS}
    tasks.refresh_model_facts()
    assert ModelFacts.objects.exclude(thinking=None).count() >= len(MODELS)
    for name, theirs in MODELS.items():
        found = llm.facts_of(name)
        assert (found.window_tokens, found.max_output_tokens) == (theirs.window_tokens, theirs.output_tokens)
        assert (found.thinking, found.efforts) == (theirs.thinking, theirs.efforts)
        assert found.compacts == theirs.compaction
