"""save_memory, to the letter."""

import json

import pytest
from django.db import connection

from chat.models import Message, Turn
from chat.tools import ToolCall, ToolError, call_tool, registry
from memory import documents, tools
from memory.documents import Append, Author, Replace, Source
from memory.models import MemoryDocument, MemoryRevision
from oneclaw.models import Space


@pytest.fixture
def save(session):
    """save(content): the result of one call that the model made."""
    message = Message.objects.create(session=session, seq=1, role="assistant")

    def save(content, id="toolu_1"):
        call = ToolCall(id, "save_memory", {"content": content}, session.owner, session, message.pk)
        return tools.SAVE.call(call)

    return save


def test_a_saved_memory_stands_in_memory_md_of_the_persons_own_space(save, space, ada, document_of):
    result = save("Ada likes tea.")
    assert document_of(space).content == "- Ada likes tea.\n"
    assert result.content == {"saved": True, "path": "MEMORY.md"}
    assert (result.summary, result.lines) == ("MEMORY.md", ["Ada likes tea."])
    revision = MemoryRevision.objects.get()
    assert (revision.source, revision.author, revision.message.role) == ("tool", ada, "assistant")


def test_each_memory_is_a_list_item_and_its_words_stay(save, space, document_of):
    save("one", "a")
    save("two *words*", "b")
    assert document_of(space).content == "- one\n- two *words*\n"


def test_several_lines_stay_as_they_are_in_a_paragraph_of_their_own(save, space, document_of):
    block = "# Plan\n\n- first\n    code\n  trailing  \n\n```\nfenced\n```"
    save("one", "a")
    save(block, "b")
    save("two", "c")
    assert document_of(space).content == f"- one\n\n{block}\n\n- two\n"


@pytest.mark.parametrize("content", ["- item", "# heading", "> quotation", "    code", "\tcode", "```"])
def test_what_has_a_form_of_its_own_gets_no_bullet(save, space, document_of, content):
    save(content)
    assert document_of(space).content == content + "\n"


@pytest.mark.parametrize("content", ["", " ", "\n\t ", "\u3000"])
def test_a_blank_memory_is_refused(save, content):
    with pytest.raises(ToolError) as refused:
        save(content)
    assert refused.value.code == "validation_error"
    assert refused.value.message == "Parameter 'content' is required and must be non-empty."
    assert not MemoryDocument.objects.exists()


@pytest.mark.parametrize("letter", ["a", "🫖", "e\u0301"[0], "\u0301"])
def test_5000_code_points_are_saved_and_5001_are_refused(save, space, document_of, letter):
    save("x" + letter * 4999)
    assert document_of(space).content == "- x" + letter * 4999 + "\n"
    with pytest.raises(ToolError) as refused:
        save("x" + letter * 5000, "another")
    assert refused.value.code == "validation_error"
    assert refused.value.message == "Parameter 'content' must be 5,000 characters or less."
    assert document_of(space).version == 1


def test_the_same_call_made_again_saves_nothing_twice(save, space, document_of):
    assert save("tea").content == save("tea").content
    assert document_of(space).content == "- tea\n"
    save("tea", "another call")
    assert document_of(space).content == "- tea\n- tea\n"


def test_a_full_document_is_a_failed_save(save, space, document_of):
    documents.apply(space, "MEMORY.md", Replace("x" * 1024 * 1024, 0), Author(Source.PAGE))
    with pytest.raises(ToolError) as failed:
        save("tea")
    assert failed.value.code == "save_failed"
    assert failed.value.message.startswith("Failed to save memory: MEMORY.md would have 1,048,58")
    assert document_of(space).version == 1


def test_a_database_that_refuses_is_a_failed_save(save, space, caplog):
    documents.apply(space, "MEMORY.md", Append("x"), Author(Source.PAGE))
    connection.check_constraints()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memory_memoryrevision ADD CONSTRAINT full_up CHECK (number < 2)")
    with pytest.raises(ToolError) as failed:
        save("tea")
    assert failed.value.code == "save_failed"
    assert failed.value.message == "Failed to save memory: the database did not take it."
    assert "full_up" in caplog.text
    assert MemoryDocument.objects.get().content == "x\n"


def test_text_that_cannot_be_stored_is_a_failed_save(save):
    with pytest.raises(ToolError) as failed:
        save("a\x00b")
    assert failed.value.code == "save_failed"
    assert failed.value.message.startswith("Failed to save memory: MEMORY.md cannot hold this text")


def test_a_failing_index_is_logged_and_the_save_succeeds(
    save, space, document_of, caplog, monkeypatch, django_capture_on_commit_callbacks
):
    import memory.indexing

    def fail(document_id, force=False):
        raise RuntimeError("no index today")

    monkeypatch.setattr(memory.indexing, "index_document", fail)
    with django_capture_on_commit_callbacks(execute=True):
        assert save("tea").content["saved"]
    assert "no index today" in caplog.text
    document = document_of(space)
    assert document.content == "- tea\n"
    assert list(MemoryDocument.objects.to_index()) == [document]


def test_through_the_registry_a_missing_content_reads_like_a_blank_one(session):
    prompt = Message.objects.create(session=session, seq=1, role="user")
    turn = Turn.objects.create(session=session, prompt=prompt, lease_until="2099-01-01T00:00Z")
    block, card = call_tool(turn, prompt, {"id": "t", "name": "save_memory", "input": {}}, "")
    assert json.loads(block["content"])["error"] == {
        "code": "validation_error",
        "message": "Parameter 'content' is required and must be non-empty.",
    }
    assert card["state"] == "failed"


@pytest.mark.parametrize(
    ("mode", "offered"),
    [
        ("agent", ["memory_get", "memory_search", "save_memory"]),
        ("chat", ["memory_get", "memory_search"]),
        ("temporary", []),
    ],
)
def test_what_a_session_is_offered_depends_on_its_mode(session, mode, offered):
    session.mode = mode
    names = [tool.name for tool in registry.for_session(session)]
    assert [name for name in names if "memory" in name] == offered


def test_nothing_is_saved_for_anybody_else(save, stranger):
    save("Ada's secret")
    assert not Space.objects.own_of(stranger).documents.exists()
    assert not MemoryDocument.objects.visible_to(stranger).exists()


def test_a_session_in_a_shared_space_still_saves_into_the_persons_own(save, session, space, stranger, document_of):
    session.space = Space.objects.create(kind="team", name="Team", owner=stranger)
    session.save()
    save("tea")
    assert document_of(space).content == "- tea\n"
