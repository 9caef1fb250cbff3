"""What the models can do is asked when the web process starts, and known before the first request."""

import asyncio
import dataclasses
import time

import pytest

from chat.context.view import META_KEY
from chat.models import Message
from memory.models import MemoryDocument
from oneclaw import llm, tasks
from oneclaw.demo import model as demo
from oneclaw.demo.results import passages_of
from oneclaw.llm import descriptions, facts
from oneclaw.llm.descriptions import begin
from oneclaw.models import ModelFacts
from oneclaw.threads import in_database
from tests.scripted import ScriptedModel
from tests.strict_api.api import StrictApi
from tests.strict_api.models import MODELS
from tests.talk import MODEL, Talk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_known():
    facts.forget_cache()
    yield
    facts.forget_cache()


def paths(server):
    return [request.path.partition("?")[0] for request in server.requests]


async def test_the_first_request_is_made_with_what_the_server_has_said(scripted, ada):
    small = {MODEL: dataclasses.replace(MODELS[MODEL], window_tokens=123_000)}
    scripted.api = StrictApi(models_facts=small)
    # Rows that were read before it was asked are not used.
    await in_database(llm.facts_of, MODEL)
    begin()
    await Talk(ada, scripted).say("Hello")
    await descriptions.end()
    assert paths(scripted).index("/v1/models") < paths(scripted).index("/v1/messages")
    assert facts.cached_facts(MODEL).window_tokens == 123_000


async def test_a_second_process_asks_nothing_and_reads_what_the_first_has_stored(scripted, ada):
    begin()
    await descriptions.first_answer()
    await descriptions.end()
    asked = len(scripted.requests)
    begin()
    await descriptions.first_answer()
    assert not descriptions.is_awaited()
    await descriptions.end()
    assert len(scripted.requests) == asked


async def test_a_server_that_does_not_answer_delays_the_first_request_by_a_bounded_time(scripted, ada, monkeypatch):
    monkeypatch.setattr(descriptions, "FIRST_MAX_SECONDS", 0.5)
    scripted.api = SilentAboutModels()
    begin()
    began = time.monotonic()
    talk = Talk(ada, scripted)
    await talk.say("Hello")
    assert time.monotonic() - began >= 0.5
    assert paths(scripted).count("/v1/messages") >= 1
    await descriptions.first_answer()
    assert not descriptions.is_awaited()
    await descriptions.end()


async def test_a_server_that_was_away_at_the_start_is_asked_again_soon(scripted, monkeypatch, settings):
    monkeypatch.setattr(descriptions, "AGAIN_FIRST_SECONDS", 0.05)
    with ScriptedModel() as other:
        address = other.url
    settings.ANTHROPIC_BASE_URL = address
    begin()
    await asyncio.sleep(0.1)
    assert not await in_database(ModelFacts.objects.exists)
    with ScriptedModel(port=int(address.rpartition(":")[2])):
        async with asyncio.timeout(20):
            while not await in_database(ModelFacts.objects.exists):
                await asyncio.sleep(0.05)
    await descriptions.end()


async def test_a_server_without_descriptions_is_asked_once(scripted):
    scripted.api = StrictApi(plain=True)
    begin()
    async with asyncio.timeout(20):
        await descriptions.first_answer()
    assert await in_database(ModelFacts.objects.filter(window=None).exists)
    await descriptions.end()


def test_a_worker_asks_when_it_starts(monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.refresh_model_facts, "apply_async", lambda arguments, **how: sent.append(arguments))
    tasks.ask_about_models()
    assert sent == [()]


class SilentAboutModels(StrictApi):
    """A server that answers requests, and is silent when it is asked for its models."""

    def models(self, *arguments):
        time.sleep(2)
        return super().models(*arguments)


# -- The keyless demo, six minutes after its start ------------------------------------------------


@pytest.fixture
def demo_model(settings, monkeypatch):
    monkeypatch.setattr(demo, "DELTA_PAUSE_SECONDS", 0)
    settings.EMBEDDINGS = "none"
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = ""
    model = demo.start()
    settings.DEMO_URL = model.url
    yield model
    model.stop()


@pytest.mark.parametrize("cites", [True, False], ids=["sent search results", "sent JSON"])
async def test_the_demo_recalls_when_what_its_model_can_do_is_known(demo_model, ada, cites):
    await in_database(tasks.refresh_model_facts)
    await in_database(ModelFacts.objects.update, cites=cites)
    facts.forget_cache()
    await Talk(ada, demo_model).say("Remember that my cat is called Miso.")
    assert "Miso" in await in_database(lambda: MemoryDocument.objects.get(space__owner=ada, path="MEMORY.md").content)
    for question in ("What do you remember about me?", "What is my cat called?"):
        talk = Talk(ada, demo_model)
        answer = await talk.say(question)
        assert "My cat is called Miso" in answer.text, question
        # Once more, when the results are sent again as they were.
        assert "My cat is called Miso" in (await talk.say("What is my cat called?")).text
        rows = await in_database(lambda talk=talk: list(talk.messages().filter(role=Message.Role.TOOL)))
        assert ["cited" in row.meta.get(META_KEY, {}) for row in rows] == [cites] * len(rows)
        assert all(passages_of(block) for row in rows for block in row.content)
