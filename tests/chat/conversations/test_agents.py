"""A person's own agents: nobody else's, with tools on and off, and gone without taking their conversations along."""

import uuid

import pytest

from chat import extensions
from chat.context import prompt
from chat.conversations import agents, transcript
from chat.conversations.model_choice import Choice
from chat.extensions import Extension, Tool, ToolError, ToolResult
from chat.models import Agent, ChatSession
from oneclaw.models import User
from tests.conversations import settle

FORM = {"name": "Rhymer", "instructions": "Answer in rhymes.", "model": "", "memory": "mine", "tools": ["dice"]}


@pytest.fixture(autouse=True)
def tools():
    made = [Tool(name, "", {"type": "object"}, lambda call: ToolResult("", "")) for name in ("dice", "coin")]
    extension = extensions.register(Extension("games", tools=made))
    yield
    extensions.unregister(extension)


@pytest.fixture
def agent(client, ada):
    client.force_login(ada)
    assert client.post("/agents/new", FORM).status_code == 302
    return Agent.objects.get(owner=ada)


def talk(user, agent):
    return transcript.accept(user, uuid.uuid4(), uuid.uuid4(), "Hello", choice=Choice(agent=agent.slug))


def test_it_is_made_and_changed_on_its_page(client, agent):
    assert (agent.name, agent.instructions, agent.own_memory) == ("Rhymer", "Answer in rhymes.", False)
    assert "coin" in agent.tools_off
    assert "dice" not in agent.tools_off
    assert "Rhymer" in client.get("/agents/").content.decode()
    assert "Answer in rhymes." in client.get(f"/agents/{agent.slug}").content.decode()
    changed = FORM | {"name": "Poet", "tools": ["dice", "coin"], "memory": "own"}
    assert client.post(f"/agents/{agent.slug}", changed).status_code == 302
    agent.refresh_from_db()
    # Whose memory it has stays.
    assert (agent.name, agent.own_memory) == ("Poet", False)
    assert not {"dice", "coin"} & set(agent.tools_off)


@pytest.mark.parametrize(
    "wrong", [{"name": " "}, {"name": "x" * 81}, {"instructions": "a\x00b"}, {"instructions": "x" * 20_001}]
)
def test_what_cannot_be_kept_is_said_and_stays_in_the_form(client, ada, wrong):
    client.force_login(ada)
    answer = client.post("/agents/new", FORM | wrong)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert 'role="alert"' in page
    assert 'value="dice" checked' in page
    assert 'value="coin" checked' not in page
    assert not Agent.objects.filter(owner=ada).exists()


def test_a_model_that_is_not_offered_cannot_be_given_to_it(client, ada):
    client.force_login(ada)
    assert client.post("/agents/new", FORM | {"model": "secret"}).status_code == 422


def test_a_tool_that_is_off_is_neither_offered_nor_run(ada, agent):
    accepted = talk(ada, agent)
    names = {tool["name"] for tool in prompt.build_request(accepted.turn).tools}
    assert "dice" in names
    assert "coin" not in names
    with pytest.raises(ToolError):
        extensions.find_tool(accepted.message.session, "coin")


def test_to_anybody_else_it_is_not_there(client, agent, stranger, admin_person):
    for person in (stranger, admin_person):
        client.force_login(person)
        for path in (f"/agents/{agent.slug}", f"/agents/{agent.slug}/delete"):
            assert client.get(path).status_code == 404
            assert client.post(path, FORM).status_code == 404
        for path in ("/agents/", "/"):
            assert "Rhymer" not in client.get(path).content.decode()
    assert "Rhymer" not in client.get("/admin/chat/agent/").content.decode()
    assert client.get(f"/admin/chat/agent/{agent.pk}/change/").status_code == 302
    agent.refresh_from_db()
    assert agent.deleted_at is None


def test_a_servers_agent_is_not_changed_by_people(client, ada):
    Agent.objects.create(slug="house", name="House")
    client.force_login(ada)
    assert "House" in client.get("/agents/").content.decode()
    assert client.post("/agents/house", FORM).status_code == 404
    assert client.post("/agents/house/delete").status_code == 404


def test_a_deleted_one_keeps_its_conversations(client, ada, agent):
    first = talk(ada, agent)
    settle(first)
    session = first.message.session
    assert "Its 1 conversation is kept" in client.get(f"/agents/{agent.slug}/delete").content.decode()
    assert client.post(f"/agents/{agent.slug}/delete").status_code == 302
    assert "Rhymer" not in client.get("/agents/").content.decode()
    assert "Hello" in client.get(f"/c/{session.pk}").content.decode()
    again = transcript.accept(ada, session.pk, uuid.uuid4(), "And now?")
    assert "Answer in rhymes." in prompt.build_request(again.turn).system[0]["text"]


def test_one_that_never_answered_goes_for_good(client, agent):
    client.post(f"/agents/{agent.slug}/delete")
    assert not Agent.objects.filter(pk=agent.pk).exists()


def test_its_person_can_be_deleted_with_it(ada, agent):
    settle(talk(ada, agent))
    User.objects.get(pk=ada.pk).delete()
    assert not Agent.objects.filter(pk=agent.pk).exists()
    assert not ChatSession.objects.exists()


def test_two_of_one_name_are_two(ada):
    draft = agents.checked_draft("Rhymer", "", "", [], "mine")
    assert agents.create(ada, draft).slug != agents.create(ada, draft).slug
