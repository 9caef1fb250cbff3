"""The effort of answers: the conversation's, else its agent's, else the server's, as far as the model accepts it."""

import uuid

import pytest

from chat.context import prompt
from chat.conversations import model_choice, transcript
from chat.conversations.model_choice import Choice
from chat.models import Agent, ChatSession, Effort
from chat.turns import retry
from oneclaw.llm.known_models import EFFORTS
from tests.conversations import send, settle
from tests.talk import MODEL, Talk

# It accepts the fields of the Messages API before there was effort.
WITHOUT_EFFORT = "claude-haiku-4-5"
AGENT = {"name": "Rhymer", "instructions": "Answer in rhymes.", "memory": "mine"}


@pytest.fixture
def agent(ada):
    return Agent.objects.create(owner=ada, slug="hers", name="Hers", effort="high")


@pytest.fixture
def models(scripted, settings):
    """Models with and without effort, on a server that refuses an unknown field."""
    settings.MODEL, settings.MODELS = MODEL, {WITHOUT_EFFORT: "Small"}


def begin(user, session_id=None, **chosen):
    return transcript.accept(user, session_id or uuid.uuid4(), uuid.uuid4(), "Hello", choice=Choice(**chosen))


def effort_for(accepted):
    return prompt.build_request(accepted.turn).effort


def test_every_level_of_the_api_can_be_chosen():
    assert tuple(Effort.values[1:]) == EFFORTS


async def test_a_model_is_sent_the_effort_only_where_it_accepts_one(transactional_db, ada, scripted, models):
    talk = Talk(ada, scripted)
    await talk.say("One", choice=Choice(effort="low"))
    assert talk.sent["output_config"] == {"effort": "low"}
    await talk.say("Two", choice=Choice(model=WITHOUT_EFFORT))
    assert (talk.sent["model"], "output_config" in talk.sent) == (WITHOUT_EFFORT, False)
    await talk.say("Three", choice=Choice(model=""))
    assert talk.sent["output_config"] == {"effort": "low"}
    # That of talk, unless an agent or a person says otherwise.
    await talk.say("Four", choice=Choice(effort=""))
    assert talk.sent["output_config"] == {"effort": "medium"}
    # No request was refused and repeated.
    assert len(scripted.messages) == 4


def test_a_message_chooses_the_effort_from_then_on(ada, agent):
    first = begin(ada, agent="hers")
    assert effort_for(first) == "high"
    settle(first)
    session = first.message.session_id
    second = begin(ada, session, effort="low")
    assert effort_for(second) == "low"
    settle(second)
    third = send(ada, "More", session)
    assert effort_for(third) == "low"
    answer = settle(third)
    retried, _ = retry.repeat(ada, answer.pk, "retry", choice=Choice(effort=""))
    assert prompt.build_request(retried).effort == "high"


def test_an_effort_that_does_not_exist_is_refused_and_makes_nothing(ada):
    with pytest.raises(model_choice.NoSuchEffortError):
        begin(ada, effort="huge")
    assert not ChatSession.objects.exists()
    first = begin(ada)
    settle(first)
    with pytest.raises(model_choice.NoSuchEffortError):
        begin(ada, first.message.session_id, effort="huge")
    assert ChatSession.objects.get().last_seq == 2


async def test_forms_and_posted_frames_carry_it(transactional_db, async_client, ada, models):
    await async_client.aforce_login(ada)
    by_form, by_frame = uuid.uuid4(), uuid.uuid4()
    form = {"client_id": uuid.uuid4(), "text": "Hello"}
    assert (await async_client.post(f"/c/{by_form}/send", form | {"effort": "huge"})).status_code == 409
    assert (await async_client.post(f"/c/{by_form}/send", form | {"effort": "max"})).status_code == 302
    frame = {"type": "send", "client_id": str(uuid.uuid4()), "session": str(by_frame), "text": "Hello"}

    async def posted(**fields):
        path = f"/c/{by_frame}/frame"
        return (await async_client.post(path, frame | fields, content_type="application/json")).json()

    assert (await posted(effort="huge"))["code"] == "not_offered"
    assert (await posted(effort="medium"))["type"] == "ack"
    rows = {row.pk: row.effort async for row in ChatSession.objects.all()}
    assert rows == {by_form: "max", by_frame: "medium"}


def test_the_page_offers_it_where_a_model_accepts_it(client, ada, models, settings):
    client.force_login(ada)
    assert 'name="effort"' in client.get("/").content.decode()
    first = begin(ada, effort="xhigh")
    page = client.get(f"/c/{first.message.session_id}").content.decode()
    assert '<option value="xhigh" selected>Very high</option>' in page
    settings.MODEL, settings.MODELS = WITHOUT_EFFORT, {MODEL: "Large"}
    assert 'name="effort"' in client.get("/").content.decode()
    settings.MODELS = {}
    assert 'name="effort"' not in client.get("/").content.decode()
    assert 'name="effort"' not in client.get("/agents/new").content.decode()


def test_an_agent_has_an_effort(client, ada, models):
    client.force_login(ada)
    assert '<option value="low">Low</option>' in client.get("/agents/new").content.decode()
    assert client.post("/agents/new", AGENT | {"effort": "huge"}).status_code == 422
    assert client.post("/agents/new", AGENT | {"effort": "low"}).status_code == 302
    agent = Agent.objects.get(owner=ada)
    assert effort_for(begin(ada, agent=agent.slug)) == "low"
    refused = client.post(f"/agents/{agent.slug}", AGENT | {"name": " ", "effort": "max"})
    assert '<option value="max" selected>' in refused.content.decode()
    assert client.post(f"/agents/{agent.slug}", AGENT | {"effort": ""}).status_code == 302
    assert effort_for(begin(ada, agent=agent.slug)) == ""


def test_an_admin_gives_the_servers_agent_an_effort(client, admin_person):
    client.force_login(admin_person)
    assert '<option value="max">Maximum</option>' in client.get("/admin/chat/agent/add/").content.decode()
