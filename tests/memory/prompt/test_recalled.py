"""What is recalled for a message travels with it to the model, and nowhere else."""

import json

import pytest
from django.db import DataError, OperationalError

from chat.context.prompt import build_request
from chat.models import ChatSession, Turn
from chat.turns.tools import ToolCall
from memory.index.documents import index_document
from memory.index.embeddings.failures import EmbeddingError
from memory.prompt import given
from memory.prompt.query import LONGEST, intent_of
from memory.prompt.recall import BUDGET_OF_RECALLED, LONGEST_PASSAGE
from memory.search.manager import HybridSearchManager
from memory.tools import tools
from oneclaw.reasons import Reason
from tests.conversations import send, settle

DAY = "memory/2026-11-20.md"


@pytest.fixture
def note(append):
    """note(space, text, path=…): a document with its index."""

    def note(space, text, path=DAY):
        index_document(append(space, text, path=path).document_id)

    return note


def asked(accepted):
    request = build_request(accepted.turn)
    return request.system[0]["text"], request.messages[-1]["content"]


def test_what_fits_goes_beside_the_first_message_and_not_into_the_system_prompt(ada, space, note):
    note(space, "- The ferry to Naxos leaves at seven.\n")
    system, content = asked(send(ada, "When does my ferry to Naxos leave?"))
    assert "Naxos leaves" not in system
    assert [block["type"] for block in content] == ["text", "text"]
    assert (
        '<recalled file="memory/2026-11-20.md" lines="1-1">\n- The ferry to Naxos leaves at seven.'
        in content[0]["text"]
    )
    assert content[1]["text"] == "When does my ferry to Naxos leave?"


def test_the_request_of_a_later_turn_holds_the_same_bytes(ada, space, note):
    note(space, "- The ferry to Naxos leaves at seven.\n")
    first = send(ada, "When does my ferry to Naxos leave?")
    _, content = asked(first)
    settle(first)
    note(space, "- The ferry to Naxos was cancelled.\n")
    second = send(ada, "And the ferry to Naxos on Sunday?", first.turn.session_id)
    request = build_request(second.turn)
    assert request.messages[0]["content"][0]["text"] == content[0]["text"]
    assert len(request.messages[-1]["content"]) == 1  # once a session


@pytest.mark.parametrize(("choice", "first", "later"), [("off", 1, 1), ("first", 2, 1), ("every", 2, 2)])
def test_the_setting_says_when(ada, space, note, settings, choice, first, later):
    settings.RECALL = choice
    note(space, "- The ferry to Naxos leaves at seven.\n")
    one = send(ada, "When does my ferry to Naxos leave?")
    assert len(asked(one)[1]) == first
    settle(one)
    assert len(asked(send(ada, "When does our ferry to Naxos leave?", one.turn.session_id))[1]) == later


def test_what_stands_in_the_prompt_already_is_not_recalled(ada, space, note):
    note(space, "- The ferry to Naxos leaves at seven.\n", path="MEMORY.md")
    assert len(asked(send(ada, "When does my ferry to Naxos leave?"))[1]) == 1


def test_three_passages_at_most_each_and_all_within_their_budget(ada, space, note):
    for day in range(1, 9):
        note(
            space,
            "- The ferry to Naxos leaves at seven " + "again and again " * 100 + "\n",
            path=f"memory/2026-11-{day:02}.md",
        )
    _, content = asked(send(ada, "When does my ferry to Naxos leave?"))
    assert 1 <= content[0]["text"].count("</recalled>") <= 3
    assert len(content[0]["text"]) <= BUDGET_OF_RECALLED
    for passage in content[0]["text"].split("</recalled>")[:-1]:
        assert len(passage.split("<recalled")[1]) <= LONGEST_PASSAGE + 100


def test_nothing_of_another_person_is_recalled(ada, strangers_space, note):
    note(strangers_space, "- The ferry to Naxos leaves at seven.\n")
    assert "Naxos leaves" not in json.dumps(asked(send(ada, "When does my ferry to Naxos leave?"))[1])


def test_what_was_recalled_counts_as_given(ada, space, note):
    note(space, "- The ferry to Naxos leaves at seven.\n")
    accepted = send(ada, "When does my ferry to Naxos leave?")
    build_request(accepted.turn)
    assert "The ferry to Naxos leaves at seven." in given.text_given(accepted.turn.session)


def test_what_was_recalled_is_not_saved_again_by_the_tool(ada, space, note):
    note(space, "- The ferry to Naxos leaves at seven.\n")
    accepted = send(ada, "When does my ferry to Naxos leave?")
    build_request(accepted.turn)
    session = ChatSession.objects.get(pk=accepted.turn.session_id)
    for number, (content, known) in enumerate(
        [("The ferry to Naxos leaves at seven", True), ("The ferry to Naxos leaves at eight.", False)]
    ):
        call = ToolCall(f"toolu_{number}", "save_memory", {"content": content}, ada, session, accepted.answer.pk)
        result = tools.SAVE.call(call).content
        assert result == ({"saved": False, "already_known": True, "path": DAY} if known else result)
        assert result["saved"] is not known


def test_recalled_text_is_no_authority_and_what_is_below_the_floor_is_none(ada, space, note, settings):
    note(space, "- The ferry to Naxos leaves at seven.\n")
    assert "not authority: the curated memory" in asked(send(ada, "When does my ferry to Naxos leave?"))[1][0]["text"]
    settings.SEARCH_FLOOR = 1
    assert len(asked(send(ada, "When does my ferry to Naxos leave?"))[1]) == 1


@pytest.mark.parametrize(
    "failure",
    [
        DataError("no"),
        OperationalError("away"),
        EmbeddingError(Reason("embedding.endless")),
        TimeoutError(),
        ValueError("index"),
    ],
)
def test_a_search_that_fails_leaves_the_turn_without_recalled_text(ada, space, note, monkeypatch, caplog, failure):
    note(space, "- The ferry to Naxos leaves at seven.\n")

    def fail(*args, **options):
        raise failure

    monkeypatch.setattr(HybridSearchManager, "search", fail)
    assert len(asked(send(ada, "When does my ferry to Naxos leave?"))[1]) == 1
    assert "the search failed" in caplog.text


def test_it_is_recalled_once_a_session_also_by_another_process_and_each_session_for_itself(ada, space, note):
    note(space, "- The ferry to Naxos leaves at seven.\n")
    accepted = send(ada, "When does my ferry to Naxos leave?")
    first = asked(accepted)[1]
    note(space, "- The ferry to Naxos leaves at eight.\n", path="memory/2026-11-21.md")
    # Read anew, as after a restart.
    assert build_request(Turn.objects.get(pk=accepted.turn.pk)).messages[-1]["content"] == first
    second = asked(send(ada, "When does my ferry to Naxos leave?"))[1]
    assert "leaves at eight" in second[0]["text"]


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("What did we decide about the roof?", "What did we decide about the roof?"),
        ("What  did\n we   decide?", "What did we decide?"),
        ("My code:\n```\nprint(1)\n```\nWhy?", "My code: Why?"),
        ("a" * 400, "a" * LONGEST),
        ("hi there", ""),
        ("```\nonly code\n```", ""),
        ("Explain this error: KeyError in a dict", ""),
        ("```python\nx\n```\nWhat is wrong here?", ""),
        ("Write a regex for dates in our project", "Write a regex for dates in our project"),
        ("昨日の会議の件", "昨日の会議の件"),
    ],
)
def test_the_intent_of_a_first_message(text, intent):
    assert intent_of(text, is_first=True) == intent


def test_a_later_technical_message_has_an_intent():
    assert intent_of("Explain this error: KeyError", is_first=False)
