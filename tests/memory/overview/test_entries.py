"""The entries of a document: their lines, the changes that wrote them, and their topics."""

import random

import pytest

from memory.documents import write
from memory.documents.write import Author, Replace, Source
from memory.forgetting.forget import forget
from memory.models import DocumentOverview, MemoryDocument, Topic
from memory.overview.entries import OverviewWaitsError, compile_overview, entries_of, overview_for_page


def listed(document):
    """The entries as (text, number of the revision)."""
    lines = document.content.split("\n")
    return [("\n".join(lines[each.line - 1 : each.last_line]), each.revision) for each in entries_of(document)]


@pytest.fixture
def curated(space, document_of):
    """curated(content): MEMORY.md after it was replaced."""

    def curated(content):
        version = MemoryDocument.objects.filter(space=space).values_list("version", flat=True).first() or 0
        write.apply(space, "MEMORY.md", Replace(content, version), Author(Source.PAGE, space.owner))
        return document_of(space)

    return curated


def test_each_entry_has_the_change_that_wrote_it(curated):
    curated("# Memory\n\n- tea\n- bread\n")
    document = curated("# Memory\n\n- coffee\n- bread\n\nA paragraph\nof two lines.\n")
    assert listed(document) == [("- coffee", 2), ("- bread", 1), ("A paragraph\nof two lines.", 2)]


def test_a_later_change_reads_only_the_later_revisions(curated, django_assert_num_queries):
    entries_of(curated("- tea\n"))
    document = curated("- tea\n- milk\n")
    with django_assert_num_queries(3):
        assert listed(document) == [("- tea", 1), ("- milk", 2)]
    with django_assert_num_queries(1):
        entries_of(document)


def test_after_a_forgetting_the_numbers_are_those_of_the_new_history(space, ada, curated, document_of):
    entries_of(curated("- tea with lemon\n- bread with butter\n- salt and pepper\n"))
    curated("- tea with lemon\n- bread with butter\n- salt and pepper\n- rice and beans\n")
    forget(space, ["- tea with lemon"], ada)
    found = listed(document_of(space))
    assert found == [("- bread with butter", 1), ("- salt and pepper", 1), ("- rice and beans", 2)]


def test_a_stored_overview_of_a_rewritten_history_is_made_anew(space, ada, curated, document_of):
    entries_of(curated("- tea with lemon\n- bread with butter\n"))
    stale = DocumentOverview.objects.get()
    forget(space, ["- tea with lemon"], ada)
    stale.save()
    assert listed(document_of(space)) == [("- bread with butter", 1)]


def test_an_entry_keeps_its_topic_until_it_changes(curated):
    entries_of(curated("- Works at Nordwind\n- Likes tea\n"))
    overview = DocumentOverview.objects.get()
    overview.topics[0] = Topic.PLANS + DocumentOverview.BY_MODEL
    overview.save()
    first, second, _ = entries_of(curated("- Works at Nordwind\n- Likes coffee\n- Birthday: 3 May\n"))
    assert (first.topic, first.is_by_model) == (Topic.PLANS, True)
    assert (second.topic, second.is_by_model) == (Topic.PREFERENCES, False)


@pytest.mark.parametrize("seed", range(20))
def test_any_history_ends_with_one_number_for_each_line(space, document_of, seed):
    chosen = random.Random(seed)
    lines, owners = [], []
    for number in range(1, 8):
        at = chosen.randint(0, len(lines))
        end = min(len(lines), at + chosen.randint(0, 2))
        added = [f"- {number} {chosen.random()}" for _ in range(chosen.randint(1, 3))]
        lines[at:end], owners[at:end] = added, [number] * len(added)
        write.apply(space, "MEMORY.md", Replace("\n".join(lines), number - 1), Author(Source.PAGE))
        if chosen.random() < 0.5:
            entries_of(document_of(space))
    assert listed(document_of(space)) == list(zip(lines, owners, strict=True))


LONG = "".join(f"- Entry {number}\n" for number in range(1_200))


def test_a_page_leaves_many_new_lines_to_a_worker(curated, document_of, space):
    document = curated(LONG)
    with pytest.raises(OverviewWaitsError):
        overview_for_page(document)
    compile_overview(document.pk)
    assert len(overview_for_page(document_of(space)).spans) == 2_400


def test_a_page_compiles_few_new_lines_of_a_long_document_itself(curated):
    compile_overview(curated(LONG).pk)
    assert overview_for_page(curated(f"{LONG}- tea\n")).version == 2


def test_a_page_leaves_a_long_document_that_was_replaced_to_a_worker(curated):
    compile_overview(curated(LONG).pk)
    with pytest.raises(OverviewWaitsError):
        overview_for_page(curated(LONG.replace("Entry", "Item")))


def test_the_overview_of_a_deleted_document_is_not_compiled(space, curated):
    document = curated(LONG)
    write.apply(space, "MEMORY.md", write.Delete(1), Author(Source.PAGE, space.owner))
    compile_overview(document.pk)
    assert not DocumentOverview.objects.exists()
