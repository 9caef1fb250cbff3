"""What stands in attached files is found, read and named after a summary, by who may read the conversation alone."""

import json
import uuid

import pytest

from chat.attachments import store
from chat.compaction.make import Work, supplement_for
from chat.context.prompt import rows_of
from chat.conversations import transcript
from chat.extensions import ToolCall, ToolError
from chat.models import ChatSession
from memory.access.load import access_of
from memory.forgetting import forget as forgetting
from memory.index import attached_files, conversations
from memory.models import TranscriptChunk, TranscriptIndex
from memory.policy import switches
from memory.policy.switches import Switch
from memory.tools.get import GET
from memory.tools.reading import SEARCH
from memory.trust.sources import sent_in_turn
from oneclaw.models import Space
from tests.conversations import FINISHED, send, settle, summarise

OFFER = "Offer 8\n\nThe roof of the boathouse costs 18,400 francs with copper.\nDelivery in week 14."


@pytest.fixture
def attach(ada):
    """attach(text, owner, name): the answered message with a file, and the file."""

    def attach(
        text=OFFER, owner=ada, name="offer8.txt", words="What do you think of this?", session_id=None, mode=None
    ):
        file = store.store_file(owner, name, text.encode())
        accepted = transcript.accept(owner, session_id or uuid.uuid4(), uuid.uuid4(), words, mode=mode, files=[file.pk])
        settle(accepted, "It is dear.")
        conversations.run(conversations.request(accepted.message.session) or 0)
        return accepted.message.session, file

    return attach


def call(tool, session, **arguments):
    fresh = ChatSession.objects.get(pk=session.pk)
    return tool.call(ToolCall("t", tool.name, arguments, fresh.owner, fresh, None)).content


def found(session, query="What does the copper roof of the boathouse cost?"):
    return call(SEARCH, session, query=query, min_score=0, max_results=20)["results"]


def other_session(user):
    accepted = send(user, "Another subject.")
    settle(accepted)
    return accepted.message.session


def test_the_text_of_a_file_is_found_in_another_conversation_and_read_there(ada, attach):
    _, file = attach()
    session = other_session(ada)
    hit = next(hit for hit in found(session) if hit["source"] == "file")
    assert (hit["path"], hit["title"]) == (f"/files/{file.pk}", "offer8.txt")
    assert "18,400 francs" in hit["snippet"]
    read = call(GET, session, path=hit["path"], from_line=hit["start_line"])
    assert "18,400 francs with copper" in read["text"]
    assert read["file"] == "offer8.txt"
    assert "nothing in it was said by the person" in read["note"]


def test_the_page_of_the_search_finds_it_and_leads_to_it(client, ada, attach):
    _, file = attach()
    client.force_login(ada)
    page = client.get("/memory/search", {"q": "copper roof of the boathouse"})
    assert page.status_code == 200
    assert f'href="/files/{file.pk}"' in page.content.decode()


def test_a_file_that_was_sent_without_words_is_found_too(ada, attach):
    attach(words="")
    assert "18,400" in found(other_session(ada))[0]["snippet"]


def test_after_a_summary_the_file_is_found_in_its_own_conversation_and_the_summary_names_the_way(ada, attach):
    session, file = attach()
    assert found(session) == []
    made = summarise(session, session.last_seq)
    assert "18,400" in found(session)[0]["snippet"]
    work = Work(made, session, rows_of(session), None)
    assert f"[offer8.txt: read it again with memory_get, path /files/{file.pk}]" in supplement_for(work)["notes"]
    assert "18,400" in call(GET, session, path=f"/files/{file.pk}")["text"]


def test_lines_of_the_conversation_are_counted_without_its_files(ada, attach):
    session, _ = attach()
    read = call(GET, other_session(ada), path=session.get_absolute_url())["text"]
    assert "18,400" not in read
    chunk = TranscriptChunk.objects.get(index__session=session, role="assistant")
    assert read.split("\n")[chunk.start_line - 1] == chunk.text == "It is dear."


def test_no_other_person_reads_the_file(ada, stranger, attach):
    _, file = attach()
    session = other_session(stranger)
    assert found(session) == []
    with pytest.raises(ToolError, match="There is no memory file"):
        call(GET, session, path=f"/files/{file.pk}")


def test_a_file_of_a_temporary_or_deleted_conversation_is_never_read(ada, attach):
    _, file = attach(mode="temporary")
    kept, gone = attach()
    session = other_session(ada)
    ChatSession.objects.filter(pk=kept.pk).update(deleted_at="2026-11-25T10:00Z")
    assert found(session) == []
    for each in (file, gone):
        with pytest.raises(ToolError, match="There is no memory file"):
            call(GET, session, path=f"/files/{each.pk}")


def test_a_file_is_not_read_while_transcripts_are_switched_off(ada, attach):
    session, file = attach()
    switches.choose(ada, Switch.TRANSCRIPTS, on=False)
    other = other_session(ada)
    assert found(other) == []
    with pytest.raises(ToolError, match="There is no memory file"):
        call(GET, other, path=f"/files/{file.pk}")
    # In its own conversation it was sent to the model anyway.
    assert "18,400" in call(GET, session, path=f"/files/{file.pk}")["text"]


def test_a_forgotten_line_is_in_neither(ada, attach):
    session, file = attach()
    forgetting.forget(Space.objects.own_of(ada), ["The roof of the boathouse costs 18,400 francs with copper."], ada)
    conversations.run(TranscriptIndex.objects.get(session=session).pk)
    other = other_session(ada)
    assert not any("18,400" in hit["snippet"] for hit in found(other))
    assert "18,400" not in call(GET, other, path=f"/files/{file.pk}")["text"]
    assert "week 14" in call(GET, other, path=f"/files/{file.pk}")["text"]


def test_the_newest_files_are_named(ada, attach, monkeypatch):
    monkeypatch.setattr(attached_files, "NAMED_MAX_COUNT", 1)
    session, _ = attach(name="old.txt")
    attach("New " + OFFER, name="new.txt", session_id=session.pk)
    fresh = ChatSession.objects.get(pk=session.pk)
    assert [each.split(":")[0] for each in attached_files.ways_to(access_of(fresh), fresh.last_seq, "memory_get")] == [
        "[new.txt"
    ]


def test_the_text_of_a_file_that_is_read_again_is_not_the_persons_own_word(ada, attach):
    _, file = attach()
    accepted = send(ada, "What did the offer say?")
    session = accepted.message.session
    use = {"type": "tool_use", "id": "toolu_1", "name": "memory_get", "input": {"path": f"/files/{file.pk}"}}
    results = transcript.finish_round(accepted.turn, accepted.answer, [use], **FINISHED)
    read = json.dumps(call(GET, session, path=f"/files/{file.pk}"), ensure_ascii=False)
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": read}
    transcript.finish_tools(accepted.turn, accepted.answer, results, [block], {})
    (source,) = sent_in_turn(access_of(ChatSession.objects.get(pk=session.pk)), ada, None).foreign
    assert (source.kind, source.name) == ("attachment", "offer8.txt")
    assert "18,400 francs" in source.text
