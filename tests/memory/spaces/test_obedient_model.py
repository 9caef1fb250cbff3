"""A model that does whatever it is told tries every way from a shared conversation into a person's own memory."""

import json

import pytest
from django.utils import timezone

from chat.models import ChatSession, Message, default_agent
from memory.documents.write import Append, Author, Source, apply
from memory.index import conversations
from memory.index.documents import index_document
from memory.models import MemoryDocument, MemoryRevision, Proposal
from memory.skills.approval import approve
from memory.skills.catalogue import find_skill
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.scripted import answer, text, tool_use
from tests.talk import Talk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("session_tools")]

# Words that only Ada's own memory has.
OWN = "heron-4711"
SKILL = f"---\nname: diary\ndescription: Keeps the diary of {OWN}.\n---\nWrite about {OWN}.\n"


def remember(ada, kitchen, shared):
    """Store the words in every place of Ada's own memory, and others in the kitchen's."""
    own = Space.objects.own_of(ada)
    by_ada = Author(Source.PAGE, ada)
    for path in ("MEMORY.md", "USER.md", "AGENTS.md", "memory/2026-11-02.md", "Recent Conversations.md", "notes.md"):
        apply(own, path, Append(f"- The code of the safe is {OWN}.\n"), by_ada)
    apply(own, "skills/diary/SKILL.md", Append(SKILL), by_ada)
    skill = find_skill(ada, "own", "diary")
    approve(ada, skill, skill.digest)
    apply(kitchen, "MEMORY.md", Append("- The kitchen opens at nine.\n"), by_ada)
    private = ChatSession.objects.create(
        key="secret", owner=ada, agent=default_agent(), title=f"About {OWN}", space=kitchen, last_seq=1
    )
    said = f"The code of the safe is {OWN}."
    content = [{"type": "text", "text": said}]
    Message.objects.create(session=private, seq=1, role="user", text=said, content=content, created_at=timezone.now())
    conversations.run(conversations.request(private))
    for document in MemoryDocument.objects.all():
        index_document(document.pk)
    return own, private


async def test_no_way_leads_from_a_shared_conversation_to_what_a_person_remembers(shared, ada, kitchen, scripted):
    own, private = await in_database(lambda: remember(ada, kitchen, shared))
    tries = [
        ("memory_search", {"query": f"code of the safe {OWN}", "min_score": 0, "max_results": 60}),
        *(
            ("memory_get", {"path": path})
            for path in (
                "USER.md",
                "AGENTS.md",
                "Recent Conversations.md",
                "memory/2026-11-02.md",
                "notes.md",
                "memory.md",
                f"spaces/{own.pk}/MEMORY.md",
                f"../{own.pk}/MEMORY.md",
                f"/c/{private.pk}",
                "skills/diary/SKILL.md",
            )
        ),
        ("skill_read", {"name": "diary"}),
        ("sessions_list", {}),
        ("sessions_history", {"session": str(private.pk)}),
        ("save_memory", {"content": "The switch of saved memory is Ada's own from now on."}),
    ]
    calls = [tool_use(name, arguments) for name, arguments in tries]
    scripted.script(answer(*calls[:5]), answer(*calls[5:10]), answer(*calls[10:]), answer(text("Tried.")))
    talk = Talk(ada, scripted)
    talk.session_id = shared.pk
    asked = f"/memory own. Use $diary, switch to Ada's own memory (space {own.pk}), and read the code of the safe."
    await talk.say(asked)
    scripted.script(answer(text("Bye.")))
    await talk.say("What is the code of the safe? When does the kitchen open?")
    sent = "\n".join(json.dumps(request.body) for request in scripted.messages)
    assert "The kitchen opens at nine." in sent
    # The model itself has asked for the word; nothing has brought it back.
    answered = sent.replace(json.dumps(tries[0][1]["query"])[1:-1], "")
    assert OWN not in answered
    texts = await in_database(lambda: list(MemoryDocument.objects.filter(space=own).values_list("version", flat=True)))
    assert set(texts) == {1}
    row = await in_database(Proposal.objects.get)
    assert row.space_id == kitchen.pk
    assert not await in_database(lambda: MemoryRevision.objects.filter(space=kitchen, number__gt=1).exists())


async def test_a_private_conversation_in_a_space_writes_nothing_into_it(private, ada, kitchen, scripted):
    tries = [
        ("save_memory", {"content": "Ada is allergic to walnuts.", "space": str(kitchen.pk)}),
        ("save_memory", {"content": "Ada is allergic to walnuts."}),
    ]
    scripted.script(*(answer(tool_use(name, arguments)) for name, arguments in tries), answer(text("Saved.")))
    talk = Talk(ada, scripted)
    talk.session_id = private.pk
    await talk.say("Save to the kitchen: Ada is allergic to walnuts.")
    written = await in_database(lambda: list(MemoryRevision.objects.values_list("space__kind", flat=True)))
    assert set(written) == {"own"}
    assert not await in_database(Proposal.objects.exists)
