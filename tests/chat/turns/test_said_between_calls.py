"""What a model says between its calls is shown as text, although newer models send it as thinking."""

import re

from chat.models import Message
from chat.rendering.messages import rendered
from chat.turns.answer import GrowingAnswer

CALL = {"type": "tool_use", "id": "toolu_1", "name": "memory_search", "input": {"query": "tea"}}


def thought(words):
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmVk"}


def folded(html):
    return re.findall(r'thinking__text" dir="auto">([^<]*)<', html)


def grown(content):
    answer = GrowingAnswer(Message(pk=7, meta={}))
    for index, block in enumerate(content):
        answer.finish(index, block)
    answer.changes()
    return "".join(answer.shown())


def test_what_is_said_before_a_call_is_text_and_what_is_thought_before_it_is_folded():
    content = [thought("Which tea did they mean?"), thought("I look for **the tea**."), CALL]
    for html in (str(rendered(content, {})), grown(content)):
        assert folded(html) == ["Which tea did they mean?"]
        assert "<p>I look for <strong>the tea</strong>.</p>" in html


def test_a_thought_alone_stays_folded():
    for content in (
        [thought("Which tea?"), CALL],
        [thought("First."), thought("Second."), {"type": "text", "text": "Tea"}],
    ):
        for html in (str(rendered(content, {})), grown(content)):
            assert len(folded(html)) == len(content) - 1


def test_it_goes_back_to_the_model_as_it_came():
    answer = GrowingAnswer(Message(pk=7, meta={}))
    content = [thought("First."), thought("I look."), CALL]
    for index, block in enumerate(content):
        answer.finish(index, block)
    assert answer.content == content
