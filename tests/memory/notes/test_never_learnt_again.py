"""What memory gave to a conversation does not come back as a new memory by a flush."""

import json

import pytest

from memory.models import MemoryDocument, Suggestion
from memory.notes import flush
from memory.prompt.items import piece
from oneclaw.models import Space
from tests.scripted import answer


@pytest.fixture
def notes_of(session, scripted, space):
    """notes_of("- one\\n- two"): what stands in the log when the model notes this."""

    def notes_of(notes):
        scripted.script(answer(notes))
        flush.run(flush.request(session, "switched").pk)
        log = MemoryDocument.objects.filter(path="memory/2026-11-21.md").first()
        return log.content.partition("Tea\n\n")[2] if log else None

    return notes_of


def test_curated_memory_of_the_prompt(session, say, notes_of):
    quoted = {"memory": [piece("curated", "MEMORY.md", 1, "- Ada likes tea.", 0, 16)]}
    session.head = session.heads.create(system="You are.", context=quoted)
    session.save()
    say(session, "What do I like?")
    assert notes_of("- Ada likes tea.\n- Ada asked what she likes.") == "- Ada asked what she likes.\n"


@pytest.mark.parametrize("key", ["results", None])
def test_what_the_tools_read(session, say, notes_of, key):
    passage = {"path": "memory/2026-11-01.md", "snippet" if key else "text": "## 9:00 Tea\n- Ada likes tea."}
    MemoryDocument.objects.create(space=Space.objects.own_of(session.owner), path=passage["path"])
    say(session, "What do I like?")
    use = {"type": "tool_use", "id": "t", "name": "memory_search" if key else "memory_get", "input": {}}
    say(session, "", role="assistant", content=[use])
    told = json.dumps({key: [passage]} if key else passage)
    say(session, "", role="tool", content=[{"type": "tool_result", "tool_use_id": "t", "content": told}])
    assert notes_of("- Ada likes tea.\n- New.") == "- New.\n"


def test_what_another_tool_brought_waits_for_a_yes(session, say, notes_of):
    say(session, "Look it up.")
    use = {"type": "tool_use", "id": "t", "name": "fetch", "input": {}}
    say(session, "", role="assistant", content=[use])
    told = json.dumps({"text": "- Ada likes tea."})
    say(session, "", role="tool", content=[{"type": "tool_result", "tool_use_id": "t", "content": told}])
    assert notes_of("- Ada likes tea.\n- Asked to look it up.") == "- Asked to look it up.\n"
    row = Suggestion.objects.get()
    assert (row.text, row.kind, row.name, row.path) == ("- Ada likes tea.", "tool", "fetch", "memory/2026-11-21.md")


def test_secrets_of_the_notes_are_masked(session, say, notes_of):
    say(session, "My password is hunter2!")
    assert notes_of("- The password is hunter2!") == "- The password is [password removed]\n"


ROUNDS = {
    "summary": {"summary": "## Facts\n- Ada likes tea."},
    "supplement": {"summary": "", "supplement": {"said": ["Hello", "Ada likes tea."]}},
    "block": {"summary": "", "block": {"type": "compaction", "content": "- Ada likes tea.", "signature": "s"}},
}


@pytest.mark.parametrize("held", ROUNDS)
def test_what_a_summary_of_noted_messages_says(session, say, notes_of, summarised, held):
    say(session, "I like tea.")
    say(session, "I see.", role="assistant")
    assert notes_of("NO_REPLY") is None
    summarised(session, 2, **ROUNDS[held])
    say(session, "And what do I like?")
    assert notes_of("- Ada likes tea.\n- Ada asked what she likes.\n- Compaction") == (
        "- Ada asked what she likes.\n- Compaction\n"
    )


def test_notes_of_messages_that_were_summarised_before_them_are_kept(session, say, notes_of, summarised):
    """When the window is full, a summary may come into use before the notes of what it replaces."""
    say(session, "I like tea.")
    say(session, "I see.", role="assistant")
    summarised(session, 2, "- Ada likes tea.", checks=["flush_owed"])
    say(session, "What do I like?")
    use = {"type": "tool_use", "id": "t", "name": "memory_search", "input": {}}
    say(session, "", role="assistant", content=[use])
    told = json.dumps({"results": [{"path": f"/c/{session.pk}", "snippet": "Ada likes green tea."}]})
    say(session, "", role="tool", content=[{"type": "tool_result", "tool_use_id": "t", "content": told}])
    assert notes_of("- Ada likes tea.\n- Ada likes green tea.") == "- Ada likes tea.\n- Ada likes green tea.\n"


def test_a_flush_is_written_from_the_messages_and_never_from_a_summary(session, say, scripted, notes_of, summarised):
    say(session, "I like tea.")
    say(session, "I see.", role="assistant")
    summarised(session, 2, "Zorabella", supplement={"said": ["Zorabella"]}, steps=["Zorabella"], focus="Zorabella")
    say(session, "I like cake too.")
    notes_of("- Ada likes tea and cake.")
    asked = json.dumps(scripted.requests[-1].body)
    assert "I like tea." in asked
    assert "I like cake too." in asked
    assert "Zorabella" not in asked
