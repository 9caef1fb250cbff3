"""When nothing is asked or told: the text of HEARTBEAT.md, the model's answer, and the limits of a day."""

import pytest

from chat.schedules import quiet
from chat.schedules.quiet import Answer, answer_of_call, answer_of_text, has_tasks, is_used_up


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t\n",
        "# Heartbeat\n\n## Mornings\n",
        "Heading\n===\n".replace("Heading\n", ""),
        "<!-- nothing\n- [ ] yet -->",
        "<!-- never closed\n- call Ada",
        "- [ ]\n- [ ] \n* []\n1. [ ]\n-\n[ ]",
    ],
)
def test_a_list_without_tasks_asks_no_model(text):
    assert not has_tasks(text)


@pytest.mark.parametrize("text", ["Call Ada", "- [ ] Call Ada", "- [x]", "#tag", "<!-- a --> Call", "# Title\nCall"])
def test_a_list_with_a_task_is_looked_through(text):
    assert has_tasks(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("HEARTBEAT_OK", ""),
        ("HEARTBEAT_OK " + "a" * 299, ""),
        ("HEARTBEAT_OK " + "a" * 300, ""),
        ("HEARTBEAT_OK " + "a" * 301, "a" * 301),
        ("a" * 300 + "\nHEARTBEAT_OK\n", ""),
        ("a" * 301 + "\nHEARTBEAT_OK", "a" * 301),
        ("I do not say HEARTBEAT_OK now", "I do not say HEARTBEAT_OK now"),
        ("Call Ada.", "Call Ada."),
        ("  ", ""),
    ],
)
def test_a_text_is_quiet_with_the_word_and_little_else(text, told):
    assert answer_of_text(text) == Answer(told)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"tell": False, "text": "Call Ada."}, Answer("")),
        ({"tell": True, "text": "Call Ada.", "note": "told"}, Answer("Call Ada.", "told")),
        ({"tell": True, "text": "HEARTBEAT_OK"}, Answer("")),
        ({"tell": True}, Answer("")),
        ({"tell": "true", "text": "Call Ada."}, Answer("")),
        ({"tell": False, "note": "n" * 299}, Answer("", "n" * 299)),
        ({"tell": False, "note": "n" * 300}, Answer("", "n" * 300)),
        ({"tell": False, "note": "n" * 301}, Answer("", "n" * 300)),
    ],
)
def test_a_call_tells_or_stays_quiet(arguments, answer):
    assert answer_of_call(arguments) == answer


@pytest.mark.parametrize(
    ("asked", "tokens", "most", "code"),
    [
        (47, 0, 100_000, ""),
        (48, 0, 100_000, "beat.beats_used"),
        (49, 0, 100_000, "beat.beats_used"),
        (0, 99_999, 100_000, ""),
        (0, 100_000, 100_000, "beat.tokens_used"),
        (0, 100_001, 100_000, "beat.tokens_used"),
        (0, 10**9, 0, ""),
    ],
)
def test_a_day_has_48_beats_and_its_tokens(asked, tokens, most, code):
    assert is_used_up(asked, tokens, most) == code


def test_equal_things_have_equal_fingerprints():
    assert quiet.fingerprint("a", [1]) == quiet.fingerprint("a", [1]) != quiet.fingerprint("a", [2])
