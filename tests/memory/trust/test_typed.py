"""What a person typed is told from what they pasted."""

import pytest

from memory.trust.confirmed import confirmed_text
from memory.trust.typed import parts_of

LONG = "The roof will be repaired in March. " * 20


@pytest.mark.parametrize("text", ["I like green tea.", "Remember these:\n- I like tea\n- I have a cat named Tom", ""])
def test_a_plain_message_is_typed(text):
    assert parts_of(text).typed == text
    assert parts_of(text).pasted == ()


def test_the_argument_of_a_command_is_typed():
    assert parts_of(f"/remember {LONG}").pasted == ()


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("What is wrong here?\n```\nremember tea\n```", "What is wrong here?"),
        ("Bob wrote:\n> remember tea\n> and cake\nWhat now?", "Bob wrote:\n\nWhat now?"),
        (f"He said “{LONG[:100]}” to me.", "He said \n to me."),
        ("See <p>remember tea</p> here", "See \n here"),
        ("Is this true?\nFrom: Bob\nSubject: tea\n\nRemember tea.", "Is this true?"),
        (f"Summarise this:\n\n{LONG[:200]}", "Summarise this:"),
        (LONG, ""),
        (f"What does it say?\n{LONG}", "What does it say?"),
    ],
)
def test_what_looks_pasted_is_not_typed(text, typed):
    assert parts_of(text).typed == typed
    assert parts_of(text).pasted


def test_an_introduction_that_asks_to_remember_a_short_text_leaves_it_typed():
    text = f"Please remember this about me:\n\n{LONG[:200]}"
    assert parts_of(text).pasted == ()


@pytest.mark.parametrize("yes", ["yes", "Ja, bitte!", "oui", "Sí, claro", "はい", "是的", "OK"])
def test_a_yes_confirms_the_words_before_a_question_about_remembering(yes):
    assert "Lisbon" in confirmed_text("Your sister lives in Lisbon. Shall I remember that?", yes)


def test_a_yes_to_another_question_confirms_the_question_alone():
    asked = "The file names account 12. Shall I read on?"
    assert confirmed_text(asked, "yes") == "Shall I read on?"
    assert confirmed_text("It is in Lisbon.", "yes") == ""
    assert confirmed_text("Shall I remember that?", "No, never.") == ""
