"""What is far less likely than the best passage is not returned, and what only asks does not hide what is asked for."""

import pytest

from chat.extensions import ToolCall
from memory.index.documents import index_document
from memory.tools.reading import SEARCH
from tests.memory.prompt import long_messages as texts

API_LINE = "The API of the shop signs requests with tokens instead of cookies."
LOG = "memory/2026-11-20.md"


@pytest.fixture
def notes(space, append):
    lines = "".join(f"- {line}\n" for line in [*texts.ENGLISH_LINES, API_LINE])
    index_document(append(space, lines, path=LOG).document_id)


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("that thing we discussed about the API", API_LINE),
        ("What was that thing we discussed about the API?", API_LINE),
        ("sister", texts.ENGLISH_LINES[1]),
        ("Miso", texts.ENGLISH_LINES[14]),
        ("what did we decide about the nursery", texts.ENGLISH_LINES[15]),
        ("the honeymoon", texts.ENGLISH_LINES[29]),
    ],
)
def test_beside_a_right_line_nothing_unrelated_is_returned(ada, notes, search, question, line):
    assert [passage.snippet for passage in search(ada, question, max_results=20)] == [f"- {line}"]


def test_the_tool_of_the_model_returns_no_unrelated_passage(ada, session, notes):
    result = SEARCH.call(ToolCall("t", "memory_search", {"query": "What does my sister do in Lisbon?"}, ada, session))
    assert [found["snippet"] for found in result.content["results"]] == [f"- {texts.ENGLISH_LINES[1]}"]


def test_the_api_returns_no_unrelated_passage(notes, adas):
    found = adas.get("/memory/search", q="sister").json()
    assert [each["text"] for each in found] == [f"- {texts.ENGLISH_LINES[1]}"]


def test_several_lines_about_one_subject_are_all_returned(ada, space, append, search):
    lines = [*texts.ENGLISH_LINES, "Tom plays the trumpet in the brass band.", "Tom has his birthday on 9 April."]
    index_document(append(space, "".join(f"- {line}\n" for line in lines), path=LOG).document_id)
    found = "\n".join(passage.snippet for passage in search(ada, "What do we know about Tom?"))
    assert all(line in found for line in lines if "Tom" in line)
    assert found.count("\n") == 2


def test_all_passages_are_returned_to_whoever_asks_for_them(ada, notes, search):
    found = search(ada, "sister", max_results=60, min_score=0)
    assert sum(passage.snippet.count("\n") + 1 for passage in found) == len(texts.ENGLISH_LINES) + 1


def test_lines_of_talk_are_returned_with_other_words(ada, space, append, search):
    talk = "Ben: Guess what, we have a new pet!\nAda: Really? Tell me more.\nBen: A tiny tortoise, called Bolt.\n"
    rest = "".join(f"Ada: {line}\nBen: I see.\n" for line in texts.ENGLISH_LINES)
    index_document(append(space, f"# Talk\n\n{talk}\n## Later\n\n{rest}", path=LOG).document_id)
    assert any("tortoise" in passage.snippet for passage in search(ada, "Which pet does Ben have?", max_results=20))
