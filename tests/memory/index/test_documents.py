"""The index follows its document: only what changed is written, nothing is embedded twice, nothing older wins."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection, transaction

from memory.documents.write import Author, Replace, Source, apply
from memory.forgetting.forget import forget
from memory.index import documents as indexing
from memory.index import vectors
from memory.index.documents import index_document
from memory.models import DocumentIndex, MemoryChunk, MemoryDocument, TextVector
from memory.notes import status
from memory.text.chunking import chunks_of
from memory.text.index_format import LAYOUT_VERSION
from oneclaw.models import Space

LINES = "# Notes\n\n- The kayak is red.\n- The boat is blue.\n- The car is grey.\n"


def ids(document):
    return dict(MemoryChunk.objects.filter(document=document).values_list("text", "id"))


def test_only_changed_chunks_are_written(ada, write):
    document = write(ada, "MEMORY.md", LINES)
    before = ids(document)
    write(ada, "MEMORY.md", LINES.replace("blue", "green") + "- New.\n")
    after = ids(document)
    kept = set(before) - {"- The boat is blue."}
    assert {text: after[text] for text in kept} == {text: before[text] for text in kept}
    assert set(after) - kept == {"- The boat is green.", "- New."}


def test_chunks_have_the_exact_lines_of_their_document(ada, write):
    document = write(ada, "MEMORY.md", LINES)
    lines = LINES.split("\n")
    for chunk in MemoryChunk.objects.filter(document=document):
        assert chunk.text == "\n".join(lines[chunk.start_line - 1 : chunk.end_line])


def test_forced_indexing_embeds_nothing_that_has_not_changed(ada, write):
    document = write(ada, "MEMORY.md", LINES)
    before = list(TextVector.objects.order_by("id").values_list("id", flat=True))
    index_document(document.pk, force=True)
    assert list(TextVector.objects.order_by("id").values_list("id", flat=True)) == before
    assert DocumentIndex.objects.get().embedded_by_id is not None


def test_a_line_that_comes_back_keeps_its_vector(ada, write):
    write(ada, "MEMORY.md", LINES)
    before = TextVector.objects.count()
    write(ada, "MEMORY.md", "- The car is grey.\n")
    write(ada, "MEMORY.md", LINES)
    assert TextVector.objects.count() == before


def test_vectors_of_forgotten_lines_can_be_pruned(ada, write):
    write(ada, "MEMORY.md", LINES)
    write(ada, "MEMORY.md", "- The car is grey.\n")
    vectors.prune(Space.objects.own_of(ada).pk)
    assert TextVector.objects.count() == 1


def test_a_text_whose_vector_is_pruned_while_it_comes_back_waits_for_another(ada, write, monkeypatch):
    document = write(ada, "MEMORY.md", LINES)
    DocumentIndex.objects.update(embedded_by=None)
    looks = vectors._missing

    def pruned(*args):
        monkeypatch.setattr(vectors, "_missing", looks)
        found = looks(*args)
        TextVector.objects.first().delete()
        return found

    monkeypatch.setattr(vectors, "_missing", pruned)
    vectors.embed_document(document.pk)
    assert DocumentIndex.objects.get().embedded_by is None
    assert vectors.embed_pending() == 1
    assert DocumentIndex.objects.get().embedded_by is not None
    assert TextVector.objects.count() == 4


def test_an_indexer_that_read_an_older_version_does_not_overwrite_a_newer_one(ada, write, monkeypatch):
    document = write(ada, "MEMORY.md", LINES)
    read = indexing.IndexContent.of
    seen = []

    def slow(found):
        made = read(found)
        if not seen:
            seen.append(found.version)
            MemoryDocument.objects.filter(pk=found.pk).update(content="- Newest.\n", version=found.version + 1)
        return made

    monkeypatch.setattr(indexing.IndexContent, "of", slow)
    index_document(document.pk, force=True)
    assert list(ids(document)) == ["- Newest."]
    document.refresh_from_db()
    assert document.indexed_version == document.version == DocumentIndex.objects.get().version


def test_a_failure_changes_nothing(ada, write, monkeypatch, search):
    document = write(ada, "MEMORY.md", LINES)
    before = ids(document)

    def broken(*args, **options):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(DocumentIndex.objects, "bulk_create", broken)
    # No transaction here: what goes back goes back by the product's own.
    with pytest.raises(RuntimeError):
        write(ada, "MEMORY.md", "- Something else.\n")
    assert ids(document) == before
    assert search(ada, "kayak")
    assert list(MemoryDocument.objects.to_index()) == [document], "and it is still to be done"


def test_while_another_connection_indexes_a_search_answers_from_what_stood_before(transactional_db, ada, write, search):
    document = write(ada, "MEMORY.md", LINES)
    written, seen = threading.Event(), threading.Event()

    def index():
        try:
            with transaction.atomic():
                write(ada, "MEMORY.md", "- A zeppelin.\n")
                written.set()
                assert seen.wait(60)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        indexing = pool.submit(index)
        try:
            assert written.wait(60)
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '5s'")
            assert "kayak" in str(search(ada, "kayak"))
            assert search(ada, "zeppelin") == []
        finally:
            seen.set()
            indexing.result()
    assert search(ada, "zeppelin")[0].document_id == document.pk
    connection.close()


def test_a_deleted_document_is_no_longer_found(ada, write, search):
    document = write(ada, "MEMORY.md", LINES)
    write(ada, "MEMORY.md", "")
    assert search(ada, "kayak", min_score=0) == []
    document.delete()
    assert not DocumentIndex.objects.exists()
    assert not MemoryChunk.objects.exists()


def test_a_chunk_cannot_point_into_another_space(ada, stranger, write):
    document = write(ada, "MEMORY.md", LINES)
    other = Space.objects.own_of(stranger)
    for rows in (MemoryChunk.objects.filter(document=document), DocumentIndex.objects.filter(document=document)):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(space=other)


def test_a_line_of_a_megabyte_is_indexed_in_pieces_and_found(ada, write, search):
    write(ada, "MEMORY.md", "word " * 210_000 + "zanzibar.\n")
    found = search(ada, "zanzibar")[0]
    assert "zanzibar" in found.snippet
    assert (found.start_line, found.end_line) == (1, 1)


@pytest.mark.parametrize(
    "line", ["# a" + " " * 30_000 + "zanzibar", "# " + "#" * 30_000 + "zanzibar", "# a" + " #" * 30_000]
)
def test_no_heading_keeps_the_index_busy(ada, write, search, line):
    started = time.monotonic()
    write(ada, "MEMORY.md", f"{line}\n- The kayak is red.\n")
    assert time.monotonic() - started < 20
    assert search(ada, "kayak", slack=0)[0].start_line == 2


def test_a_heading_is_its_words_without_the_marks_around_it():
    found = chunks_of("## C# ##\ntext\n# Notes #\n\ntext\n")
    assert [chunk.heading for chunk in found if not chunk.is_heading] == ["C#", "Notes"]


def test_a_file_of_a_hundred_thousand_lines_is_indexed_and_found(ada, write, search, settings):
    settings.EMBEDDINGS = "none"
    started = time.monotonic()
    write(ada, "MEMORY.md", "".join(f"- Entry {n} of the long list.\n" for n in range(100_000)))
    assert time.monotonic() - started < 60
    assert search(ada, "entry 77123")[0].start_line == 77_124


def test_the_state_of_the_index_counts_what_waits_and_what_is_behind(ada, write, settings):
    document = write(ada, "MEMORY.md", LINES)
    settings.EMBEDDINGS = "none"
    write(ada, "b.md", "- A boat.\n- A car.\n")
    settings.EMBEDDINGS = "local"
    MemoryDocument.objects.filter(pk=document.pk).update(version=document.version + 1)
    told = vectors.state(MemoryDocument.objects.all())
    assert [told[name] for name in ("units", "vectors", "pending", "drift")] == [6, 4, 2, 1]
    assert told["model"] == "local/wordllama-l2-supercat-256"


def test_an_index_of_another_layout_is_made_again(ada, write, search):
    document = write(ada, "MEMORY.md", LINES)
    write(ada, "other.md", "- A boat.\n")
    DocumentIndex.objects.filter(document=document).update(layout=LAYOUT_VERSION - 1)
    MemoryDocument.objects.filter(pk=document.pk).update(version=document.version + 1)
    assert search(ada, "kayak") == []
    assert vectors.state(MemoryDocument.objects.all())["drift"] == 1, "counted once, whatever else is behind"
    MemoryDocument.objects.filter(pk=document.pk).update(version=document.version)
    assert MemoryDocument.objects.to_index().first_ids(1000) == [document.pk]
    assert list(Space.objects.own_of(ada).documents.to_index()) == [document]
    index_document(document.pk)
    assert "kayak" in search(ada, "kayak")[0].snippet
    assert MemoryDocument.objects.to_index().first_ids(1000) == []


def test_forced_indexing_that_is_interrupted_leaves_everything_found(ada, write, search):
    for n in range(4):
        write(ada, f"{n}.md", LINES.replace("kayak", f"kayak{n}"))
    before = list(TextVector.objects.order_by("id").values_list("id", flat=True))

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        status.index_all(ada, force=True, progress=stop)
    assert [search(ada, f"kayak{n}")[0].path for n in range(4)] == [f"{n}.md" for n in range(4)]
    status.index_all(ada, force=True)
    assert list(TextVector.objects.order_by("id").values_list("id", flat=True)) == before


LONG = "# Notes\n\n" + "".join(f"- Entry {number} about the blue kayak\n" for number in range(40))


def index_of(document):
    """All that is stored of the index, without the ids of rows."""
    chunks = MemoryChunk.objects.filter(document=document).order_by("ordinal")
    index = DocumentIndex.objects.get(document=document)
    columns = ("ordinal", "start_line", "end_line", "heading", "text", "text_key")
    stored = bytes(index.data), index.units, index.version, index.embedded_by_id, bytes(index.bits or b"")
    return list(chunks.values_list(*columns)), stored


@pytest.mark.parametrize("seed", range(20))
def test_an_index_that_is_continued_is_that_of_a_fresh_one(space, document_of, monkeypatch, seed):
    monkeypatch.setattr(indexing, "CONTINUED_MIN_CHARS", 100)
    chosen, continued = random.Random(seed), []
    made = indexing.IndexContent.of
    monkeypatch.setattr(indexing.IndexContent, "of", lambda *of: continued.append((found := made(*of)).first) or found)
    pieces = [
        "- Something new",
        "Ada: hello",
        "",
        "# Heading",
        "```",
        "text that goes on",
        "| a | b |",
        "der und die",
        "x" * 700,
    ]
    content, version = LONG, 0
    for _ in range(8):
        lines = content.split("\n")
        for _ in range(chosen.randint(1, 3)):
            at = len(lines) if chosen.random() < 0.6 else chosen.randint(0, len(lines))
            lines[at : at + chosen.randint(0, 2)] = [chosen.choice(pieces) for _ in range(chosen.randint(0, 4))]
        content = "\n".join(lines)
        revision = apply(space, "MEMORY.md", Replace(content, version), Author(Source.PAGE, space.owner))
        version = revision.number if revision else version
        if chosen.random() < 0.7 and version:
            index_document(document_of(space).pk)
            found = index_of(document_of(space))
            index_document(document_of(space).pk, force=True)
            vectors.embed_document(document_of(space).pk)
            assert found == index_of(document_of(space))
    assert max(continued) > 0


def test_a_line_that_is_appended_writes_and_embeds_only_itself(space, append, document_of, monkeypatch):
    monkeypatch.setattr(indexing, "CONTINUED_MIN_CHARS", 100)
    document = append(space, LONG).document
    index_document(document.pk)
    terms = []
    monkeypatch.setattr(indexing, "terms_of", lambda text, language: terms.append(text) or [])
    append(space, "- Ada likes tea\n")
    index_document(document.pk)
    # The last line before it might have gone on.
    assert terms == ["- Entry 39 about the blue kayak", "- Ada likes tea"]
    index = DocumentIndex.objects.get()
    assert index.embedded_by_id is not None
    assert index.units == 42


def test_after_a_forgetting_the_whole_index_is_made_anew(space, ada, append, document_of, monkeypatch, search):
    monkeypatch.setattr(indexing, "CONTINUED_MIN_CHARS", 100)
    document = append(space, LONG).document
    index_document(document.pk)
    forget(space, ["- Entry 3 about the blue kayak"], ada)
    index_document(document.pk)
    append(space, "- Ada likes tea\n")
    index_document(document.pk)
    found = index_of(document_of(space))
    assert "- Entry 3 about the blue kayak" not in [text for *_, text, _ in found[0]]
    index_document(document.pk, force=True)
    vectors.embed_document(document.pk)
    assert found == index_of(document_of(space))
