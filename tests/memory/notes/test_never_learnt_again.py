"""What memory gave to a conversation does not come back as a new memory by a flush."""

import json

import pytest

from memory.models import MemoryDocument
from memory.notes import flush
from memory.prompt.items import piece
from oneclaw.demo.scripted import answer


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
    say(session, "What do I like?")
    use = {"type": "tool_use", "id": "t", "name": "memory_search" if key else "memory_get", "input": {}}
    say(session, "", role="assistant", content=[use])
    told = json.dumps({key: [passage]} if key else passage)
    say(session, "", role="tool", content=[{"type": "tool_result", "tool_use_id": "t", "content": told}])
    assert notes_of("- Ada likes tea.\n- New.") == "- New.\n"


def test_what_another_tool_brought_is_news(session, say, notes_of):
    say(session, "Look it up.")
    use = {"type": "tool_use", "id": "t", "name": "fetch", "input": {}}
    say(session, "", role="assistant", content=[use])
    told = json.dumps({"text": "- Ada likes tea."})
    say(session, "", role="tool", content=[{"type": "tool_result", "tool_use_id": "t", "content": told}])
    assert notes_of("- Ada likes tea.") == "- Ada likes tea.\n"


def test_secrets_of_the_notes_are_masked(session, say, notes_of):
    say(session, "My password is hunter2!")
    assert notes_of("- The password is hunter2!") == "- The password is [password removed]\n"
