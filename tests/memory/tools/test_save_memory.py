"""save_memory, to the letter."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from chat import extensions
from chat.context.heads import make_head
from chat.extensions import ToolCall, ToolError
from chat.models import Message, Turn
from chat.rendering.messages import card_html
from chat.turns.tools import as_stored, call_tool
from memory.documents import write
from memory.documents.write import Append, Author, Replace, Source
from memory.models import MemoryDocument, MemoryRevision
from memory.tools.save_memory import SAVE
from oneclaw.models import Space


@pytest.fixture
def save(session):
    """save(content): the result of one call that the model made."""
    message = Message.objects.create(session=session, seq=1, role="assistant")

    def save(content, id="toolu_1"):
        call = ToolCall(id, "save_memory", {"content": content}, session.owner, session, message.pk)
        return SAVE.call(call)

    return save


def test_a_saved_memory_stands_in_memory_md_of_the_persons_own_space(save, space, ada, document_of):
    result = save("Ada likes tea.")
    assert document_of(space).content == "- Ada likes tea.\n"
    assert result.content == {"saved": True, "path": "MEMORY.md"}
    assert (result.summary, result.lines) == ("MEMORY.md", ["Ada likes tea."])
    revision = MemoryRevision.objects.get()
    assert (revision.source, revision.author, revision.message.role) == ("tool", ada, "assistant")


def test_the_card_of_a_saved_memory_leads_to_its_undo(save, client, ada, space, document_of):
    result = save("Ada likes tea.")
    assert result.undo == f"/memory/undo/{MemoryRevision.objects.get().pk}"
    use = {"id": "toolu_1", "name": "save_memory", "input": {}}
    card = card_html(use, {"state": "done", "summary": result.summary, "lines": result.lines, "undo": result.undo})
    assert f'href="{result.undo}" hx-post="{result.undo}"' in card
    client.force_login(ada)
    client.post(result.undo)
    assert document_of(space).is_deleted


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


@pytest.mark.parametrize("content", ["a" * 70_000, "🫖" * 6000])
def test_what_is_far_too_long_is_refused_in_the_same_words(session, content):
    message = Message.objects.create(session=session, seq=1, role="user")
    turn = Turn.objects.create(session=session, prompt=message, lease_until=message.created_at)
    use = {"type": "tool_use", "id": "toolu_1", "name": "save_memory", "input": {"content": content}}
    result, _ = call_tool(turn, message, use, "")
    told = {"code": "validation_error", "message": "Parameter 'content' must be 5,000 characters or less."}
    assert json.loads(result["content"]) == {"error": told}


def test_the_same_call_made_again_saves_nothing_twice(save, space, document_of):
    assert save("tea").content == save("tea").content
    assert document_of(space).content == "- tea\n"


def test_the_same_words_are_already_known_and_not_doubled(save, space, document_of):
    save("Ada likes tea.", "a")
    for number, words in enumerate(["Ada likes tea.", "  ada  LIKES tea", "- Ada likes tea."]):
        again = save(words, f"again {number}")
        assert again.content == {"saved": False, "already_known": True, "path": "MEMORY.md"}
        assert str(again.summary) == "Already in memory: MEMORY.md"
    assert save("Ada likes tea and cake.", "b").content["saved"]
    assert document_of(space).content == "- Ada likes tea.\n- Ada likes tea and cake.\n"


def test_with_the_setting_each_entry_stands_under_its_time(save, space, ada, document_of, settings):
    settings.MEMORY_TIMESTAMPS = True
    save("one", "a")
    save("two", "b")
    assert save("one", "c").content["already_known"]
    day = f"{ada.day():%Y-%m-%d}"
    pattern = rf"## {day} \d\d:\d\d\n\n- one\n\n## {day} \d\d:\d\d\n\n- two\n"
    assert re.fullmatch(pattern, document_of(space).content)


def test_memory_in_small_letters_is_taken_over_at_the_first_save(save, session, space, append, document_of):
    append(space, "# Ada\n\n- Ada likes tea.\n", path="memory.md")
    assert save("Ada likes tea.", "a").content["already_known"]
    assert save("Ada has a cat.", "b").content["saved"]
    assert document_of(space).content == "# Ada\n\n- Ada likes tea.\n- Ada has a cat.\n"
    assert document_of(space, "memory.md").is_deleted
    assert "- Ada likes tea." in make_head(session).system


def test_memory_in_small_letters_stays_beside_a_memory_md_with_content(save, space, append, document_of):
    append(space, "- Ada likes tea.\n", path="memory.md")
    append(space, "- Ada likes cake.\n")
    save("Ada has a cat.")
    assert document_of(space).content == "- Ada likes cake.\n- Ada has a cat.\n"
    assert document_of(space, "memory.md").content == "- Ada likes tea.\n"


def test_a_secret_is_masked_everywhere_and_the_person_is_asked(save, space, document_of):
    result = save("The wifi password is hunter2! at home")
    assert document_of(space).content == "- The wifi password is [password removed] at home\n"
    assert "ask whether it was meant to be kept" in result.content["masked"]
    assert str(result.lines[1]).startswith("Removed before saving: password.")
    assert "hunter2" not in str(result) + str(MemoryRevision.objects.values())


def test_a_line_that_only_a_daily_log_has_is_saved(save, session, space, append, document_of):
    append(space, "## 15:32 Tea\n\n- Ada moved to Bern.", path="memory/2026-11-20.md")
    passages = {"results": [{"path": "memory/2026-11-20.md", "snippet": "- Ada moved to Bern."}]}
    use = {"type": "tool_use", "id": "s", "name": "memory_search", "input": {"query": "where"}}
    told = {"type": "tool_result", "tool_use_id": "s", "content": json.dumps(passages)}
    Message.objects.create(session=session, seq=2, role="assistant", content=[use])
    Message.objects.create(session=session, seq=3, role="tool", content=[told])
    result = save("Ada moved to Bern")
    assert result.content == {"saved": True, "path": "MEMORY.md"}
    assert document_of(space).content == "- Ada moved to Bern\n"


def test_the_card_of_what_was_known_already_does_not_say_saved(save):
    cards = []
    for id in ("a", "b"):
        result = save("Ada likes tea.", id)
        card = {"state": "done", "summary": as_stored(result.summary), "lines": result.lines}
        cards.append(card_html({"id": id, "name": "save_memory", "input": {}}, card))
    assert "Saved to memory" in cards[0]
    assert "Saved" not in cards[1]
    assert "Nothing new to save" in cards[1]


def test_a_full_document_is_a_failed_save(save, space, document_of):
    write.apply(space, "MEMORY.md", Replace("x" * 1024 * 1024, 0), Author(Source.PAGE))
    with pytest.raises(ToolError) as failed:
        save("tea")
    assert failed.value.code == "save_failed"
    assert failed.value.message.startswith("Failed to save memory: MEMORY.md would have 1,048,58")
    assert document_of(space).version == 1


def test_a_database_that_refuses_is_a_failed_save(save, space, caplog):
    write.apply(space, "MEMORY.md", Append("x"), Author(Source.PAGE))
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
    from memory.index import documents as index

    def fail(document_id, force=False):
        raise RuntimeError("no index today")

    monkeypatch.setattr(index, "index_document", fail)
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
    shown = card_html({"id": "t", "name": "save_memory", "input": {}}, card)
    assert "Could not save to memory" in shown
    assert "is required and must be non-empty" in shown


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
    names = [tool.name for tool in extensions.tools_for(session)]
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


@pytest.mark.django_db(transaction=True)
def test_a_hundred_saves_at_once_are_a_hundred_lines_and_a_hundred_revisions(save, space, document_of, settings):
    settings.EMBEDDINGS, settings.CONTRADICTIONS = "none", False

    def save_one(number):
        try:
            save(f"Fact {number}", f"toolu_{number}")
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(save_one, range(100)))
    document = document_of(space)
    assert sorted(document.content.splitlines()) == sorted(f"- Fact {number}" for number in range(100))
    assert list(document.revisions.order_by("number").values_list("number", flat=True)) == list(range(1, 101))
    assert write.content_at(document, 100) == document.content
