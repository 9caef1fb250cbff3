"""What a person says about a line moves it in the ranking: within bounds, for questions like it, for them alone."""

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.access.sources import Sources
from memory.models import LineFeedback, MemoryChunk
from memory.search.manager import HybridSearchManager
from memory.search.opinions import POINTS, Kind, Opinion, packed_terms, points
from oneclaw.models import Space, SpaceMember

KEYS = np.array([3, 5, 3], np.int64)
FERRY = "When does the ferry to Naxos leave?"


def said(kind, question=FERRY, key=3):
    return Opinion.of(key, kind, packed_terms(question))


@pytest.mark.parametrize("kind", [Kind.WRONG, Kind.OUTDATED])
def test_a_wrong_or_outdated_line_loses_for_every_question(kind):
    assert points(KEYS, [said(kind)], "What does my cat eat?").tolist() == [POINTS[kind], 0, POINTS[kind]]
    assert POINTS[kind] < 0


@pytest.mark.parametrize("kind", [Kind.IRRELEVANT, Kind.HELPFUL])
def test_what_is_said_for_one_question_holds_for_questions_like_it(kind):
    def gained(question):
        return points(KEYS, [said(kind)], question)[0]

    assert gained(FERRY) == gained("when does the ferry to naxos LEAVE") == POINTS[kind]
    assert 0 < abs(gained("Where does the ferry to Naxos stop on its way to Athens?")) < abs(POINTS[kind])
    assert gained("What does my cat eat?") == 0


def test_points_are_bounded_and_other_lines_keep_theirs():
    gained = points(KEYS, [said(kind) for kind in (Kind.WRONG, Kind.HELPFUL)], FERRY)
    assert gained.tolist() == [POINTS[Kind.WRONG] + POINTS[Kind.HELPFUL], 0, POINTS[Kind.WRONG] + POINTS[Kind.HELPFUL]]
    assert max(map(abs, POINTS.values())) <= 6


@pytest.fixture
def boats(ada, write):
    """Two lines that answer one question, the first one better."""
    write(
        ada,
        "MEMORY.md",
        "- The boat of Ada is called Heron\n- The old boat of Ada was called Gannet\n- Ada likes tea\n",
    )
    return Space.objects.own_of(ada)


def best(user, space, asked_by=None):
    found = HybridSearchManager([space], Sources(asked_by=asked_by)).search("What is Ada's boat called?", 1, slack=0)
    return found[0].snippet


def give(user, space, words, kind):
    chunk = MemoryChunk.objects.get(space=space, text__contains=words)
    terms = packed_terms("What is Ada's boat called?")
    LineFeedback.objects.create(user=user, space=space, text_key=chunk.text_key, kind=kind, question_terms=terms)


@pytest.mark.parametrize("kind", [Kind.WRONG, Kind.OUTDATED, Kind.IRRELEVANT])
def test_the_next_best_line_comes_first_after_a_line_was_found_bad(ada, boats, settings, kind):
    settings.EMBEDDINGS = "none"
    first = best(ada, boats, ada)
    give(ada, boats, first, kind)
    assert best(ada, boats, ada) != first
    LineFeedback.objects.all().delete()
    assert best(ada, boats, ada) == first


def test_a_line_that_helped_comes_first(ada, boats, settings):
    settings.EMBEDDINGS = "none"
    first = best(ada, boats, ada)
    other = next(name for name in ("Heron", "Gannet") if name not in first)
    give(ada, boats, other, Kind.HELPFUL)
    assert other in best(ada, boats, ada)


def test_what_one_person_says_never_changes_what_another_finds(ada, stranger, boats, settings):
    settings.EMBEDDINGS = "none"
    SpaceMember.objects.create(space=boats, user=stranger)
    first = best(stranger, boats, stranger)
    give(ada, boats, first, Kind.WRONG)
    assert best(stranger, boats, stranger) == first
    assert best(ada, boats, None) == first
    assert best(ada, boats, ada) != first


def test_it_takes_no_further_statement(ada, boats, settings):
    settings.EMBEDDINGS = "none"
    best(ada, boats)
    with CaptureQueriesContext(connection) as before:
        best(ada, boats)
    give(ada, boats, "Heron", Kind.WRONG)
    with CaptureQueriesContext(connection) as after:
        best(ada, boats, ada)
    assert len(after) == len(before)


def test_a_passage_says_by_what_it_was_found(ada, write, settings):
    settings.EMBEDDINGS = "none"
    write(ada, "memory/2026-11-03.md", "- The ferry leaves at seven, Petra said\n- Ada bought bread\n")
    space = Space.objects.own_of(ada)
    (found,) = HybridSearchManager([space]).search("What did Petra say about the ferry on 3 November 2026?", 1)
    assert found.found_by == ("words", "day", "name")
