"""Who answers: the agent that a conversation begins with, and the model, which may change."""

import uuid

import pytest
from django.core.exceptions import ImproperlyConfigured

from chat.context import prompt
from chat.conversations import model_choice, transcript
from chat.conversations.model_choice import Choice
from chat.models import Agent, ChatSession
from chat.turns import retry
from oneclaw.config import environment
from tests.conversations import send, settle

MODELS = {"great-model": "Great", "small-model": "Small"}


@pytest.fixture(autouse=True)
def offered(settings):
    settings.MODEL, settings.MODELS = "server-model", MODELS


@pytest.fixture
def agent(ada):
    return Agent.objects.create(owner=ada, slug="hers", name="Hers", instructions="Answer in rhymes.")


def begin(user, session_id=None, **chosen):
    return transcript.accept(user, session_id or uuid.uuid4(), uuid.uuid4(), "Hello", choice=Choice(**chosen))


def asked_of(accepted):
    return prompt.build_request(accepted.turn).model


def test_the_list_is_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("ONECLAW_MODELS", "opus=Opus, the great one,\nsmall")
    with pytest.raises(ImproperlyConfigured, match="the great one"):
        environment.labelled("ONECLAW_MODELS")
    monkeypatch.setenv("ONECLAW_MODELS", "opus=Opus 5, small")
    assert environment.labelled("ONECLAW_MODELS") == {"opus": "Opus 5", "small": "small"}
    monkeypatch.delenv("ONECLAW_MODELS")
    assert environment.labelled("ONECLAW_MODELS") == {}


def test_the_servers_model_is_always_offered(settings):
    assert list(model_choice.offered_models()) == ["server-model", "great-model", "small-model"]
    settings.MODELS = {}
    assert model_choice.offered_models() == {"server-model": "server-model"}
    settings.MODELS = {"server-model": "Usual"}
    assert model_choice.offered_models() == {"server-model": "Usual"}


def test_a_message_chooses_the_model_from_then_on(ada):
    first = begin(ada, model="great-model")
    assert asked_of(first) == "great-model"
    settle(first)
    session = first.message.session_id
    again = send(ada, "More", session)
    assert asked_of(again) == "great-model"
    settle(again)
    other = begin(ada, session, model="small-model")
    assert asked_of(other) == "small-model"
    answer = settle(other)
    retried, _ = retry.repeat(ada, answer.pk, "retry", choice=Choice(model=""))
    assert prompt.build_request(retried).model == "server-model"


def test_a_model_that_is_not_offered_is_refused_and_makes_nothing(ada):
    with pytest.raises(model_choice.NoSuchModelError):
        begin(ada, model="secret-model")
    assert not ChatSession.objects.exists()
    first = begin(ada)
    settle(first)
    with pytest.raises(model_choice.NoSuchModelError):
        begin(ada, first.message.session_id, model="secret-model")
    assert ChatSession.objects.get().last_seq == 2


def test_a_model_that_was_taken_from_the_list_answers_no_more(ada, settings):
    first = begin(ada, model="great-model")
    settings.MODELS = {}
    assert asked_of(first) == "server-model"
    assert model_choice.last_model(ada) == ""


def test_the_next_conversation_begins_with_the_model_of_the_last(ada, stranger):
    begin(ada, model="great-model")
    assert (model_choice.last_model(ada), model_choice.last_model(stranger)) == ("great-model", "")
    begin(ada, model="")
    assert model_choice.last_model(ada) == ""


def test_an_agent_brings_its_model_and_its_instructions(ada, agent):
    agent.model = "small-model"
    agent.save()
    first = begin(ada, agent="hers")
    request = prompt.build_request(first.turn)
    assert request.model == "small-model"
    assert "Answer in rhymes." in request.system[0]["text"]
    assert first.message.session.key.startswith("agent:hers:")
    # What is offered no more does not answer under a person's agent; a server's agent is the admin's word.
    agent.model = "gone-model"
    assert model_choice.model_of_agent(agent) == "server-model"
    assert model_choice.model_of_agent(Agent(model="gone-model")) == "gone-model"


def test_the_agent_stays_as_the_first_message_chose(ada, agent):
    first = begin(ada, agent="hers")
    settle(first)
    session = first.message.session_id
    with pytest.raises(model_choice.OtherAgentError):
        begin(ada, session, agent="oneclaw")
    settle(begin(ada, session, agent="hers"))
    assert not send(ada, "More", session).duplicate


def test_a_message_sent_twice_is_known_whatever_it_names(ada, agent):
    client_id, session = uuid.uuid4(), uuid.uuid4()
    for known in (False, True):
        choice = Choice(agent="hers", model="great-model")
        assert transcript.accept(ada, session, client_id, "Hello", choice=choice).duplicate == known
        Agent.objects.filter(pk=agent.pk).update(deleted_at="2026-01-01T00:00Z")


@pytest.mark.parametrize("gone", [{"owner": "stranger"}, {"deleted_at": "2026-01-01T00:00Z"}, {"slug": "other"}])
def test_nobody_begins_with_an_agent_that_is_not_theirs_or_not_there(ada, stranger, agent, gone):
    fields = {name: stranger if value == "stranger" else value for name, value in gone.items()}
    Agent.objects.filter(pk=agent.pk).update(**fields)
    with pytest.raises(model_choice.NoSuchAgentError):
        begin(ada, agent="hers")
    assert not ChatSession.objects.exists()


async def test_forms_and_posted_frames_carry_the_choice(transactional_db, async_client, scripted, settings):
    from oneclaw.models import User
    from oneclaw.threads import in_database

    settings.MODEL, settings.MODELS = "server-model", MODELS
    grace = await in_database(User.objects.create_user, "grace@example.org", "a long password")
    await in_database(Agent.objects.create, owner=grace, slug="hers", name="Hers")
    await async_client.aforce_login(grace)

    async def post(session, **fields):
        return await async_client.post(f"/c/{session}/send", {"client_id": uuid.uuid4(), "text": "Hello", **fields})

    async def frame(session, **fields):
        frame = {"type": "send", "client_id": str(uuid.uuid4()), "session": str(session), "text": "Hello", **fields}
        answer = await async_client.post(f"/c/{session}/frame", frame, content_type="application/json")
        return answer.json()

    by_form, by_frame = uuid.uuid4(), uuid.uuid4()
    assert (await post(by_form, agent="nobody")).status_code == 409
    assert (await post(by_form, model="x" * 101)).status_code == 400
    assert (await post(by_form, agent="hers", model="great-model")).status_code == 302
    assert (await frame(by_frame, model=["a"]))["code"] == "bad_frame"
    assert (await frame(by_frame, model="secret-model"))["code"] == "not_offered"
    assert (await frame(by_frame, agent="hers", model="small-model"))["type"] == "ack"
    assert (await frame(by_frame, agent="oneclaw"))["code"] in ("other_agent", "busy")
    rows = await in_database(lambda: dict(ChatSession.objects.values_list("pk", "model")))
    assert rows == {by_form: "great-model", by_frame: "small-model"}


def test_the_page_offers_what_there_is_to_choose(client, ada, stranger, agent, settings):
    client.force_login(ada)
    Agent.objects.create(owner=stranger, slug="theirs", name="Theirs alone")
    page = client.get("/").content.decode()
    assert 'value="hers"' in page
    assert 'value="great-model"' in page
    assert "Theirs alone" not in page
    first = begin(ada, agent="hers", model="great-model")
    page = client.get(f"/c/{first.message.session_id}").content.decode()
    assert 'name="agent"' not in page
    assert '<option value="great-model" selected>' in page
    assert "Hers</p>" in page
    settings.MODELS = {}
    Agent.objects.filter(pk=agent.pk).update(deleted_at="2026-01-01T00:00Z")
    page = client.get("/").content.decode()
    assert 'name="agent"' not in page
    assert 'name="model"' not in page
