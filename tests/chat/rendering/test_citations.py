"""Marks in an answer become small numbers, if their passages were sent; everything else stays as it was written."""

import pytest

from chat.models import Message
from chat.rendering import incremental
from chat.rendering.citations import SOURCES_KEY, Marks, marked_texts, plain_text
from chat.turns.answer import GrowingAnswer
from oneclaw.reasons import Reason

SOURCES = {
    "m2-1": Reason("source.line", {"name": "MEMORY.md", "line": 4}).as_json,
    "d2-2": Reason("source.page", {"name": '<b>"Plan".pdf', "page": 3}).as_json,
}


def shown(text, sources=SOURCES, message_id=7):
    return Marks(sources, message_id).numbered(incremental.render(text))


def test_a_mark_becomes_a_number_whose_name_says_what_it_opens():
    assert shown("At seven [m2-1].") == (
        '<p>At seven<sup class="cite"><a href="/messages/7/sources/m2-1" title="Source 1: MEMORY.md, line 4" '
        'aria-label="Source 1: MEMORY.md, line 4">1</a></sup>.</p>'
    )


def test_numbers_follow_the_text_and_a_name_from_outside_is_escaped():
    html = shown("Tea [d2-2]. A ferry [m2-1, d2-2].")
    assert [part.split("<")[0] for part in html.split('">')[2::2]] == ["1", "2", "1"]
    assert "Source 1: &lt;b&gt;&quot;Plan&quot;.pdf, page 3" in html
    assert "<b>" not in html


@pytest.mark.parametrize(
    "text",
    ["Forged [m9-9].", "`[m2-1]`", "    [m2-1]", "[m2-1](https://example.org)"],
)
def test_what_was_not_sent_or_is_code_or_a_link_is_no_source(text):
    assert "/sources/" not in shown(text)
    assert "m9-9" in text or "m2-1" in shown(text)


def test_html_that_claims_to_be_a_mark_is_text():
    assert "/sources/" not in shown('<span class="cite" data-cite="m2-1">[x]</span>')


def test_a_copy_for_others_has_numbers_without_addresses():
    assert shown("At seven [m2-1].", message_id=None) == '<p>At seven<sup class="cite">1</sup>.</p>'


def test_the_text_of_an_answer_is_read_without_marks():
    text = "At seven [m2-1], or [m9-9] eight [m2-1; d2-2]."
    assert plain_text([{"type": "text", "text": text}], SOURCES) == "At seven, or [m9-9] eight."


def cited(text, *sources):
    citations = [{"type": "search_result_location", "source": source} for source in sources]
    return {"type": "text", "text": text, **({"citations": citations} if sources else {})}


def test_texts_that_a_model_split_by_what_they_rest_on_are_one_paragraph():
    content = [cited("The ferry leaves "), cited("at seven ", "m2-1", "m2-1", "m8-8"), cited("in the morning.")]
    (block,) = marked_texts(content)
    html = shown(block["text"])
    assert html.count("<p>") == 1
    assert html.count("<sup") == 1
    assert "m8-8]" not in html
    assert plain_text(content, SOURCES) == "The ferry leaves at seven in the morning."


def test_a_growing_answer_shows_a_mark_when_it_is_whole_and_never_a_part_of_it():
    answer = GrowingAnswer(Message(pk=7, meta={SOURCES_KEY: SOURCES}))
    seen = []
    for part in ("It leaves at seven", " ", "[", "m2", "-1", "]", ". So", " go."):
        answer.add_text(0, part)
        seen += [html for _, html in answer.changes()]
    answer.finish(0, {"type": "text", "text": ""})
    assert [html for html in seen if "[" in html] == []
    assert seen[0] == "<p>It leaves at seven</p>"
    assert answer.shown()[0].endswith(">1</a></sup>. So go.</p>")


def test_a_growing_answer_that_cites_is_shown_as_it_is_stored():
    answer = GrowingAnswer(Message(pk=7, meta={SOURCES_KEY: SOURCES}))
    for index, block in enumerate([cited("It leaves "), cited("at seven", "m2-1"), cited(".\n\nBye.")]):
        answer.start(index, {"type": "text", "text": ""})
        answer.add_text(index, block["text"])
        answer.finish(index, block)
    (stored,) = marked_texts(answer.content)
    assert "\n".join(answer.shown()) == shown(stored["text"])
    assert answer.content[1]["citations"] == [{"type": "search_result_location", "source": "m2-1"}]
