"""Search finds what was written, in the spaces asked and in no other."""

import pytest

from memory.indexing import index_document
from memory.models import DocumentIndex, MemoryChunk, MemoryDocument
from memory.search import HybridSearchManager
from oneclaw.models import Space

NOTES = """# Notes

## Travel
- The kayak is red and lies in the garage.
- Flights to Lisbon leave on Tuesdays.

## Work
Maria leads the budget review.
The build id is RX-4471.
"""


def write(user, path, content):
    space = Space.objects.own_of(user)
    document, _ = MemoryDocument.objects.get_or_create(space=space, path=path)
    document.content, document.version = content, document.version + 1
    document.save()
    index_document(document.pk)
    return document


def search(user, query, **options):
    return HybridSearchManager(Space.objects.visible_to(user)).search(query, **options)


@pytest.fixture
def notes(ada):
    return write(ada, "MEMORY.md", NOTES)


def test_the_line_that_answers_comes_first_with_its_exact_lines(ada, notes):
    best = search(ada, "Where is the boat kept?", min_score=0)[0]
    assert (best.path, best.start_line, best.heading) == ("MEMORY.md", 4, "Notes › Travel")
    assert "kayak" in best.snippet


def test_an_identifier_is_found_by_its_whole_and_by_its_part(ada, notes):
    assert "RX-4471" in search(ada, "rx-4471")[0].snippet
    assert "RX-4471" in search(ada, "4471")[0].snippet


def test_a_stranger_finds_nothing(ada, stranger, notes):
    assert search(stranger, "kayak", min_score=0) == []


def test_a_blank_query_asks_nobody(ada, notes, django_assert_num_queries):
    manager = HybridSearchManager([notes.space])
    with django_assert_num_queries(0):
        assert manager.search("  \n") == []


def test_a_search_takes_two_round_trips(ada, notes, django_assert_max_num_queries):
    manager = HybridSearchManager([notes.space])
    manager.search("kayak")
    with django_assert_max_num_queries(2):
        assert manager.search("kayak")


def test_only_changed_units_are_written(ada, notes):
    before = dict(MemoryChunk.objects.filter(document=notes).values_list("ordinal", "id"))
    notes.content += "- New at the end.\n"
    notes.version += 1
    notes.save()
    index_document(notes.pk)
    after = dict(MemoryChunk.objects.filter(document=notes).values_list("ordinal", "id"))
    assert {ordinal: after[ordinal] for ordinal in before} == before
    assert len(after) == len(before) + 1
    assert MemoryDocument.objects.get(pk=notes.pk).indexed_version == notes.version


def test_a_deleted_document_is_no_longer_found(ada, notes):
    notes.content, notes.version = "", notes.version + 1
    notes.save()
    index_document(notes.pk)
    assert search(ada, "kayak", min_score=0) == []
    assert not MemoryChunk.objects.filter(document=notes).exists()


def test_deleting_the_row_takes_its_index_along(ada, notes):
    notes.delete()
    assert not DocumentIndex.objects.exists()
    assert not MemoryChunk.objects.exists()
