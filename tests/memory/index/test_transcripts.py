"""What was said is found again, word for word: by its owner, in other conversations, and while it is there."""

import datetime as dt
import json
import uuid

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from chat.conversations import branches, forking, lifecycle
from chat.extensions import ToolCall, ToolError
from chat.models import ChatSession, Message, Presence, default_agent
from chat.turns.hooks import send_turn_finished
from memory import tasks
from memory.access.sources import Sources
from memory.index import conversations, vectors
from memory.index.conversations import UNINDEXED_MIN_BYTES, UNINDEXED_MIN_MESSAGES
from memory.index.documents import index_document
from memory.models import TextVector, TranscriptChunk, TranscriptIndex
from memory.policy import switches
from memory.policy.switches import Switch
from memory.prompt import sent
from memory.search.manager import HybridSearchManager
from memory.tools.get import GET
from memory.tools.reading import SEARCH
from oneclaw.models import Space, SpaceMember
from tests.conversations import send, settle


@pytest.fixture
def talk(ada, say):
    """talk(*texts, owner=ada, …): a conversation in which these were said in turn, in the index."""

    def talk(*texts, owner=ada, title="Ferries", index=True, **fields):
        number = ChatSession.objects.count()
        session = ChatSession.objects.create(
            key=f"talk {number}{fields.pop('key', '')}", owner=owner, agent=default_agent(), title=title, **fields
        )
        for at, text in enumerate(texts):
            say(session, text, role=("user", "assistant")[at % 2], at=f"2026-11-20T23:{30 + at % 30}+00:00")
        if index:
            indexed(session)
        return session

    return talk


def indexed(session):
    index_id = conversations.request(session)
    return index_id is not None and conversations.run(index_id)


def call(tool, session, **arguments):
    return tool.call(ToolCall("t", tool.name, arguments, session.owner, session, None))


def found(session, query="ferry to Naxos"):
    return call(SEARCH, session, query=query, min_score=0, max_results=20).content["results"]


def test_what_was_said_is_found_with_title_date_and_role(session, talk):
    other = talk("When does the ferry to Naxos leave?", "The ferry to Naxos leaves at seven.\nBe early.")
    result = call(SEARCH, session, query="ferry to Naxos", min_score=0)
    hit = next(hit for hit in result.content["results"] if "leaves at seven" in hit["snippet"])
    told = {name: hit[name] for name in ("source", "path", "title", "date", "role")}
    # On the person's own day: it was half past midnight in Zurich.
    assert told == {
        "source": "conversation", "path": f"/c/{other.pk}", "title": "Ferries", "date": "2026-11-21",
        "role": "assistant",
    }  # fmt: skip
    assert "Assistant (2026-11-21 00:31):\nThe ferry to Naxos leaves at seven." in hit["snippet"]
    assert str(result.lines[0]).endswith(" · “Ferries”, 21 November 2026")


def test_it_is_read_around_under_its_path_by_the_lines_of_the_result(session, talk):
    other = talk("Hello", "Hi.\n\nHow are you?", "When does the ferry to Naxos leave?", "At seven.")
    hit = next(hit for hit in found(session) if "Naxos" in hit["snippet"])
    read = call(GET, session, path=hit["path"]).content
    lines = read["text"].split("\n")
    assert lines[hit["start_line"] - 1] == "When does the ferry to Naxos leave?"
    assert lines[:7] == [
        "Person (2026-11-21 00:30):", "Hello", "", "Assistant (2026-11-21 00:31):", "Hi.", "", "How are you?"
    ]  # fmt: skip
    with pytest.raises(ToolError):
        call(GET, other, path=hit["path"])


def test_documents_stay_found_beside_it_in_two_round_trips(ada, session, talk, append, django_assert_num_queries):
    talk("When does the ferry to Naxos leave?", "At seven.")
    document = append(Space.objects.own_of(ada), "- The ferry to Naxos is called Blue Star.\n").document
    index_document(document.pk)
    manager = HybridSearchManager([document.space], Sources(transcripts_of=ada))
    with django_assert_num_queries(2):
        passages = manager.search("ferry to Naxos", min_score=0)
    assert {passage.document_id for passage in passages} == {None, document.pk}


def test_the_conversation_itself_temporary_ones_and_ones_that_only_read_are_not_found(session, talk):
    assert found(talk("The ferry to Naxos")) == []
    for mode in ("temporary", "chat"):
        hidden = talk("The ferry to Naxos", mode=mode)
        assert not TranscriptIndex.objects.filter(session=hidden).exists()
        assert conversations.after_turn(hidden) is None
        with pytest.raises(ToolError):
            call(GET, session, path=f"/c/{hidden.pk}")


def test_one_that_was_indexed_and_is_temporary_all_the_same_is_neither_found_nor_kept(session, talk):
    other = talk("The ferry to Naxos")
    ChatSession.objects.filter(pk=other.pk).update(mode="temporary")
    assert found(session) == []
    conversations.due()
    assert not TranscriptIndex.objects.exists()


def test_nobody_else_finds_it_members_of_a_shared_space_neither(session, ada, stranger, talk):
    team = Space.objects.create(kind="team", name="Team", owner=stranger)
    for person in (ada, stranger):
        SpaceMember.objects.create(space=team, user=person)
    theirs = talk("The ferry to Naxos leaves at seven.", owner=stranger, space=team)
    session.space = team
    session.save()
    assert found(session) == []
    with pytest.raises(ToolError):
        call(GET, session, path=f"/c/{theirs.pk}")
    assert TranscriptIndex.objects.get().space == Space.objects.own_of(stranger)
    with pytest.raises(IntegrityError):
        take_over(ada)


@transaction.atomic
def take_over(person):
    TranscriptIndex.objects.update(owner=person)
    connection.check_constraints()


def test_a_deleted_conversation_leaves_the_index_at_once(session, talk, django_capture_on_commit_callbacks):
    other = talk("The ferry to Naxos leaves at seven.")
    space = TranscriptIndex.objects.get().space_id
    with transaction.atomic():
        lifecycle.delete(other)
        assert found(session) == []
    with django_capture_on_commit_callbacks(execute=True):
        lifecycle.delete(other)
    assert not TranscriptChunk.objects.exists()
    vectors.prune(space)
    assert not TextVector.objects.exists()
    assert not indexed(other)


def test_pruning_keeps_the_vectors_of_what_was_said(talk):
    talk("The ferry to Naxos leaves at seven.")
    before = TextVector.objects.count()
    vectors.prune(TranscriptIndex.objects.get().space_id)
    assert TextVector.objects.count() == before == 1


def test_a_conversation_deleted_while_it_is_indexed_does_not_come_back(talk, monkeypatch):
    other = talk("The ferry to Naxos leaves at seven.", index=False)
    index_id = conversations.request(other)
    made = conversations.build_chunks

    def deleted_meanwhile(*args):
        lifecycle.delete(other)
        return made(*args)

    monkeypatch.setattr(conversations, "build_chunks", deleted_meanwhile)
    assert not conversations.run(index_id)
    assert not TranscriptIndex.objects.exists()


def test_after_fifty_messages_it_is_due_five_seconds_later(session, talk, say):
    other = talk(*["Tea"] * (UNINDEXED_MIN_MESSAGES - 1), index=False)
    assert conversations.after_turn(other) is None
    say(other, "The ferry to Naxos")
    index_id = conversations.after_turn(other)
    rest = TranscriptIndex.objects.get().due_at - timezone.now()
    assert dt.timedelta(seconds=4) < rest <= dt.timedelta(seconds=5)
    assert not conversations.run(index_id)
    first = TranscriptIndex.objects.get().due_at
    conversations.after_turn(other)
    assert TranscriptIndex.objects.get().due_at > first
    TranscriptIndex.objects.update(due_at=timezone.now())
    assert conversations.run(index_id)
    assert not conversations.run(index_id)
    assert found(session)
    assert conversations.after_turn(other) is None


def test_a_conversation_that_never_rests_is_not_put_off_for_ever(talk):
    other = talk(*["Tea"] * 2 * UNINDEXED_MIN_MESSAGES, index=False)
    conversations.after_turn(other)
    first = TranscriptIndex.objects.get().due_at
    conversations.after_turn(other)
    assert TranscriptIndex.objects.get().due_at == first


def test_after_a_hundred_kilobytes_of_text_it_is_due_as_well(talk):
    assert conversations.after_turn(talk("ä" * (UNINDEXED_MIN_BYTES // 2 - 1), index=False)) is None
    assert conversations.after_turn(talk("ä" * (UNINDEXED_MIN_BYTES // 2), index=False)) is not None


def test_the_end_of_a_turn_tells_a_worker(ada, monkeypatch, django_capture_on_commit_callbacks):
    told = []
    monkeypatch.setattr(
        tasks.index_transcript, "apply_async", lambda args, **options: told.append(options["countdown"])
    )
    monkeypatch.setattr(conversations, "UNINDEXED_MIN_MESSAGES", 2)
    accepted = send(ada)
    settle(accepted)
    with django_capture_on_commit_callbacks(execute=True):
        send_turn_finished(accepted.turn)
    assert told == [5.0]


def test_whatever_is_left_or_ended_is_indexed_then(session, ada, talk, django_capture_on_commit_callbacks, monkeypatch):
    told = []
    monkeypatch.setattr(tasks.index_transcript, "apply_async", lambda args, **options: told.append(args[0]))
    left, ended = talk("One", index=False), talk("Two", index=False)
    Presence.objects.create(user=ada, session=left)
    with django_capture_on_commit_callbacks(execute=True):
        lifecycle.open_session(ada, ended.pk)
    with django_capture_on_commit_callbacks(execute=True):
        lifecycle.end(ended, "end")
    assert [TranscriptIndex.objects.get(pk=pk).session for pk in told] == [left, ended]
    assert conversations.due() == told
    for index_id in told:
        tasks.index_transcript(index_id)
    assert conversations.due() == []
    assert conversations.request(ended) is None


def test_one_that_nobody_closes_is_indexed_once_it_is_idle(session, talk):
    other = talk("The ferry to Naxos", index=False)
    assert conversations.due() == []
    ChatSession.objects.update(active_at=timezone.now() - dt.timedelta(days=1))
    (index_id,) = conversations.due()
    assert conversations.run(index_id)
    assert conversations.due() == []
    assert TranscriptIndex.objects.get().session == other


def test_only_what_changed_is_written_and_an_answer_tried_again_is_found_no_more(session, talk, say):
    other = talk("The ferry to Naxos?", "The ferry to Naxos sinks.")
    kept = TranscriptChunk.objects.get(seq=1).pk
    Message.objects.filter(session=other, seq=2).update(active=False)
    say(other, "The ferry to Naxos leaves at seven.", role="assistant")
    assert indexed(other)
    assert TranscriptChunk.objects.get(seq=1).pk == kept
    assert not any("sinks" in hit["snippet"] for hit in found(session))
    assert any("at seven" in hit["snippet"] for hit in found(session))


def test_tools_running_answers_and_secrets_are_not_in_it(session, talk, say):
    other = talk("My key is sk-ant-api03-abcdefghijklmnop1234.", index=False)
    say(other, "The ferry to Naxos by a tool", role="tool")
    say(other, "The ferry to Naxos, half", role="assistant", status="running")
    indexed(other)
    assert [chunk.text for chunk in TranscriptChunk.objects.all()] == ["My key is [key removed]."]
    assert TranscriptIndex.objects.get().through_seq == 2


def test_while_transcripts_are_off_they_are_neither_indexed_nor_found_nor_deleted(session, ada, talk, say):
    other = talk("The ferry to Naxos leaves at seven.")
    assert switches.choose(ada, Switch.TRANSCRIPTS, False)
    say(other, "And the ferry to Naxos on Sunday?", at=timezone.now().isoformat())
    assert found(session) == []
    assert conversations.request(other) is None
    assert conversations.after_turn(other) is None
    ChatSession.objects.update(active_at=timezone.now() - dt.timedelta(days=1))
    assert conversations.due() == []
    with pytest.raises(ToolError):
        call(GET, session, path=f"/c/{other.pk}")
    switches.choose(ada, Switch.TRANSCRIPTS, True)
    assert indexed(other)
    assert [hit["snippet"].count("Sunday") for hit in found(session)] == [0]


def test_what_waits_when_they_are_switched_off_is_not_indexed(ada, talk):
    other = talk("The ferry to Naxos", index=False)
    index_id = conversations.request(other)
    switches.choose(ada, Switch.TRANSCRIPTS, False)
    assert not conversations.run(index_id)
    assert not TranscriptChunk.objects.exists()
    assert conversations.due() == []


def test_what_a_search_brought_out_of_a_transcript_is_never_learnt_again(session, say, talk):
    talk("The ferry to Naxos leaves at seven.")
    result = call(SEARCH, session, query="ferry to Naxos", min_score=0)
    say(session, "", role="assistant", content=[{"type": "tool_use", "id": "t", "name": "memory_search", "input": {}}])
    say(session, "", role="tool", content=[
        {"type": "tool_result", "tool_use_id": "t", "content": json.dumps(result.content)}
    ])  # fmt: skip
    assert "The ferry to Naxos leaves at seven." in sent.text_sent(session).split("\n")


def test_the_person_finds_it_on_the_memory_page_and_nobody_elses(ada, stranger, client, talk):
    mine = talk("The ferry to Naxos leaves at seven.")
    talk("The ferry to Naxos sinks.", owner=stranger)
    client.force_login(ada)
    shown = client.get("/memory/search?q=ferry+Naxos").content.decode()
    # It leads to the message.
    said = mine.messages.get(text__contains="Naxos", role="user")
    assert f'class="result" href="/c/{mine.pk}#message-{said.pk}@{said.seq}"' in shown
    assert ("at seven" in shown, "sinks" in shown) == (True, False)


def test_the_shown_branch_is_found_and_no_other_one(session, ada, django_capture_on_commit_callbacks):
    said = send(ada, "The ferry to Naxos leaves at seven.")
    settle(said)
    settle(branches.edit(ada, said.message.pk, uuid.uuid4(), "The ferry to Naxos leaves at nine."))
    indexed(said.message.session)
    assert [hit["snippet"] for hit in found(session) if "seven" in hit["snippet"]] == []
    with django_capture_on_commit_callbacks(execute=True):
        branches.show(ada, said.message.pk)
    index = TranscriptIndex.objects.get()
    assert index.due_at is not None
    conversations.run(index.pk)
    assert any("seven" in hit["snippet"] for hit in found(session))
    assert not any("nine" in hit["snippet"] for hit in found(session))


def test_what_a_fork_copied_is_found_once(session, ada):
    said = send(ada, "The ferry to Naxos leaves at seven.")
    settle(said)
    indexed(said.message.session)
    made = forking.fork(ada, said.answer.pk)
    settle(send(ada, "And the ferry back from Naxos?", made.pk))
    indexed(ChatSession.objects.get(pk=made.pk))
    paths = [hit["path"] for hit in found(session) if "seven" in hit["snippet"]]
    assert paths == [f"/c/{said.message.session_id}"]
    assert any(hit["path"] == f"/c/{made.pk}" for hit in found(session))


def test_after_an_import_batch_follows_batch_without_a_sweep_between(ada, monkeypatch):
    monkeypatch.setattr(conversations, "DUE_MAX_COUNT", 2)
    queue = []
    monkeypatch.setattr(tasks, "send", lambda task, *arguments: queue.append((task, *arguments)))
    for number in range(5):
        accepted = send(ada, f"A talk about boat {number}")
        settle(accepted, "Yes. " * 200)
    ChatSession.objects.update(active_at=timezone.now() - dt.timedelta(days=1))
    tasks._send_due_transcripts()
    done = 0
    while queue:
        task, index_id = queue.pop(0)
        task(index_id)
        done += 1
    assert done == 5
    assert TranscriptIndex.objects.filter(due_at=None, through_seq__gt=0).count() == 5
    # What cannot be indexed ends the chain; the sweep begins it again.
    monkeypatch.setattr(conversations, "run", lambda index_id: False)
    TranscriptIndex.objects.update(due_at=timezone.now() - dt.timedelta(days=1))
    tasks.index_transcript_and_next(1)
    assert queue == []
