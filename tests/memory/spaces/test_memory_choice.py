"""Which memory a conversation reads is chosen: a model finds nothing of another one, and what was said without
memory is never remembered."""

import json
import re
import uuid

import pytest
from django.utils import timezone

from chat.conversations import titles
from chat.conversations.model_choice import Choice
from chat.conversations.shared import share
from chat.conversations.transcript import accept
from chat.models import ChatSession, Head
from memory.access.load import access_of
from memory.documents.write import Append, Author, Source, apply
from memory.index import conversations
from memory.index.documents import index_document
from memory.index.transcripts import transcript_messages
from memory.models import Flush, MemoryDocument, MemoryRevision
from memory.notes import flush
from memory.skills.approval import approve
from memory.skills.catalogue import find_skill
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.conversations import send, settle
from tests.programs import Program
from tests.scripted import answer, text, tool_use
from tests.talk import Talk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("session_tools")]

OWN, TEAMS = "heron-4711", "walrus-0815"
PATHS = ("MEMORY.md", "AGENTS.md", "memory/2026-11-02.md", "notes.md")
SKILL = "---\nname: {name}\ndescription: Keeps {word}.\n---\nWrite about {word}.\n"


def remember(ada, kitchen):
    """Store the words OWN everywhere in Ada's memory, and TEAMS everywhere in the kitchen's."""
    own, by_ada = Space.objects.own_of(ada), Author(Source.PAGE, ada)
    for space, word, name in ((own, OWN, "diary"), (kitchen, TEAMS, "menu")):
        for path in (*PATHS, *(["USER.md", "Recent Conversations.md"] if space == own else [])):
            apply(space, path, Append(f"- The code of the safe is {word}.\n"), by_ada)
        apply(space, f"skills/{name}/SKILL.md", Append(SKILL.format(name=name, word=word)), by_ada)
        skill = find_skill(ada, "own" if space == own else str(space.pk), name)
        approve(ada, skill, skill.digest)
    for document in MemoryDocument.objects.all():
        index_document(document.pk)
    return own


def said_before(ada, kitchen, word, *, is_shared):
    """A conversation in which `word` was said, with an index."""
    session = settle(send(ada, f"The code of the safe is {word}.")).session
    if is_shared:
        session = share.share(ada, session, kitchen)
    conversations.run(conversations.request(session))
    return session


async def tried(talk, scripted, own, kitchen, said):
    """Let the model try every way into both memories; return all that it was sent, without what it wrote itself."""
    reads = [
        *((f"{place}{path}") for place in ("", f"spaces/{kitchen.pk}/", f"spaces/{own.pk}/") for path in PATHS),
        "USER.md",
        "Recent Conversations.md",
        *(f"/c/{session.pk}" for session in said),
    ]
    tries = [
        ("memory_search", {"query": "the code of the safe", "min_score": 0, "max_results": 60}),
        *(("memory_get", {"path": path}) for path in reads),
        *(("skill_read", {"name": name}) for name in ("diary", "menu")),
        ("sessions_list", {}),
        *(("sessions_history", {"session": str(session.pk)}) for session in said),
    ]
    calls = [tool_use(name, arguments) for name, arguments in tries]
    scripted.script(*(answer(*calls[at : at + 12]) for at in range(0, len(calls), 12)), answer(text("Tried.")))
    first = len(scripted.messages)
    await talk.say("Use $diary and $menu, and read the code of the safe.")
    return "\n".join(json.dumps(request.body) for request in scripted.messages[first:])


async def test_a_model_finds_only_the_chosen_memory_however_it_tries(ada, kitchen, private, scripted):
    own = await in_database(remember, ada, kitchen)
    said = [
        await in_database(lambda word=word, is_shared=is_shared: said_before(ada, kitchen, word, is_shared=is_shared))
        for word, is_shared in ((OWN, False), (TEAMS, True))
    ]
    for memory, found, hidden in (("own", [OWN], [TEAMS]), ("space", [TEAMS], [OWN]), ("none", [], [OWN, TEAMS])):
        session = await in_database(
            lambda memory=memory: ChatSession.objects.create(
                key=f"private {memory}", owner=ada, agent=private.agent, space=kitchen, memory=memory
            )
        )
        talk = Talk(ada, scripted)
        talk.session_id = session.pk
        sent = await tried(talk, scripted, own, kitchen, said)
        assert [word for word in (OWN, TEAMS) if word in sent] == found, memory
        assert not [word for word in hidden if word in sent], memory


async def test_the_head_changes_with_the_choice_alone_and_without_memory_nothing_is_kept(
    ada, kitchen, private, scripted
):
    own = await in_database(remember, ada, kitchen)
    talk = Talk(ada, scripted)
    talk.session_id = private.pk
    scripted.script(*(answer(text("Yes.")) for _ in range(2)))
    await talk.say("One: the plums are ripe.")
    first = talk.sent["system"]
    await talk.say("Two.")
    assert talk.sent["system"][0]["text"] == first[0]["text"]
    scripted.script(
        answer(tool_use("save_memory", {"content": "Ada has a secret plan."})),
        answer(text("I cannot.")),
    )
    await talk.say("Three: I have a secret plan. Remember it.", choice=Choice(memory="none"))
    assert "turned memory off" in talk.sent["system"][0]["text"]
    assert not {"save_memory", "memory_search"} & {tool["name"] for tool in talk.sent.get("tools", [])}
    assert await in_database(Head.objects.filter(session=private).count) == 2
    # What was said before is noted; what was said without memory never is, also after it is chosen again.
    scripted.script(answer(text("Yes.")), answer(text("- The plums are ripe.")))
    await talk.say("Four: the figs are ripe.", choice=Choice(memory="all"))
    session = await in_database(ChatSession.objects.select_related("owner", "agent", "space").get, pk=private.pk)
    before = len(scripted.messages)
    await in_database(lambda: flush.run(flush.request(session, "ended").pk))
    noted = json.dumps([request.body for request in scripted.messages[before:]])
    assert "plums" in noted
    assert "figs" in noted
    assert "secret plan" not in noted
    assert await in_database(Flush.objects.filter(session=private, status="done").exists)
    words = await in_database(transcript, session)
    assert "plums" in words
    assert "secret plan" not in words
    assert not await in_database(MemoryRevision.objects.filter(document__space=own, source="tool").exists)


def transcript(session):
    return "\n".join(each.text for each in transcript_messages(access_of(session), session.last_seq))


def test_what_is_read_is_never_more_than_was_chosen(ada, bob, kitchen, private):
    program, bobs = Program(ada), Program(bob)
    address = f"/sessions/{private.pk}"
    assert program.get(address).json()["memory"] == "all"
    assert program.patch(address, memory="space").json()["memory"] == "space"
    assert bobs.patch(address, memory="none").status_code == 404
    # Out of the space there is nothing left of the choice.
    assert program.patch(address, space=0).json()["memory"] == "none"
    assert program.patch(address, memory="space").status_code == 422
    assert program.patch(address, memory="own", space=kitchen.pk).json()["memory"] == "own"
    private.refresh_from_db()
    share.share(ada, private, kitchen)
    assert program.get(address).json()["memory"] == "all"
    assert program.patch(address, memory="own").status_code == 422
    assert bobs.patch(address, memory="none").json()["memory"] == "none"


def asked_without_memory(user):
    choice = Choice(memory="none")
    return accept(user, uuid.uuid4(), uuid.uuid4(), "The diagnosis", None, None, choice)


def test_no_title_is_made_of_what_was_said_without_memory(ada, scripted):
    said = asked_without_memory(ada)
    settle(said, "Oh no.")
    session = said.turn.session
    ChatSession.objects.filter(pk=session.pk).update(memory="all", title="", title_due_at=timezone.now())
    titles.name_session(session.pk)
    assert ChatSession.objects.get(pk=session.pk).title == ""
    assert scripted.messages == []


def test_a_choice_of_no_memory_outlives_the_choice_of_a_space(ada, kitchen, client):
    client.force_login(ada)

    def chosen(**choice):
        field = client.get("/memory-choice", choice).content.decode()
        return re.findall(r'<option value="([\w:]+)"[^>]*\sselected', field)

    assert chosen(space=kitchen.pk, use="agent:none") == ["agent:none"]
    assert chosen(space=kitchen.pk, use="agent:all") == ["agent:all"]
    # What the other space does not offer falls back to the first, which is usual.
    assert chosen(use="agent:space") == []


def test_the_memory_is_not_changed_while_an_answer_runs(ada, adas):
    running = asked_without_memory(ada).turn.session
    assert adas.patch(f"/sessions/{running.pk}", memory="all").status_code == 409
    assert ChatSession.objects.get(pk=running.pk).memory == "none"
