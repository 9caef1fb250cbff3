"""The demo model reads the results of tools in every form in which the product sends them."""

import json

import pytest

from chat.context.passages import with_search_results
from chat.context.results import sent_results
from chat.context.rounds import CLEAR, CLEARED, TRIM, shortened
from oneclaw.demo import model as demo
from oneclaw.demo.results import FoundPassage, passages_of
from oneclaw.llm.citations import without_citations

QUESTION = "What is my cat called?"
FOUND = [
    {
        "path": "MEMORY.md",
        "start_line": 3,
        "end_line": 3,
        "score": 0.9,
        "snippet": "- My cat is called Miso.",
        "mark": "m1-1",
    },
    {
        "path": "/c/0f",
        "start_line": 1,
        "end_line": 2,
        "score": 0.4,
        "snippet": "Cats, 2026-11-02: You (2026-11-02 10:48):\nMiso is a {grey} cat.",
        "source": "conversation",
        "title": "Cats: the facts",
        "date": "2026-11-02",
        "role": "user",
        "mark": "m1-2",
    },
]


def result(content):
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}


def of_tool(**more):
    return result(json.dumps({"results": FOUND, **more}, ensure_ascii=False))


def as_search_results(block):
    """The form for a model that cites by itself."""
    (sent,) = with_search_results([block], {"toolu_1": "memory_search"})
    assert isinstance(sent["content"], list), "The product sends this as search results."
    return sent


def plain(block):
    """The form of search results for a server that knows none."""
    sent = without_citations({"role": "user", "content": [block]})["content"][0]
    assert isinstance(sent["content"], str)
    return sent


def after_words(block, length=5_000):
    """A long result, whose end is the first that the model reads."""
    found = json.loads(block["content"])
    found["results"] = [{"path": "memory/2026-11-01.md", "snippet": "Rain. " * (length // 6)}, *found["results"]]
    return result(json.dumps(found, ensure_ascii=False))


FORMS = {
    "JSON": of_tool(),
    "JSON with notes": of_tool(note="More were found."),
    "JSON with spaces": result(json.dumps({"results": FOUND}, indent=2)),
    "a list of texts": result([{"type": "text", "text": of_tool()["content"]}]),
    "search results": as_search_results(of_tool()),
    "search results and notes": as_search_results(of_tool(note="More were found.")),
    "plain search results": plain(as_search_results(of_tool())),
    "plain search results and notes": plain(as_search_results(of_tool(note="More were found."))),
    "shortened": sent_results([after_words(of_tool())], {"toolu_1": [1_500, 1_500]})[0],
    "trimmed": result(shortened(after_words(of_tool()), TRIM)),
    "the text of a hook": result("- My cat is called Miso."),
}


@pytest.mark.parametrize("form", FORMS)
def test_it_answers_from_a_result_in_every_form(form):
    assert "My cat is called Miso" in answer_to(FORMS[form])


def test_it_knows_where_search_results_are_from():
    assert passages_of(FORMS["search results"]) == passages_of(FORMS["JSON"])
    assert [each.path for each in passages_of(FORMS["plain search results"])] == ["MEMORY.md", "/c/0f"]
    assert answer_to(FORMS["search results"]) == answer_to(FORMS["JSON"])


def test_a_result_may_be_cut_anywhere():
    whole = of_tool()["content"]
    for length in range(len(whole)):
        for text in (whole[:length], whole[length:], f"{whole[:length]}\n\n[… 9 characters …]\n\n{whole[-length:]}"):
            assert answer_to(result(text))
            assert all(isinstance(each, FoundPassage) for each in passages_of(result(text)))


@pytest.mark.parametrize(
    "content",
    [
        "",
        None,
        [],
        CLEARED,
        json.dumps({"results": []}),
        json.dumps({"results": [], "note": "Nothing was found."}),
        json.dumps({"results": None}),
        json.dumps({"results": ["MEMORY.md"]}),
        json.dumps(["MEMORY.md"]),
        shortened(of_tool(), CLEAR),
    ],
)
def test_a_result_without_passages_is_told_as_such(content):
    assert "nothing about that" in answer_to(result(content)) or content == json.dumps(["MEMORY.md"])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"saved": True}, "I will remember that."),
        ({"saved": False, "waiting": True, "source": "pasted text"}, "waits for your yes"),
        ({"saved": False, "proposed": True, "memory": "Crane"}, "proposed"),
        ({"saved": False, "declined": "The person has declined this before."}, "declined"),
        ({"saved": False, "already_known": True, "path": "MEMORY.md"}, "already"),
    ],
)
def test_it_tells_what_became_of_a_line(said, told):
    (text,) = demo._after_tools(called("save_memory", {"content": "Tea"}), [result(json.dumps(said))])
    assert told in text
    # The card shows what was saved.
    assert ("> Tea" in text) != said["saved"]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"error": {"code": "memory_unavailable", "message": "The memory is away."}}),
        json.dumps({"error": "The memory is away."}),
        "The memory is away.",
        [{"type": "text", "text": "The memory is away."}],
    ],
)
def test_a_failure_is_told_in_its_words(content):
    failed = {**result(content), "is_error": True}
    (text,) = demo._after_tools(called("memory_search", {"query": QUESTION}), [failed])
    assert "The memory is away." in text


def called(name, arguments):
    use = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}
    return {"messages": [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": [use]}]}


def answer_to(block):
    (text,) = demo._after_tools(called("memory_search", {"query": QUESTION}), [block])
    return text
