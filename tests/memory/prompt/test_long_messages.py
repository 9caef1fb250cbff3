"""A long first message recalls the line that it is about, also without a question mark; others recall nothing."""

import pytest

from chat.models import ChatSession, Message, default_agent
from memory.access.load import access_of
from memory.index.documents import index_document
from memory.prompt.query import INTENT_MAX_CHARS, intent_of
from memory.prompt.recall import recalled_items
from tests.memory.prompt import long_messages as texts

LOG = "memory/2026-11-20.md"
HEAD = "# Friday, 20 November 2026\n\n## 10:00 Talk\n\n"


@pytest.fixture
def recalled(ada, space, append):
    """recalled(lines, messages): of each message, the lines of a log of `lines` that are sent with it."""

    def recalled(lines, messages):
        index_document(append(space, HEAD + "".join(f"- {line}\n" for line in lines), path=LOG).document_id)
        session = ChatSession(owner=ada, agent=default_agent())
        sent = [
            recalled_items(access_of(session), Message(session=session, role="user", text=text)) for text in messages
        ]
        return [[line.removeprefix("- ") for item in each for line in item["text"].split("\n")] for each in sent]

    return recalled


def right_and_others(lines, pairs, found):
    wanted = [lines[about] if isinstance(about, int) else about for about, _ in pairs]
    right = sum(line in each for line, each in zip(wanted, found, strict=True))
    return right, [other for line, each in zip(wanted, found, strict=True) for other in each if other != line]


def test_long_messages_recall_their_line_and_no_other(recalled):
    found = recalled(texts.ENGLISH_LINES, [text for _, text in texts.ENGLISH])
    right, others = right_and_others(texts.ENGLISH_LINES, texts.ENGLISH, found)
    assert (right >= 28, others) == (True, [])


def test_unrelated_messages_recall_nothing(recalled):
    assert [each for each in recalled(texts.ENGLISH_LINES, texts.UNRELATED) if each] == []


def test_german_messages_recall_their_line_and_no_other(recalled):
    found = recalled(texts.GERMAN_LINES, [text for _, text in texts.GERMAN])
    right, others = right_and_others(texts.GERMAN_LINES, texts.GERMAN, found)
    assert (right >= 11, others) == (True, [])


def test_unrelated_german_messages_recall_nothing(recalled):
    assert [each for each in recalled(texts.GERMAN_LINES, texts.GERMAN_UNRELATED) if each] == []


@pytest.mark.parametrize("language", texts.OTHERS)
def test_messages_in_other_languages_recall_their_line_and_no_other(recalled, language):
    pairs = texts.OTHERS[language]
    found = recalled([line for line, _ in pairs] + texts.GERMAN_LINES, [text for _, text in pairs])
    assert right_and_others([], pairs, found) == (len(pairs), [])


def test_the_wish_of_a_message_that_is_longer_than_a_query_is_searched_for(recalled):
    talk = "It was a long day in the office, and on the way home the tram stood still for an hour in the dark. " * 4
    text = talk + "Please remind me where grandma Ottilie lives now."
    assert len(talk) > INTENT_MAX_CHARS
    assert intent_of(text, is_first=True) == "Please remind me where grandma Ottilie lives now."
    assert recalled(texts.ENGLISH_LINES, [text]) == [[texts.ENGLISH_LINES[0]]]


def test_many_lines_that_all_fit_are_no_reason_for_silence(recalled, ada, search):
    assert recalled(texts.MANY_LINES, [texts.MANY])[0]
    assert len(search(ada, texts.MANY)) == 6
    assert all("Jonas" in passage.snippet for passage in search(ada, texts.MANY))
