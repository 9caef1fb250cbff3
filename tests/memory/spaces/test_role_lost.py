"""Who loses the role in the middle of a turn gets nothing more of the space, and the next turn knows nothing of it."""

import asyncio
import json

import pytest

from chat.models import ChatSession, default_agent
from memory.documents.write import Append, Author, Source, apply
from memory.index.documents import index_document
from memory.models import MemoryDocument
from oneclaw.models import SpaceMember
from oneclaw.threads import in_database
from tests.scripted import answer, text, tool_use
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)

# What the kitchen's curated memory says, and what only its log does.
CURATED, LOGGED = "heron-4711", "stork-0815"


def remember(kitchen, ada, cem):
    """Store the words in the kitchen's memory, and begin a private conversation of Cem's there."""
    for path, word in (("MEMORY.md", CURATED), ("memory/2026-11-02.md", LOGGED)):
        apply(kitchen, path, Append(f"- The code of the safe is {word}.\n"), Author(Source.PAGE, ada))
    for document in MemoryDocument.objects.all():
        index_document(document.pk)
    return ChatSession.objects.create(key="cems", owner=cem, agent=default_agent(), title="Safe", space=kitchen)


async def test_tools_find_nothing_of_the_space_any_more(kitchen, ada, cem, scripted):
    session = await in_database(remember, kitchen, ada, cem)
    calls = [
        tool_use("memory_search", {"query": "code of the safe", "min_score": 0}),
        tool_use("memory_get", {"path": f"spaces/{kitchen.pk}/memory/2026-11-02.md"}),
        tool_use("memory_get", {"path": f"spaces/{kitchen.pk}/MEMORY.md"}),
    ]
    looking = text(["Let me", " look."], pace=0.5)
    scripted.script(answer(looking, *calls), answer(text("Nothing.")), answer(text("Bye.")))
    talk = Talk(cem, scripted)
    talk.session_id = session.pk
    asking = asyncio.create_task(talk.say("Look into the safe."))
    while not scripted.messages:
        await asyncio.sleep(0.01)
    await in_database(lambda: SpaceMember.objects.get(space=kitchen, user=cem).delete())
    await asking
    asked, answered = (request.body for request in scripted.messages)
    # A member has asked.
    assert CURATED in json.dumps(asked)
    results = json.dumps(answered["messages"][-1])
    assert results.count("tool_result") == len(calls)
    assert CURATED not in results
    assert LOGGED not in results
    await talk.say("What is the code of the safe?")
    assert CURATED not in json.dumps(talk.sent)
