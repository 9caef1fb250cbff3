"""Servers that speak the Messages API in a way of their own: five messages with a save and a search, one to a strict
server, one back; what no server can answer is said truly."""

import json
import re

import pytest

from chat.library import totals
from chat.models import ChatSession, Message, placed
from memory.models import MemoryDocument
from oneclaw.llm import facts
from oneclaw.threads import in_database
from tests.odd_servers import ANSWERING, FAILING, AnyApi
from tests.scripted import ScriptedModel, answer, tool_use
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)

FACT = "My sister Nora lives in Lisbon."
QUESTIONS = ["Hello there.", f"Remember this: {FACT}", "Where does Nora live? Search for it.", "Thanks.", "One more."]


def reply_to(body):
    """The answer of a model that saves when it is asked to remember, and searches when it is asked to."""
    content = body["messages"][-1]["content"]
    words = content if isinstance(content, str) else json.dumps(content)
    if "tool_result" in words or "tools" not in body:
        return answer("It is done.")
    if "Remember this" in words:
        return answer("I save it.", tool_use("save_memory", {"content": FACT}))
    if "Search for it" in words:
        return answer("I look.", tool_use("memory_search", {"query": "Where does Nora live?"}))
    return answer("Yes, I hear you.")


@pytest.fixture
def odd(scripted, settings):
    """Return a function that starts to answer in one of the ways; further calls of it change the server."""
    started = []

    def at(way):
        if not started:
            started.append(ScriptedModel(default=reply_to, api=AnyApi(way)))
            started[0].start()
        settings.ANTHROPIC_BASE_URL = started[0].url
        facts.forget_cache()
        return started[0]

    settings.MODEL, settings.RETRY_SECONDS = "odd-large", 0
    yield at
    for each in started:
        each.stop()


def ids_in(body):
    return [block["id"] for each in body["messages"] for block in each["content"] if block["type"] == "tool_use"]


@pytest.mark.parametrize("name", ANSWERING)
async def test_an_odd_server_answers_and_the_conversation_goes_on_anywhere(ada, client, scripted, odd, settings, name):
    way = ANSWERING[name]
    home = settings.ANTHROPIC_BASE_URL
    server = odd(way.way)
    talk = Talk(ada, server)
    for question in QUESTIONS:
        last = await talk.say(question)
        assert last.text.strip().startswith(way.says or ("It is done.", "Yes, I hear you.")), last.text
    saved = await in_database(
        lambda: MemoryDocument.objects.filter(path="MEMORY.md", content__contains="Lisbon").count()
    )
    assert saved == (1 if way.saves else 0)
    if way.saves:
        assert "Lisbon" in json.dumps(server.messages[-1].body["messages"][-6:])
    # A strict server goes on with it at once.
    settings.ANTHROPIC_BASE_URL, settings.MODEL = home, "claude-sonnet-5-5"
    facts.forget_cache()
    talk.scripted = scripted
    await talk.say("And what do you say?")
    assert len(scripted.messages) == 1 + way.is_healed, "the strict server has refused the first request"
    ids = ids_in(scripted.messages[-1].body)
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", id) for id in ids)
    # And the first one goes on after it, with the ids that it knows.
    settings.MODEL = "odd-large"
    odd(way.way)
    talk.scripted = server
    await talk.say("Back again.")
    pages = await in_database(pages_of, client, talk)
    assert pages == {200}


def pages_of(client, talk):
    """The states of the pages that show what the answers took."""
    client.force_login(talk.user)
    answers = Message.objects.filter(session=talk.session_id, role="assistant")
    urls = [f"/c/{talk.session_id}", f"/c/{talk.session_id}/context", f"/c/{talk.session_id}/meter"]
    urls += [f"/messages/{each.pk}/details" for each in answers]
    totals.read_totals(placed(ChatSession.objects.filter(pk=talk.session_id), talk.user))
    return {client.get(url).status_code for url in urls}


@pytest.mark.parametrize("name", FAILING)
async def test_what_is_no_answer_is_said_truly(ada, odd, monkeypatch, name):
    monkeypatch.setattr("oneclaw.llm.client.RETRY_FIRST_SECONDS", 0.01)
    way, code, sentence = FAILING[name]
    talk = Talk(ada, odd(way))
    with pytest.raises(AssertionError, match=f"failed: {code}$"):
        await talk.say("Hello there.")
    turn = await in_database(lambda: talk.messages().select_related("turn").last().turn)
    assert sentence in str(turn.error)


def test_most_ways_are_answered():
    assert len(ANSWERING) >= 55
    assert len(FAILING) >= 20
