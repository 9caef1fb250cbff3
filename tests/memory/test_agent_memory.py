"""An agent with a memory of its own: it writes there, reads only that, and nobody else reads it."""

import uuid

import pytest

from chat.conversations import agents, transcript
from chat.conversations.model_choice import Choice
from chat.extensions import ToolCall
from chat.models import Agent, ChatSession
from memory.access.load import access_of
from memory.access.rights import agent_space, spaces_to_forget_in
from memory.access.sources import sources_of
from memory.forgetting import conversations
from memory.index import transcripts
from memory.models import AgentSpace, DocumentJob, MemoryDocument
from memory.notes import document_jobs, flush
from memory.prompt import context, recall
from memory.tools.save_memory import save_memory
from oneclaw.models import Space
from tests.conversations import settle


@pytest.fixture
def agent(ada):
    return Agent.objects.create(owner=ada, slug="diary", name="Diary", own_memory=True)


def talk(user, agent, text="Hello"):
    accepted = transcript.accept(user, uuid.uuid4(), uuid.uuid4(), text, choice=Choice(agent=agent.slug))
    settle(accepted)
    return ChatSession.objects.get(pk=accepted.message.session_id)


def save(session, content):
    return save_memory(ToolCall("t1", "save_memory", {"content": content}, session.owner, session))


def test_it_remembers_apart_from_its_person(ada, agent, space, append, session):
    append(space, "Ada likes tea.")
    mine = talk(ada, agent)
    save(mine, "Ada is afraid of geese.")
    assert [item["path"] for item in context.context_items(access_of(mine))] == ["MEMORY.md"]
    prompt = recall.workspace_section(mine, context.context_items(access_of(mine)))
    assert "geese" in prompt
    assert "tea" not in prompt
    assert "geese" not in recall.workspace_section(session, context.context_items(access_of(session)))
    assert "tea" in recall.workspace_section(session, context.context_items(access_of(session)))
    kept = MemoryDocument.objects.get(space=access_of(mine).home.space)
    assert kept.space != space
    assert kept.space.kind == "agent"
    assert kept.space.name == "Diary"
    assert access_of(mine).spaces == [kept.space]
    assert kept.space not in access_of(session).spaces


def test_its_notes_go_there_too(ada, agent):
    mine = talk(ada, agent)
    assert flush.request(mine, "ended").space == access_of(mine).home.space
    assert document_jobs.request(mine, DocumentJob.Kind.RECENT, 2).space == access_of(mine).home.space


def test_neither_side_reads_the_others_transcripts(ada, agent):
    other = Agent.objects.create(slug="house", name="House")
    mine, plain = talk(ada, agent), talk(ada, other)
    assert sources_of(access_of(mine)).transcripts_of is None
    assert sources_of(access_of(plain)).transcripts_of == ada
    assert transcripts.read(access_of(mine), f"/c/{plain.pk}") is None
    assert transcripts.read(access_of(plain), f"/c/{mine.pk}") is None
    assert transcripts.read(access_of(talk(ada, other)), f"/c/{plain.pk}") is not None


def test_it_is_one_space_for_each_person(ada, stranger):
    shared = Agent.objects.create(slug="house", name="House", own_memory=True)
    mine, theirs = access_of(talk(ada, shared)).home.space, access_of(talk(stranger, shared)).home.space
    assert mine != theirs
    assert access_of(talk(ada, shared)).home.space == mine
    assert AgentSpace.objects.count() == 2
    assert not Space.objects.visible_to(stranger).filter(pk=mine.pk).exists()


def test_only_its_person_reads_and_forgets_in_it(client, ada, admin_person, stranger, agent):
    save(talk(ada, agent), "Ada is afraid of geese.")
    kept = MemoryDocument.objects.get()
    assert kept.space in spaces_to_forget_in(ada)
    for person in (admin_person, stranger):
        assert kept.space not in spaces_to_forget_in(person)
        client.force_login(person)
        assert client.get(f"/memory/{kept.pk}/").status_code == 404
    client.force_login(ada)
    assert "Diary" in client.get("/memory/files").content.decode()


def test_forgetting_looks_through_its_conversations(ada, agent, session):
    mine = talk(ada, agent)
    assert list(conversations.sessions_of(access_of(mine).home.space)) == [mine]


def test_what_it_remembers_is_called_as_it_is(ada, agent):
    space, other = (
        agent_space(agent, ada),
        access_of(talk(ada, Agent.objects.create(slug="house", name="House"))).home.space,
    )
    agents.update(agent, agents.AgentDraft("Journal", "", "", []))
    assert Space.objects.get(pk=space.pk).name == "Journal"
    assert Space.objects.get(pk=other.pk).name != "Journal"


def test_what_it_remembered_stays_when_it_goes(ada, agent):
    space = agent_space(agent, ada)
    agent.delete()
    assert Space.objects.visible_to(ada).filter(pk=space.pk).exists()


def test_it_is_told_nothing_of_a_tool_that_is_off(ada, agent):
    mine = talk(ada, agent)
    assert "save only what must last" in recall.guidelines_section(mine, [])
    before = recall.prompt_condition(mine)
    mine.agent.tools_off = ["save_memory"]
    assert "save" not in recall.guidelines_section(mine, [])
    assert "memory_search" in recall.guidelines_section(mine, [])
    assert recall.prompt_condition(mine) != before
    mine.agent.tools_off = ["memory_search"]
    assert recall.guidelines_section(mine, []) == ""
