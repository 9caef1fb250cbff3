"""A large memory is scanned by the signs of its vectors, and what a process keeps of it is never stale."""

import random
from dataclasses import replace
from zlib import crc32

import pytest
from django.db import transaction

from memory.index import vectors
from memory.index.embeddings import local, near_words
from memory.models import DocumentIndex, MemoryDocument, TextVector
from memory.search import cache
from memory.search.manager import HybridSearchManager
from oneclaw.models import Space, User

THINGS = ("kayak", "garden", "piano", "bakery", "lantern", "ticket", "doctor", "winter", "camera", "engine", "parrot")
DOINGS = ("repaired", "sold", "painted", "borrowed", "lost", "found", "measured", "cleaned", "visited", "promised")
PLACES = ("Lisbon", "Zurich", "Oslo", "Kyoto", "Lima", "Dublin", "Accra", "Quito", "Hanoi", "Porto")


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(cache, "CACHED_MIN_CHUNKS", 1)
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(scope="module")
def first_memory(django_db_setup, django_db_blocker, write):
    """Ada, with 2,000 lines in ten documents, made once: each test works in a savepoint of this transaction.

    No test here may commit.
    """
    chosen = random.Random(1)
    with django_db_blocker.unblock(), transaction.atomic():
        ada = User.objects.create_user("ada@example.org")
        for n in range(10):
            lines = [
                f"- {chosen.choice(('Ada', 'Bob', 'Maria'))} {chosen.choice(DOINGS)} the {chosen.choice(THINGS)} in"
                f" {chosen.choice(PLACES)} with the {chosen.choice(THINGS)} number {chosen.randrange(500)}."
                for _ in range(200)
            ]
            write(ada, f"notes/{n}.md", "\n".join(lines) + "\n")
        vectors.embed_pending()
        yield ada
        transaction.set_rollback(True)


@pytest.fixture
def ada(first_memory, db):
    return first_memory


@pytest.fixture
def large(ada):
    """What searches her memory."""
    return HybridSearchManager(Space.objects.visible_to(ada))


def asked():
    chosen = random.Random(2)
    return [
        f"Who {chosen.choice(DOINGS)} the {chosen.choice(THINGS)} at the {chosen.choice(THINGS)} near water?"
        for _ in range(15)
    ]


def test_the_signs_find_what_an_exact_scan_finds(large, settings):
    exact = [large.search(query, 10, 0) for query in asked()]
    settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=1000)
    cache.clear()
    spread = [large.search(query, 10, 0) for query in asked()]
    same = [
        len({(one.path, one.start_line) for one in mine} & {(one.path, one.start_line) for one in theirs}) / 10
        for mine, theirs in zip(spread, exact, strict=True)
    ]
    assert sum(same) / len(same) >= 0.99
    assert all(one.vector_score for one in spread[0])
    assert [one.vector_score for one in spread[0]] == pytest.approx([one.vector_score for one in exact[0]], abs=1e-3)


@pytest.mark.parametrize("limit", [100_000, 1000])
def test_a_search_of_a_kept_memory_takes_two_round_trips(large, settings, limit, django_assert_num_queries):
    settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=limit)
    large.search("Who sold the piano?")
    for query in asked()[:5]:
        with django_assert_num_queries(2):
            assert large.search(query, min_score=0)


@pytest.mark.parametrize("limit", [100_000, 1000])
def test_what_is_kept_is_what_stands_there(ada, stranger, large, write, settings, limit):
    settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=limit)
    assert "zeppelin" not in str(large.search("zeppelin", min_score=0))
    for path in ("notes/7.md", "notes/new.md"):
        document = write(ada, path, "- A zeppelin landed behind the house.\n")
        vectors.embed_pending()
        assert large.search("zeppelin")[0].path == path
        write(ada, path, "- Nothing landed.\n")
        assert "zeppelin" not in str(large.search("zeppelin", min_score=0))
    MemoryDocument.objects.filter(pk=document.pk).delete()
    assert "landed" not in str([one.snippet for one in large.search("landed", min_score=0) if one.path == path])
    fresh = [one.snippet for one in large.search(asked()[0], min_score=0)]
    cache.clear()
    assert [one.snippet for one in large.search(asked()[0], min_score=0)] == fresh
    assert HybridSearchManager(Space.objects.visible_to(stranger)).search("piano", min_score=0) == []


def test_a_large_memory_of_which_some_waits_for_its_vectors_is_searched(large, ada, write, settings):
    settings.SEARCH, settings.EMBEDDINGS = replace(settings.SEARCH, exact_max_chunks=1000), "none"
    write(ada, "notes/late.md", "- A zeppelin landed behind the house.\n")
    settings.EMBEDDINGS = "local"
    assert DocumentIndex.objects.filter(bits=None).count() == 1
    assert large.search("zeppelin")[0].path == "notes/late.md"
    TextVector.objects.all().delete()
    assert large.search("zeppelin")[0].path == "notes/late.md"


def test_a_memory_that_grows_large_is_searched_by_meaning_on(large, ada, write, settings):
    settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=2000)
    assert large.search("Who sold the piano?", min_score=0)[0].vector_score
    write(ada, "notes/new.md", "- A zeppelin landed behind the house.\n")
    vectors.embed_pending()
    grown = [(one.path, one.start_line, one.vector_score) for one in large.search("Who sold the piano?", min_score=0)]
    assert grown[0][2]
    cache.clear()
    again = [(one.path, one.start_line, one.vector_score) for one in large.search("Who sold the piano?", min_score=0)]
    assert again == grown


def test_a_sample_whose_vectors_come_late_is_read_again(large, ada, settings, monkeypatch):
    settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=1000)
    monkeypatch.setattr(cache, "SAMPLE_CHUNKS", 200)
    documents = list(MemoryDocument.objects.values_list("pk", flat=True))
    documents.sort(key=lambda pk: crc32(str(pk).encode()), reverse=True)
    TextVector.objects.all().delete()
    DocumentIndex.objects.update(bits=None, embedded_by=None)
    for pk in documents:
        large.search("Who sold the piano?")
        vectors.embed_document(pk)
    late = [large.search(query, 10, 0) for query in asked()]
    cache.clear()
    assert late == [large.search(query, 10, 0) for query in asked()]


def test_near_words_stay_known_while_another_thread_forgets_them(monkeypatch):
    class Forgetful(dict):
        def __contains__(self, word):
            held = super().__contains__(word)
            self.clear()
            return held

    found = near_words(["dog"])
    monkeypatch.setattr(local, "_near", Forgetful(local._near))
    assert near_words(["dog"]) == found
    assert near_words(["d" * 10_000]) == [{}]


def test_vectors_come_back_after_a_question_that_had_none(large, settings, monkeypatch):
    settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=1000)
    asks = vectors.question_vector
    monkeypatch.setattr(vectors, "question_vector", lambda *_: None)
    assert large.search("Who sold the piano?", min_score=0)[0].vector_score == 0
    monkeypatch.setattr(vectors, "question_vector", asks)
    assert large.search("Who sold the piano?", min_score=0)[0].vector_score


def test_what_was_not_searched_for_longest_makes_room(large, stranger, write, monkeypatch):
    write(stranger, "MEMORY.md", "- The key is under the mat.\n")
    theirs = HybridSearchManager(Space.objects.visible_to(stranger))
    large.search("piano")
    monkeypatch.setattr(cache, "CACHE_MAX_CHUNKS", 100)
    theirs.search("key")
    assert [len(found.corpus) for found in cache._cached.values()] == [1]
