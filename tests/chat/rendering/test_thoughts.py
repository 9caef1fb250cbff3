"""The thoughts that local models write at the beginning of an answer are folded like those of other models."""

import re

import pytest

from chat.models import Message
from chat.rendering.citations import plain_text
from chat.rendering.messages import is_blank, rendered
from chat.rendering.thoughts import parted
from chat.turns.answer import GrowingAnswer

TEXTS = {
    "<think>\nWhich tea?\n</think>\n\nGreen **tea**.": ("Which tea?", "Green **tea**."),
    "\n <think>a</think>b": ("a", "b"),
    "<think>cut off": ("cut off", ""),
    "<think></think>\n\nTea": ("", "Tea"),
    "The tag <think> and </think>": ("", "The tag <think> and </think>"),
    "<thinking>x": ("", "<thinking>x"),
    "<thi": ("", "<thi"),
    "": ("", ""),
}


def texts_of(html):
    """Return the thoughts that are shown folded, and the rest."""
    folded = re.findall(r'thinking__text" dir="auto">([^<]*)<', html)
    return folded, re.sub(r'<div class="block"[^>]*>|</div>|<details class="thinking">.*?</details>', "", html)


@pytest.mark.parametrize("text", TEXTS)
def test_they_are_parted_from_the_answer(text):
    assert parted(text) == TEXTS[text]
    assert plain_text([{"type": "text", "text": text}], {}) == TEXTS[text][1]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("size", [1, 5, 100])
def test_while_it_streams_an_answer_shows_what_the_stored_one_shows(text, size):
    answer, page = GrowingAnswer(Message(pk=7, meta={})), {}
    answer.start(0, {"type": "text", "text": ""})
    for at in range(0, len(text), size):
        answer.add_text(0, text[at : at + size])
        page.update(answer.changes())
    stored = str(rendered([{"type": "text", "text": text}], {}))
    assert texts_of("".join(answer.shown())) == texts_of(stored)
    if text != "<thi":
        # That may still become a thought.
        assert texts_of("".join(page[index] for index in sorted(page))) == texts_of(stored)


def test_they_are_never_shown_as_text():
    folded, rest = texts_of(str(rendered([{"type": "text", "text": "<think>a</think>b"}], {})))
    assert (folded, "a" in re.sub(r"<[^>]*>", "", rest)) == (["a"], False)


def test_an_answer_of_thoughts_alone_is_shown():
    message = Message(
        pk=7, status="complete", role="assistant", content=[{"type": "text", "text": "<think>a"}], text=""
    )
    assert not is_blank(message)
