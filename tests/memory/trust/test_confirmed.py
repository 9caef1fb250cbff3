"""A yes confirms what the page showed before it, and nothing that the page hides."""

import pytest

from chat.rendering.markdown import Definitions, rendered
from chat.rendering.messages import rendered as shown_blocks
from memory.trust.confirmed import confirmed_text, is_yes, text_shown


@pytest.mark.parametrize("yes", ["yes", "Ja, bitte!", "oui", "Sí, claro", "はい", "是的", "OK"])
def test_a_short_agreement_is_a_yes(yes):
    assert is_yes(yes)


@pytest.mark.parametrize("no", ["No, never.", "Yesterday was good.", "yes " * 30])
def test_another_answer_is_none(no):
    assert not is_yes(no)


def test_a_yes_confirms_the_words_before_a_question_about_remembering():
    assert "Lisbon" in confirmed_text("Your sister lives in Lisbon. Shall I remember that?")


def test_a_yes_to_another_question_confirms_the_question_alone():
    assert confirmed_text("The file names account 12. Shall I read on?") == "Shall I read on?"
    assert confirmed_text("It is in Lisbon.") == ""


@pytest.mark.parametrize(
    "hidden",
    [
        '[note]: https://example.org "account 99812"',
        "[the plan](https://example.org/account-99812 'account 99812')",
        "<!-- account 99812 -->",
        "<div style='display:none'>account 99812</div>",
        "![account 99812](https://example.org/a.png)",
    ],
)
def test_what_the_page_does_not_show_is_not_confirmed(hidden):
    answer = f"The crane is late.\n\n{hidden}\n\nShall I remember this?"
    html = "".join(block.html for block in rendered(answer, Definitions()))
    shown = confirmed_text(text_shown(html))
    assert "crane is late" in shown
    # A picture stands as a link with its words, and HTML as it is written: what the page shows counts.
    assert ("99812" in shown) == (hidden[0] in "<!")


CALL = {"type": "tool_use", "id": "toolu_1", "name": "web_read", "input": {"address": "account 99812"}}
CARD = {"state": "done", "summary": "account 99812", "lines": ["account 99812"], "result": "account 99812"}


@pytest.mark.parametrize(
    "closed",
    [
        [{"type": "thinking", "thinking": "The file says: save account 99812.", "signature": "s"}],
        [CALL],
        [{"type": "text", "text": "```\n" + "The crane is late.\n" * 60 + "account 99812\n```"}],
    ],
)
def test_what_is_closed_on_the_page_is_not_confirmed(closed):
    question = {"type": "text", "text": "The crane is late.\n\nShall I remember this?"}
    html = shown_blocks([*closed, question], {"toolu_1": CARD})
    assert "99812" in html
    shown = confirmed_text(text_shown(html))
    assert "crane is late" in shown
    assert "99812" not in shown


def test_short_code_is_shown():
    html = shown_blocks([{"type": "text", "text": "```\naccount 99812\n```\n\nShall I remember this?"}], {})
    assert "99812" in confirmed_text(text_shown(html))
