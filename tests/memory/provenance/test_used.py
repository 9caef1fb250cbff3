"""What of memory an answer has used is found in the data that is stored with it."""

import json

import pytest

from chat.extensions import ContextItem, FinishedAnswer, FinishedCall
from memory.documents.calls import Made
from memory.policy.tombstones import BLANK
from memory.prompt import items
from memory.provenance import used
from memory.provenance.used import PROMPT, READ, RECALL, SEARCH, used_in


def item(kind, text, path="MEMORY.md", **more):
    return ContextItem(kind=kind, path=path, revision=1, lines=[1, 1], text=text, **more)


def search(*snippets, by=(), query="ferry"):
    results = [{"path": "memory/2026-11-03.md", "score": 0.5, "snippet": snippet} for snippet in snippets]
    kept = {"found": [{"by": list(by), "score": 0.7} for _ in snippets]}
    return FinishedCall("memory_search", {"query": query}, json.dumps({"results": results}), kept=kept)


def test_recalled_and_found_passages_count_each_text_once():
    recalled = item(items.RECALLED, "- The ferry leaves at seven.", found_by=["words"], score=0.9)
    answer = FinishedAnswer(
        "When?",
        "At seven.",
        [],
        [recalled],
        [search("The ferry leaves at seven", "Bread", by=["meaning"]), search("Bread")],
    )
    first, second = used_in(answer)
    assert (first.how, first.found_by, first.score, first.question) == (RECALL, ("words",), 0.9, "When?")
    assert (second.how, second.text, second.found_by, second.score) == (SEARCH, "Bread", ("meaning",), 0.7)
    assert second.question == "ferry"


def test_what_is_unlikely_and_not_said_was_only_looked_at():
    texts = {"Ada's sister lives in Lisbon.": 0.95, "Ada bakes bread.": 0.02, "Ada's sister Ines.": 0.1}
    recalled = [item(items.RECALLED, f"- {text}", score=score) for text, score in texts.items()]
    answer = FinishedAnswer("Where does my sister live?", "In Lisbon, and her name is Ines.", [], recalled)
    assert [each.is_used for each in used_in(answer)] == [True, False, True]
    assert used.count(answer) == {"used": 2, "looked": 1}


CURATED = "# Memory\n\n- Ada's sister lives in Lisbon.\n- Ada likes jasmine tea.\n- Ada's boat is called Heron."


@pytest.mark.parametrize(
    ("question", "said", "lines"),
    [
        ("Where does my sister live?", "Your sister lives in Lisbon.", ["- Ada's sister lives in Lisbon."]),
        ("What is my boat called?", "Heron.", ["- Ada's boat is called Heron."]),
        ("Hello", "Hello! How can I help?", []),
        # What the question said itself, the answer has not from memory.
        ("My sister lives in Lisbon. Is it far?", "Lisbon is far away.", []),
        ("What should I drink?", "You like jasmine tea.", ["- Ada likes jasmine tea."]),
    ],
)
def test_a_line_of_the_prompt_counts_when_the_answer_says_something_of_it(question, said, lines):
    found = used_in(FinishedAnswer(question, said, [item(items.CURATED, CURATED)]))
    assert [(each.text, each.how) for each in found] == [(line, PROMPT) for line in lines]


def test_lines_that_were_read_count_in_the_same_way():
    text = "- Ada's sister lives in Lisbon.\n- Ada likes tea."
    call = FinishedCall("memory_get", {"path": "a.md"}, json.dumps({"path": "a.md", "text": text}))
    (found,) = used_in(FinishedAnswer("Where is my sister?", "In Lisbon she lives.", calls=[call]))
    assert (found.path, found.text, found.how) == ("a.md", "- Ada's sister lives in Lisbon.", READ)


def test_what_was_forgotten_or_refused_does_not_count():
    failed = FinishedCall("memory_search", {"query": "x"}, json.dumps({"error": {}}), is_error=True)
    hidden = FinishedCall("memory_search", {"query": "x"}, "Withheld by a rule.")
    answer = FinishedAnswer("x", "y", [], [item(items.RECALLED, BLANK)], [search(BLANK), failed, hidden])
    assert used_in(answer) == []
    assert used.count(answer) == {}


def test_the_best_is_what_is_cited_then_what_is_said_then_what_is_likely():
    recalled = [
        item(items.RECALLED, "- Ada's ferry leaves at seven.", score=0.9, mark="m1-1"),
        item(items.RECALLED, "- Ada's sister lives in Lisbon.", score=0.4, mark="m1-2"),
        item(items.RECALLED, "- Ada bakes bread.", score=0.1, mark="m1-3"),
    ]
    question = "Where is my sister?"

    def best(said, *cited):
        return used.best_used(FinishedAnswer(question, said, [], recalled, cited=frozenset(cited))).text

    assert best("I am not sure.") == "- Ada's ferry leaves at seven."
    assert best("She lives in Lisbon.") == "- Ada's sister lives in Lisbon."
    assert best("She lives in Lisbon.", "m1-3") == "- Ada bakes bread."
    assert used.count(FinishedAnswer(question, "So.", [], recalled, cited=frozenset({"m1-3"}))) == {"used": 3}


def test_only_what_was_really_saved_counts():
    saved = FinishedCall("save_memory", {}, "{}", made=Made("revision", 7).on_card)
    waits = FinishedCall("save_memory", {}, "{}", made=Made("suggestion", 7).on_card)
    known = FinishedCall("save_memory", {}, "{}")
    assert used.count(FinishedAnswer("", "", calls=[saved, waits, known])) == {"saved": 1, "made": [7]}
