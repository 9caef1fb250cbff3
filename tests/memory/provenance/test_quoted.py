"""The line under an answer quotes the one line of memory that it rests on, with who said it and when."""

import datetime as dt

import pytest
from django.utils import timezone, translation

from memory.policy.tombstones import BLANK
from memory.provenance.quoted import best_line, worded_line

LISBON = {"text": "My sister Ines lives in Lisbon", "path": "", "is_own": True, "day": "2024-12-31", "title": ""}


@pytest.mark.parametrize(
    ("line", "quote", "words"),
    [
        ({"used": 1, "quote": LISBON}, "“My sister Ines lives in Lisbon”", "you, 31 December 2024"),
        (
            {"used": 2, "files": 1, "looked": 5, "quote": LISBON},
            "“My sister Ines lives in Lisbon”",
            "you, 31 December 2024 · and 2 more",
        ),
        ({"used": 1, "quote": {**LISBON, "is_own": False}}, "“My sister Ines lives in Lisbon”", "31 December 2024"),
        (
            {"files": 1, "quote": {**LISBON, "day": "", "title": "offer.pdf, page 3"}},
            "“My sister Ines lives in Lisbon”",
            "offer.pdf, page 3",
        ),
        # Forgotten, or of an answer from before quotations.
        ({"used": 2, "quote": {**LISBON, "text": BLANK}}, "", "Used 2 memories"),
        ({"used": 3, "files": 2}, "", "Used 3 memories · 2 passages of documents"),
        ({"looked": 5}, "", "Looked at 5 memories"),
    ],
)
def test_the_line_says_what_was_used(line, quote, words):
    worded = worded_line(line, 7, None)
    assert (worded.quote, worded.words, worded.saved) == (quote, words, "")
    assert worded.address == "/messages/7/memories"


def test_a_day_of_this_year_has_no_year():
    today = timezone.localdate()
    quote = {**LISBON, "day": today.isoformat()}
    assert str(today.year) not in worded_line({"used": 1, "quote": quote}, 7, None).words
    with translation.override("de"):
        before = {**LISBON, "day": dt.date(2024, 12, 31).isoformat()}
        worded = worded_line({"used": 1, "quote": before}, 7, None)
        assert (worded.quote, worded.words) == ("„My sister Ines lives in Lisbon“", "du, 31. Dezember 2024")


def test_what_was_saved_is_said_once():
    line = {"saved": 2, "made": [3, 4]}
    assert worded_line(line, 7, None) is None
    assert worded_line(line, 7, set()).saved == "+2 saved"
    assert worded_line(line, 7, {3}).saved == "+1 saved"
    assert worded_line(line, 7, {3, 4}) is None


def test_of_a_passage_the_line_is_quoted_that_the_answer_says():
    passage = "Ada's ferry leaves at seven.\nAda's sister lives in Lisbon.\nBread."
    assert best_line(passage, "Where does she live? In Lisbon.") == "Ada's sister lives in Lisbon."
    assert best_line("One.\nTwo.", "") == "One."
