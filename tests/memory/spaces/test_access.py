"""A shared conversation reads and writes its space alone; a private one in a space reads it beside its owner's own."""

import json

import pytest
from django.utils import timezone

from chat.extensions import ToolCall, ToolError
from chat.models import ChatSession
from memory.access.load import access_of
from memory.access.sources import sources_of
from memory.index.conversations import due, request, run
from memory.index.documents import index_document
from memory.models import MemoryDocument, MemoryRevision, Proposal, TranscriptIndex
from memory.prompt.items import shown
from memory.prompt.recall import (
    guidelines_section,
    prompt_condition,
    recalled_items,
    recalled_text,
    workspace_items,
    workspace_section,
)
from memory.tools.get import GET, find_document
from memory.tools.reading import SEARCH
from memory.tools.save_memory import SAVE
from oneclaw.models import Space, SpaceMember


def call(tool, session, user, **arguments):
    return tool.call(ToolCall("toolu_1", tool.name, arguments, user, session, None))


@pytest.fixture
def known(append, space, kitchen):
    """Lines of Ada's own memory and of the kitchen's, indexed."""
    append(space, "- The safe of Ada opens with a blue key.\n")
    append(space, "Be brief with Ada.\n", path="USER.md")
    append(kitchen, "- The safe of the kitchen opens with a red key.\n")
    append(kitchen, "Answer with recipes.\n", path="AGENTS.md")
    for document in MemoryDocument.objects.all():
        index_document(document.pk)


def test_a_shared_conversation_is_sent_nothing_of_a_person(shared, known, say, ada):
    section = workspace_section(shared, workspace_items(shared))
    assert "red key" in section
    assert "Answer with recipes." in section
    assert "blue key" not in section
    assert "Be brief" not in section
    assert "“Kitchen”" in section
    assert "“Kitchen”" in guidelines_section(shared, [])
    recalled = recalled_items(access_of(shared), say(shared, "Which key opens the safe?"))
    assert [shown(item) for item in recalled] == [] or "blue" not in recalled_text(recalled)
    assert access_of(shared).spaces == [access_of(shared).home.space] == [shared.space]
    assert not access_of(shared).reads_conversations
    assert sources_of(access_of(shared)).asked_by is None


def test_its_tools_find_the_space_alone_for_whoever_asks(shared, known, ada, bob, space):
    for person in (ada, bob):
        found = call(SEARCH, shared, person, query="Which key opens the safe?").content["results"]
        assert {each["memory"] for each in found} == {"Kitchen"}
        assert "red key" in json.dumps(found)
        assert "blue key" not in json.dumps(found)
        assert "red key" in call(GET, shared, person, path="MEMORY.md").content["text"]
        for path in ("USER.md", f"spaces/{space.pk}/MEMORY.md", "skills/x/SKILL.md", "../1/MEMORY.md"):
            with pytest.raises(ToolError):
                call(GET, shared, person, path=path)


def test_a_former_member_gets_nothing_in_the_turn_that_runs(shared, known, bob, kitchen, say):
    message = say(shared, "Which key opens the safe?", author=bob)
    SpaceMember.objects.filter(user=bob).delete()
    assert recalled_items(access_of(shared, bob), message) == []
    for tool, arguments in ((SEARCH, {"query": "key"}), (GET, {"path": "MEMORY.md"}), (SAVE, {"content": "x"})):
        with pytest.raises(ToolError):
            call(tool, shared, bob, **arguments)


def test_a_save_in_a_shared_conversation_is_proposed_to_the_others(shared, say, bob, kitchen, space):
    say(shared, "Remember: the oven is broken.", author=bob)
    result = call(SAVE, shared, bob, content="The oven is broken.")
    assert result.content["proposed"]
    assert result.summary.code == "memory.proposed"
    (row,) = Proposal.objects.all()
    assert (row.space, row.author, row.text, row.state) == (kitchen, bob, "The oven is broken.", "waiting")
    assert not MemoryRevision.objects.exists()


def test_where_editors_write_directly_it_is_saved_and_a_reader_saves_nothing(shared, say, bob, rita, kitchen, space):
    Space.objects.filter(pk=kitchen.pk).update(needs_second_person=False)
    say(shared, "Remember: the oven is broken.", author=bob)
    assert call(SAVE, shared, bob, content="The oven is broken.").content["saved"]
    revision = MemoryRevision.objects.get()
    assert (revision.space, revision.author, revision.approved_by) == (kitchen, bob, None)
    with pytest.raises(ToolError, match="may read"):
        call(SAVE, shared, rita, content="The oven is new.")
    Space.objects.filter(pk=kitchen.pk).update(archived_at=timezone.now())
    with pytest.raises(ToolError, match="may read"):
        call(SAVE, shared, bob, content="The oven is red.")
    assert not SAVE.offered(ChatSession.objects.get(pk=shared.pk))


def test_a_private_conversation_in_a_space_reads_both_marked_and_saves_its_own(
    private, known, ada, space, kitchen, say
):
    section = workspace_section(private, workspace_items(private))
    assert "blue key" in section
    assert "Be brief" in section
    assert f'file="spaces/{kitchen.pk}/MEMORY.md"' in section
    assert "Memory of the space “Kitchen”" in section
    found = call(SEARCH, private, ada, query="Which key opens the safe?").content["results"]
    paths = {(each["path"], each.get("memory")) for each in found}
    assert {("MEMORY.md", None), (f"spaces/{kitchen.pk}/MEMORY.md", "Kitchen")} <= paths
    assert "red key" in call(GET, private, ada, path=f"spaces/{kitchen.pk}/MEMORY.md").content["text"]
    assert "blue key" in call(GET, private, ada, path="MEMORY.md").content["text"]
    say(private, "Remember that I like tea.")
    call(SAVE, private, ada, content="I like tea.")
    assert MemoryRevision.objects.latest("pk").space == space
    before = prompt_condition(private)
    SpaceMember.objects.filter(space=kitchen, user=ada).delete()
    assert prompt_condition(private) != before
    assert "red key" not in workspace_section(private, workspace_items(private))
    assert find_document(access_of(private), f"spaces/{kitchen.pk}/MEMORY.md") is None
    # A space keeps its owner.
    SpaceMember.objects.create(space=kitchen, user=ada, role="owner")


def test_what_is_recalled_of_the_space_is_marked_with_its_name(private, known, append, kitchen, say):
    append(kitchen, "- Deliveries come on Tuesday mornings from Hofmann.\n", path="memory/2026-11-02.md")
    index_document(MemoryDocument.objects.get(path="memory/2026-11-02.md").pk)
    recalled = recalled_items(access_of(private), say(private, "When do the deliveries of Hofmann come?"))
    text = recalled_text(recalled)
    assert f'file="spaces/{kitchen.pk}/memory/2026-11-02.md"' in text
    assert 'memory="Kitchen"' in text


def test_the_transcript_of_a_shared_conversation_is_found_by_members_alone(shared, say, ada, bob, stranger, search):
    say(shared, "Our supplier of saffron is Hofmann in Basel.", author=bob)
    run(request(shared))
    assert TranscriptIndex.objects.get().space == shared.space
    other = ChatSession.objects.create(
        key="other", owner=bob, agent=shared.agent, space=shared.space, shared_at=timezone.now()
    )
    question = {"query": "Who is our supplier of saffron?"}
    (found,) = call(SEARCH, other, ada, **question).content["results"]
    assert (found["path"], found["by"], found["memory"]) == (f"/c/{shared.pk}", "Bob", "Kitchen")
    assert "Bob (" in found["snippet"]
    assert "Hofmann" in call(GET, other, ada, path=f"/c/{shared.pk}").content["text"]
    mine = ChatSession.objects.create(key="mine", owner=ada, agent=shared.agent)
    assert call(SEARCH, mine, ada, **question).content["results"] == []
    with pytest.raises(ToolError):
        call(GET, mine, ada, path=f"/c/{shared.pk}")
    # Made private again, members find it no more, at once and after the sweep.
    ChatSession.objects.filter(pk=shared.pk).update(shared_at=None)
    assert call(SEARCH, other, bob, **question).content["results"] == []
    for index_id in due():
        run(index_id)
    assert TranscriptIndex.objects.get().space == Space.objects.own_of(ada)
    assert "Hofmann" not in json.dumps(call(SEARCH, mine, ada, **question).content)
