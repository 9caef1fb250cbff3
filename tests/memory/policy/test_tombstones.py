"""What was forgotten is told from what was not, without its text."""

import pytest

from memory.policy.tombstones import Phrase, line_hash, of_phrases, words_of

LINE = "- My sister Zora lives in Lisbon."


@pytest.fixture
def known():
    return of_phrases(
        [Phrase(words_of(LINE)), Phrase(words_of("- tea")), Phrase(words_of("我每天早上都在厨房里喝一杯热的茉莉花茶"))]
    )


@pytest.mark.parametrize(
    "line",
    [
        "* my SISTER Zora lives in Lisbon!",
        "14:05 Person: My sister Zora lives in Lisbon.",
        "She said: “My sister Zora, lives in *Lisbon*”, and went.",
        "Tea.",
        "- 9:05 tea",
        "他说：我每天早上都在厨房里喝一杯热的茉莉花茶。",
    ],
)
def test_the_same_words_are_found_whatever_stands_around_them(known, line):
    assert known.is_in(line)
    assert known.without(f"one\n{line}\ntwo") == "one\ntwo"


@pytest.mark.parametrize("line", ["", "---", "My sister Zora lives in Porto.", "I like tea.", "Lisbon", "茉莉花茶"])
def test_other_lines_stay(known, line):
    assert not known.is_in(line)


def test_what_was_said_loses_just_the_words(known):
    assert known.without_forgotten_words("Remember that my sister\nZora lives in Lisbon, and buy milk.") == (
        "Remember that [forgotten], and buy milk."
    )
    assert known.without_forgotten_words("Buy milk.\ntea\nDone.") == "Buy milk.\n[forgotten]\nDone."
    assert known.without_forgotten_words("ﬁne words") == "ﬁne words"


def test_a_hash_is_of_one_space_and_one_key(settings):
    words = words_of(LINE)
    first = line_hash(1, words)
    assert len(first) == 64
    assert line_hash(2, words) != first
    settings.SECRET_KEY = "another" * 10
    assert line_hash(1, words) != first
