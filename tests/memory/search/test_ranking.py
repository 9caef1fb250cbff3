"""The arithmetic of ranking, against its formulas."""

from math import log

import numpy as np
import pytest

from memory.search.query import text_to_embed
from memory.search.ranking import Frequency, bm25, matches, standardised
from memory.text.index_format import pack, unpack


def test_words_are_scored_by_the_formula_of_bm25():
    lengths = np.array([4.0, 10.0, 1.0])
    one = Frequency(np.array([0, 1]), np.array([1.0, 3.0]))
    rarity = log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = [
        rarity * 2.2 * often / (often + 1.2 * (0.25 + 0.75 * length / 5)) if often else 0
        for often, length in ((1, 4), (3, 10), (0, 1))
    ]
    assert bm25([one], lengths) == pytest.approx(expected)


def test_scores_that_are_all_the_same_say_nothing():
    assert standardised(np.array([1.0, 3.0])).tolist() == [-1, 1]
    assert standardised(np.full(3, 0.7)).tolist() == [0, 0, 0]


def test_names_are_taken_out_of_what_is_embedded_of_a_question():
    assert text_to_embed("What did Maria cook for Ada?") == "What did cook for ?"
    assert text_to_embed("Who is Maria?") == "Who is ?"


@pytest.mark.parametrize(
    "question", ["who is maria?", "what did maria cook for ada?", "Wann hat Maria das Auto für die Ferien gekauft?"]
)
def test_names_that_cannot_be_told_from_other_words_stay(question):
    assert text_to_embed(question) == question


def test_few_or_many_terms_are_found_where_they_stand_before_and_after_they_were_put_in_order():
    chosen = np.random.default_rng(5)
    for _ in range(20):
        documents = []
        for length in chosen.integers(1, 60, 3).tolist():
            sections = np.cumsum(chosen.random(length) < 0.2).tolist()
            sizes = chosen.integers(0, 6, length).tolist()
            chunks = [(0, size, 10, section, 0, 0, 0) for size, section in zip(sizes, sections, strict=True)]
            documents.append(pack(chunks, chosen.integers(0, 30, sum(sizes)).tolist()))
        fresh, kept = unpack(documents), unpack(documents)
        assert len(kept.postings[0]) == len(fresh.terms)
        terms = np.unique(chosen.integers(0, 40, 8)).astype(np.uint32)
        for term, chunks, again in zip(terms, fresh.holding(terms), kept.holding(terms), strict=True):
            assert sorted(chunks) == sorted(again) == fresh.chunk_of_term[fresh.terms == term].tolist()
        some = np.flatnonzero(chosen.random(len(fresh)) < chosen.choice([0.02, 0.5]))
        scores = chosen.random(len(some)) + 0.1
        everywhere = np.zeros(len(fresh))
        everywhere[some] = scores
        places, sums = fresh.in_windows(some, scores)
        expected = fresh.windowed(everywhere)
        assert places.tolist() == np.flatnonzero(expected).tolist()
        assert sums == pytest.approx(expected[places])
        assert matches(fresh, []) == []
