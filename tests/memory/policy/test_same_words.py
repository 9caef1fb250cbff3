"""The same words, whatever their bullets, case and spacing."""

import pytest

from memory.policy.same_words import occurs_in, without_lines_of


@pytest.mark.parametrize("text", ["Ada likes tea.", "* ada  likes TEA", "## Ada likes tea", "1. Ada likes tea!"])
def test_the_same_words_stand_there(text):
    assert occurs_in(text, "# Facts\n\n- Ada likes tea.\n- Bob does not.\n")


@pytest.mark.parametrize("text", ["", " \n ", "-", "Ada likes", "likes tea", "Ada likes tea\nBob"])
def test_other_words_do_not(text):
    assert not occurs_in(text, "- Ada likes tea.\n- Bob does not.\n")


def test_several_lines_stand_there_when_they_follow_each_other():
    assert occurs_in("Plan\n\n- one\n- two", "x\n# Plan\n* one\n* two\ny")
    assert not occurs_in("one\nthree", "one\ntwo\nthree")


def test_what_is_known_goes_and_the_rest_stays_as_it_is():
    assert without_lines_of("- Ada likes tea.\n- New.\n\nMore", "ada likes tea\n") == "- New.\n\nMore"
    assert without_lines_of("### Facts\n\n- Ada likes tea.", "* Ada likes tea") == ""
    assert without_lines_of("- a", "") == "- a"
