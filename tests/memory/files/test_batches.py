"""Files that were changed at the same time are imported together: one transaction, one indexing, a revision each."""

import os
import time

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from memory import projections
from memory.files import scan, watch
from memory.files.folders import folder_of
from memory.files.scan import scan_folder
from memory.index import documents as index
from memory.index import vectors
from memory.models import DocumentIndex, MemoryDocument, MemoryRevision
from memory.signals import together
from memory.transfer import workspace

pytestmark = pytest.mark.django_db(transaction=True)
PATHS = [f"page-{number}.md" for number in range(8)]


@pytest.fixture
def pages(space, append):
    """Eight documents with files, which were all edited two seconds ago."""
    for path in PATHS:
        append(space, "- one\n", path)
    for path in PATHS:
        file = folder_of(space) / path
        file.write_text(f"- one\n- {path} of the violin\n")
        os.utime(file, (time.time() - 2, time.time() - 2))
    return PATHS


def imported(space):
    rows = MemoryRevision.objects.filter(space=space, source="file").select_related("document")
    return sorted(row.document.path for row in rows)


def test_many_files_are_indexed_together_and_each_has_its_revision(space, pages, monkeypatch):
    indexed = []
    at_once = index.index_documents
    monkeypatch.setattr(index, "index_documents", lambda ids, *more: indexed.append(len(ids)) or at_once(ids, *more))
    assert scan_folder(space) == set()
    assert indexed == [len(PATHS)]
    assert imported(space) == PATHS
    assert not MemoryDocument.objects.to_index().exists()
    assert not MemoryDocument.objects.to_mirror().exists()
    for path in PATHS:
        document = MemoryDocument.objects.get(space=space, path=path)
        assert (document.version, document.content) == (2, f"- one\n- {path} of the violin\n")
        assert (folder_of(space) / path).read_text() == document.content
    made = DocumentIndex.objects.values_list("embedded_by", "bits", "units")
    assert all(embedded_by and len(bits) == 32 * units for embedded_by, bits, units in made)


def test_a_file_that_fails_alone_keeps_no_other_back(space, pages, monkeypatch):
    import_alone, tried = scan.import_changes, []

    def fail_once(pk):
        tried.append(pk)
        if len(tried) == 3:
            raise DatabaseError("deadlock detected")
        import_alone(pk)

    monkeypatch.setattr(scan, "import_changes", fail_once)
    scan_folder(space)
    assert imported(space) == PATHS


def test_the_watcher_reads_only_the_files_that_changed(space, pages, monkeypatch):
    read = []
    text_of = scan.text_of
    monkeypatch.setattr(scan, "text_of", lambda space, found: read.append(found.path) or text_of(space, found))
    monkeypatch.setattr(watch, "connection", type("Kept", (), {"close": staticmethod(lambda: None)}))
    assert watch.scan_changed({space.pk: {PATHS[1], PATHS[3]}}) == {}
    assert read == [PATHS[1], PATHS[3]]
    assert imported(space) == [PATHS[1], PATHS[3]]
    # One that is being written is looked at again, and alone.
    (folder_of(space) / PATHS[5]).write_text("- one\n- half a li")
    assert watch.scan_changed({space.pk: {PATHS[5], PATHS[6]}}) == {space.pk: {PATHS[5]}}


def test_a_batch_takes_few_statements_and_one_transaction_more_than_its_indexing(space, pages):
    with CaptureQueriesContext(connection) as queries:
        scan_folder(space)
    # One alone takes about twice as many.
    assert len(queries) <= 26 * len(PATHS)
    assert sum(query["sql"] == "COMMIT" for query in queries) <= 4


def test_an_imported_folder_is_indexed_embedded_and_written_in_batches(space, ada, tmp_path, monkeypatch):
    monkeypatch.setattr(projections, "BATCH_DOCUMENTS", 3)
    monkeypatch.setattr(vectors, "BATCH_TEXTS", 4)
    monkeypatch.setattr(workspace, "BATCH_FILES", 2)
    for path in PATHS:
        (tmp_path / path).write_text(f"- one\n- {path} of the violin\n")
    (tmp_path / "long.md").write_text("".join(f"- {number} violins\n" for number in range(250)))
    (tmp_path / "bad.md").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00" * 20)
    indexed = []
    at_once = index.index_documents
    monkeypatch.setattr(index, "index_documents", lambda ids, *more: indexed.append(len(ids)) or at_once(ids, *more))
    report = workspace.import_folder(tmp_path, space, ada)
    assert sorted(report.written) == ["long.md", *PATHS]
    assert list(report.refused) == ["bad.md"]
    assert indexed == [3, 3, 3]
    assert not MemoryDocument.objects.to_index().exists()
    assert not MemoryDocument.objects.to_mirror().exists()
    for path in report.written:
        assert (folder_of(space) / path).read_text() == (tmp_path / path).read_text()
    waiting = DocumentIndex.objects.filter(embedded_by=None).values_list("document__path", flat=True)
    # The worker embeds what is too much for a save.
    assert list(waiting) == ["long.md"]


def test_a_file_that_is_there_before_its_new_document_is_not_overwritten(space, append, monkeypatch):
    folder_of(space).mkdir(parents=True, exist_ok=True)
    for path in PATHS:
        (folder_of(space) / path).write_text(f"- mine in {path}\n")
        os.utime(folder_of(space) / path, (time.time() - 60, time.time() - 60))
    with together():
        for path in PATHS:
            append(space, "- theirs\n", path)
    for path in PATHS:
        texts = [each.content for each in MemoryDocument.objects.filter(space=space, path__startswith=path[:-3])]
        texts += [(folder_of(space) / path).read_text()]
        assert any(f"- mine in {path}" in text for text in texts)
        assert any("- theirs" in text for text in texts)
