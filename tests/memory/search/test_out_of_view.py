"""What a summary took out of a conversation's view is found in that conversation, and nothing after it."""

import uuid
from dataclasses import replace

import pytest
from django.utils import timezone

from chat import extensions
from chat.context import per_message
from chat.conversations import branches
from chat.extensions import ToolCall, ToolError
from chat.models import ChatSession
from memory.access.load import access_of
from memory.access.sources import Sources, recall_sources_of, sources_of
from memory.index import conversations
from memory.models import TranscriptChunk
from memory.policy import switches
from memory.policy.switches import Switch
from memory.prompt import recall
from memory.provenance import details as provenance
from memory.search import cache
from memory.search.manager import HybridSearchManager
from memory.tools.get import GET
from memory.tools.reading import SEARCH
from tests.conversations import send, settle


@pytest.fixture
def talk(session, say):
    """talk(*texts): these were said in turn in Ada's conversation, which is in the index."""

    def talk(*texts):
        for at, text in enumerate(texts):
            say(session, text, role=("user", "assistant")[at % 2], at=f"2026-11-20T23:{10 + at}+00:00")
        indexed(session)
        return session

    return talk


def indexed(session):
    index_id = conversations.request(session)
    return index_id is not None and conversations.run(index_id)


def call(tool, session, **arguments):
    fresh = ChatSession.objects.get(pk=session.pk)
    return tool.call(ToolCall("t", tool.name, arguments, fresh.owner, fresh, None)).content


def found(session, query="ferry to Naxos", **options):
    options = {"min_score": 0, "max_results": 20} | options
    return [hit["snippet"] for hit in call(SEARCH, session, query=query, **options)["results"]]


def test_own_messages_are_found_once_a_summary_stands_for_them_and_no_later_ones(talk, summarised):
    session = talk("When does the ferry to Naxos leave?", "At seven.", "And the ferry to Naxos on Sunday?", "At nine.")
    assert found(session) == []
    summarised(session, 2)
    (snippet,) = found(session)
    assert snippet.endswith("When does the ferry to Naxos leave?\n\nAssistant (2026-11-21 00:11):\nAt seven.")


def test_later_messages_do_not_take_the_place_of_results(talk, summarised, say):
    session = talk("The ferry to Naxos leaves at seven.", "Fine.")
    for minute in range(30):
        say(session, f"The ferry to Naxos, the ferry to Naxos: {minute}", at=f"2026-11-21T10:{minute + 10}+00:00")
    indexed(session)
    summarised(session, 2)
    (snippet,) = found(session, max_results=1)
    assert "leaves at seven" in snippet


def test_they_are_read_up_to_the_last_one_that_the_summary_stands_for(talk, summarised):
    session = talk("When does the ferry leave?", "At seven.", "And on Sunday?", "At nine.")
    path = f"/c/{session.pk}"
    with pytest.raises(ToolError):
        call(GET, session, path=path)
    summarised(session, 2)
    assert call(GET, session, path=path)["text"] == (
        "Person (2026-11-21 00:10):\nWhen does the ferry leave?\n\nAssistant (2026-11-21 00:11):\nAt seven."
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"used": False},
        {"undone_at": timezone.now()},
        {"kind": "prune"},
        {"status": "failed", "finished_at": timezone.now(), "error": "No."},
    ],
    ids=["not used by the last request", "undone", "pruning", "failed"],
)
def test_messages_that_the_model_is_still_sent_are_not_found(talk, summarised, fields):
    session = talk("The ferry to Naxos leaves at seven.", "Fine.")
    summarised(session, 2, **fields)
    assert session.summarised_seq() == 0
    assert found(session) == []
    with pytest.raises(ToolError):
        call(GET, session, path=f"/c/{session.pk}")


def test_of_several_summaries_the_newest_one_counts(talk, summarised):
    session = talk("One", "Two", "Three", "Four", "Five")
    summarised(session, 2)
    summarised(session, 4)
    assert session.summarised_seq() == 4
    session.used_rounds = [1]
    session.save()
    assert session.summarised_seq() == 2


def test_on_another_branch_the_summary_counts_for_nothing(ada, summarised):
    said = send(ada, "The ferry to Naxos leaves at seven.")
    settle(said)
    session = said.message.session
    summarised(session, 2)
    assert session.summarised_seq() == 2
    settle(branches.edit(ada, said.message.pk, uuid.uuid4(), "The ferry to Naxos leaves at nine."))
    assert session.summarised_seq() == 0


def test_a_summary_that_came_into_use_since_the_session_was_read_counts(talk, summarised):
    talk("The ferry to Naxos leaves at seven.", "Fine.")
    before, now = ChatSession.objects.get(), ChatSession.objects.get()
    summarised(now, 2)
    assert before.summarised_seq() == 2


def test_while_transcripts_are_off_own_messages_are_not_found_either(talk, summarised, ada):
    session = talk("The ferry to Naxos leaves at seven.", "Fine.")
    summarised(session, 2)
    switches.choose(ada, Switch.TRANSCRIPTS, False)
    assert sources_of(access_of(session)).but_session_after == 0
    assert found(session) == []


def test_what_another_conversation_finds_does_not_depend_on_it(talk, summarised, ada):
    session = talk("The ferry to Naxos leaves at seven.", "Fine.", "The ferry to Naxos leaves at nine.")
    other = ChatSession.objects.create(key="other", owner=ada, agent=session.agent)
    before = found(other)
    assert len(before) == 2
    summarised(session, 2)
    assert found(other) == before


def test_a_cached_transcript_is_not_used_for_another_number_of_its_messages(talk, summarised, ada, monkeypatch):
    monkeypatch.setattr(cache, "CACHED_MIN_CHUNKS", 1)
    cache.clear()
    session = talk("The ferry to Naxos leaves at one.", "Fine.", "The ferry to Naxos leaves at two.", "Fine.", "Bye.")
    other = ChatSession.objects.create(key="other", owner=ada, agent=session.agent)

    def hours(asking):
        return sorted(hour for hour in ("one", "two") if any(f"at {hour}" in text for text in found(asking)))

    assert (hours(session), hours(other)) == ([], ["one", "two"])
    summarised(session, 2)
    assert (hours(session), hours(other), hours(session)) == (["one"], ["one", "two"], ["one"])
    summarised(session, 4)
    assert (hours(session), hours(other)) == (["one", "two"], ["one", "two"])
    session.context_rounds.filter(number=2).update(undone_at=timezone.now())
    session.used_rounds = [1]
    session.save()
    assert hours(session) == ["one"]
    cache.clear()


def test_the_vectors_of_a_large_corpus_are_cut_with_its_chunks(talk, summarised, settings, monkeypatch):
    settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=2)
    monkeypatch.setattr(cache, "CACHED_MIN_CHUNKS", 1)
    cache.clear()
    lines = [f"The {colour} ferry leaves." for colour in ("red", "green", "blue", "white", "black", "grey")]
    session = talk(*lines)
    summarised(session, 4)
    for _ in range(2):
        text = "\n".join(found(session, "the green ferry"))
        assert "green" in text
        assert "black" not in text
    (kept,) = cache._cached.values()
    assert (len(kept.corpus), kept.signed.tolist(), kept.bits.shape[1]) == (4, [True] * 4, 4)
    cache.clear()


def test_a_search_of_them_takes_two_round_trips_like_any_other(talk, summarised, django_assert_num_queries):
    session = talk("The ferry to Naxos leaves at seven.", "Fine.")
    summarised(session, 2)
    manager = HybridSearchManager(access_of(session).spaces, sources_of(access_of(session)))
    with django_assert_num_queries(2):
        assert manager.search("ferry to Naxos", min_score=0)


def test_a_line_that_was_indexed_anew_between_the_round_trips_is_not_shown_if_it_is_in_view(talk, summarised):
    session = talk("The ferry to Naxos leaves at seven.", "Fine.", "Bye.")
    summarised(session, 2)
    manager = HybridSearchManager(access_of(session).spaces, sources_of(access_of(session)))
    read = manager._read

    def moved(asked):
        data = read(asked)
        TranscriptChunk.objects.update(seq=3)
        return data

    manager._read = moved
    assert manager.search("ferry to Naxos", min_score=0) == []


def test_what_left_the_view_is_recalled_by_itself_and_other_transcripts_are_not(talk, summarised, say, ada, settings):
    settings.RECALL = "every"
    session = talk("My ferry to Naxos leaves at seven.", "Fine.", "My ferry to Naxos is blue.", "I see.")
    other = ChatSession.objects.create(key="other", owner=ada, agent=session.agent)
    say(other, "My ferry to Naxos is called Blue Star.")
    indexed(other)
    asked = say(session, "When does my ferry to Naxos leave?", parent=session.messages.get(seq=4))
    assert recall.recalled_items(access_of(session), asked) == []
    summarised(session, 2)
    assert recall_sources_of(access_of(session)) == Sources(True, True, ada, session.pk, 2, other_transcripts=False)
    items = recall.recalled_items(access_of(session), asked)
    assert {item["path"] for item in items} == {f"/c/{session.pk}"}
    assert "My ferry to Naxos leaves at seven." in items[0]["text"]
    assert not any("blue" in item["text"].casefold() for item in items)
    asked.meta = per_message.with_items({}, "memory", items)
    text = per_message.text_of(asked.meta)
    assert text.startswith("Passages of the person's notes, and of what was said earlier in this conversation")
    assert f'<recalled file="/c/{session.pk}" lines="2-2"' in text
    shown = provenance.details(session, asked)[0]
    assert (shown.name, shown.address) == ("Earlier in this conversation", f"/c/{session.pk}")


def test_the_summary_says_how_they_are_found_where_they_are(talk, ada):
    session = talk("The ferry to Naxos leaves at seven.", "Fine.")
    hint = extensions.memory().lookup_hint(session)
    assert "memory_search" in hint
    assert f"/c/{session.pk}" in hint
    for mode in ("chat", "temporary"):
        session.mode = mode
        assert "memory_search" not in extensions.memory().lookup_hint(session)
    session.mode = "agent"
    session.agent.tools_off = ["memory_get"]
    assert "memory_search" not in extensions.memory().lookup_hint(session)
    session.agent.tools_off = []
    switches.choose(ada, Switch.TRANSCRIPTS, False)
    assert "memory_search" not in extensions.memory().lookup_hint(session)
