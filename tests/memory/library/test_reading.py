"""Files of a library are read page by page, indexed once, and found with page and lines; a broken one says why."""

import datetime as dt
import io
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import openpyxl
import pytest
from django.db import connection

from chat.attachments.examine import FileRefusedError
from memory.library import files as library
from memory.library import reading
from memory.library.search import search_files
from memory.models import FileChunk, FileIndex, FilePage, FileVector, FileVersion, LibraryFile
from memory.search.manager import HybridSearchManager
from oneclaw.models import clock
from tests import files

EXCEL_97 = (Path(__file__).parents[2] / "chat/attachments/excel97.xls").read_bytes()
HTML = b"""<!doctype html><html><head><title>Rules</title><script>var tea = "hidden";</script></head>
<body><h1>House rules</h1><ul><li>The kettle is descaled on Fridays.</li></ul></body></html>"""


@pytest.fixture
def put(ada, space):
    """put(name, data): the version, read as far as that is possible."""

    def put(name, data):
        version = library.add(space, ada, name, data)
        reading.run(version.pk)
        version.refresh_from_db()
        return version

    return put


def found(space, user, query):
    return [(each.file.name, each.page, each.start_line, each.end_line) for each in search_files([space], query, user)]


@pytest.mark.parametrize(
    ("name", "data", "query", "place", "kind"),
    [
        (
            "plan.pdf",
            files.pdf("The harbour was closed in winter.", "Jasmine tea is stored in the cellar."),
            "Where is the jasmine tea stored?",
            (2, 2, 2),
            "pdf",
        ),
        (
            "minutes.docx",
            files.docx(files.paragraph("Minutes", "Heading1") + files.paragraph("The cellar key hangs by the stove.")),
            "Where does the cellar key hang?",
            (0, 3, 3),
            "docx",
        ),
        (
            "talk.pptx",
            files.pptx(("Harvest", "It begins in April."), ("Prices", "Oolong costs nine francs.")),
            "What does oolong cost?",
            (2, 6, 6),
            "pptx",
        ),
        (
            "stock.xlsx",
            files.xlsx(Staff=[["Ada", "Bern"]], Teas=[["Tea", "Chests", "Counted"], ["Sencha", 17, (dt.date, 45000)]]),
            "How many chests of sencha are there?",
            (2, 4, 5),
            "xlsx",
        ),
        ("staff.xls", EXCEL_97, "What is the rate of Ada?", (1, 2, 3), "xls"),
        ("staff.xls", b"<table><tr><td>Ada<td>Rate<td>7.5%</table>", "What is the rate of Ada?", (0, 1, 1), "html"),
        ("rules.html", HTML, "When is the kettle descaled?", (0, 5, 5), "html"),
        (
            "notes.md",
            b"# Visits\n\n- Bob visits the plantation in May.\n",
            "Who visits the plantation?",
            (0, 3, 3),
            "text",
        ),
        ("teas.csv", "Tee;Preis\nGrüner Tee;12\n".encode("cp1252"), "Preis von grünem Tee", (0, 1, 2), "text"),
        ("brew.py", b"def brew(leaf):\n    return leaf + 'steeped'\n", "brew leaf steeped", (0, 1, 2), "text"),
    ],
    ids=["pdf", "docx", "pptx", "xlsx", "xls", "table", "html", "md", "csv", "py"],
)
def test_a_file_of_each_kind_is_found_at_its_place(put, ada, space, name, data, query, place, kind):
    version = put(name, data)
    assert (version.status, version.error, version.kind) == ("done", "", kind)
    assert found(space, ada, query)[0] == (name, *place)


def test_a_sheet_shows_days_as_days(put):
    version = put("stock.xlsx", files.xlsx(Teas=[["Counted", (dt.date, 45000)]]))
    assert FilePage.objects.get(version=version).text == "# Teas\nCounted\t2023-03-15"


def test_a_hidden_sheet_is_said_to_be_left_out_and_nothing_else_is(put, client, ada):
    workbook = openpyxl.Workbook()
    workbook.active["A1"] = "visible words"
    workbook.create_sheet("Hidden").sheet_state = "hidden"
    kept = io.BytesIO()
    workbook.save(kept)
    version = put("stock.xlsx", kept.getvalue())
    assert (version.pages, version.pages_read, version.is_cut, version.hidden_sheets) == (1, 1, False, 1)
    client.force_login(ada)
    shown = client.get("/memory/documents/").content.decode()
    assert "1 page · " in shown
    assert " · 1 hidden sheet was left out" in shown
    assert "so long" not in shown


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("g.txt", b"caf\xe9 \x81\x8d" * 9, "Its encoding is not known: save it as UTF-8"),
        ("h.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "Files of this type cannot be read"),
        ("a.pdf", b"%PDF-1.7 nothing else", "It is damaged."),
        ("b.pdf", files.pdf("Tea", password="secret"), "It is protected by a password: add a copy without one."),
        ("c.zip", files.archive({"a.txt": "tea"}), "Files of this type cannot be read: add a PDF, Word, PowerPoint"),
        ("d.bin", bytes(range(256)) * 10, "Files of this type cannot be read: add a PDF"),
        ("e.pdf", files.pdf(""), "It has no text. It may consist of scanned pages"),
        ("f.docx", files.docx(files.paragraph("Tea"), before='<!DOCTYPE x [<!ENTITY a "b">]>'), "It is damaged."),
    ],
)
def test_a_file_that_cannot_be_read_says_why(put, name, data, sentence):
    version = put(name, data)
    assert version.status == FileVersion.Status.FAILED
    assert str(version.reason).startswith(sentence)
    assert not FileChunk.objects.exists()


def test_an_image_or_a_file_that_is_too_large_is_refused_at_once(ada, space, settings):
    settings.LIBRARY_LIMITS = replace(settings.LIBRARY_LIMITS, file_max_bytes=10)
    for data, code in ((b"x" * 11, "too_large"), (files.image()[:8], "type"), (b"", "empty")):
        with pytest.raises(FileRefusedError) as refused:
            library.add(space, ada, "a.txt", data)
        assert refused.value.code == code
    assert not LibraryFile.objects.exists()


def test_a_new_version_is_searched_when_it_is_read_and_the_old_one_stays_downloadable(put, ada, space):
    old = put("plan.md", b"The ferry leaves from Lindau.")
    fresh = library.add(space, ada, "plan.md", b"The ferry leaves from Bregenz.")
    assert fresh.number == 2
    # Until it is read, the old one is found.
    assert "Lindau" in search_files([space], "Where does the ferry leave from?", ada)[0].text
    reading.run(fresh.pk)
    assert "Bregenz" in search_files([space], "Where does the ferry leave from?", ada)[0].text
    assert FileChunk.objects.filter(text__contains="Lindau").count() == 0
    assert FileVector.objects.count() == FileChunk.objects.count()
    assert library.content_of(old) == b"The ferry leaves from Lindau."
    # The same bytes again are no version.
    assert library.add(space, ada, "plan.md", b"The ferry leaves from Bregenz.").pk == fresh.pk


def test_an_older_version_that_is_read_later_does_not_replace_the_newer_one(ada, space):
    old = library.add(space, ada, "plan.md", b"The ferry leaves from Lindau.")
    fresh = library.add(space, ada, "plan.md", b"The ferry leaves from Bregenz.")
    reading.run(fresh.pk)
    reading.run(old.pk)
    assert FileIndex.objects.get().version == fresh
    assert "Bregenz" in search_files([space], "Where does the ferry leave from?", ada)[0].text


def test_reading_twice_writes_once(put, ada, space):
    version = put("plan.pdf", files.pdf("Tea", "Milk"))
    chunks = list(FileChunk.objects.values_list("pk", flat=True))
    reading.run(version.pk)
    assert list(FileChunk.objects.values_list("pk", flat=True)) == chunks
    assert (version.pages, version.pages_read, version.attempts) == (2, 2, 1)


def test_a_file_that_its_reader_does_not_survive_is_given_up(put, ada, space):
    version = library.add(space, ada, "plan.md", b"Tea")
    # Three workers died while they read it.
    FileVersion.objects.filter(pk=version.pk).update(attempts=reading.MAX_ATTEMPTS, due_at=clock.database_now())
    reading.run(version.pk)
    version.refresh_from_db()
    assert (version.status, version.error) == ("failed", "faulty")
    # The person may try again.
    library.add(space, ada, "plan.md", b"Tea")
    reading.run(version.pk)
    version.refresh_from_db()
    assert version.status == "done"


def test_a_long_file_is_cut_at_the_limits(put, settings):
    settings.LIBRARY_LIMITS = replace(settings.LIBRARY_LIMITS, file_max_pages=2, file_max_chars=1000)
    version = put("long.pdf", files.pdf("One", "Two", "Three"))
    assert (version.pages, version.pages_read, version.is_cut) == (3, 2, True)
    assert put("long.md", b"x" * 1001).is_cut
    assert not put("short.md", b"x" * 1000).is_cut


def test_removing_a_file_removes_its_text_its_vectors_and_its_bytes(
    put, ada, space, settings, django_capture_on_commit_callbacks
):
    version = put("plan.md", b"The ferry leaves from Lindau.")
    put("other.md", b"Oolong costs nine francs.")
    kept = FileVector.objects.count()
    with django_capture_on_commit_callbacks(execute=True):
        library.remove(version.file, ada)
    assert not FileChunk.objects.filter(text__contains="Lindau").exists()
    assert FileVector.objects.count() == kept - 1
    assert not FilePage.objects.filter(version=version.pk).exists()
    assert not (settings.LIBRARY / str(space.pk) / str(version.pk)).exists()
    assert found(space, ada, "Where does the ferry leave from?") == []


def test_memory_does_not_find_files_and_files_are_not_memory(put, ada, space, append):
    put("plan.md", b"The ferry leaves from Lindau.")
    assert HybridSearchManager([space]).search("Where does the ferry leave from?") == []


def test_a_stranger_finds_nothing(put, stranger, space):
    put("plan.md", b"The ferry leaves from Lindau.")
    assert search_files([space], "Where does the ferry leave from?", stranger) == []
    assert not LibraryFile.objects.visible_to(stranger).exists()


@pytest.mark.django_db(transaction=True)
def test_two_workers_and_two_uploads_at_once_leave_one_index(ada, space):
    def at_once(*acts):
        barrier = threading.Barrier(len(acts))

        def run(act):
            barrier.wait(10)
            try:
                act()
            finally:
                connection.close()

        threads = [threading.Thread(target=run, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

    texts = [b"The ferry leaves from Lindau.", b"The ferry leaves from Bregenz."]
    at_once(*(partial(library.add, space, ada, "plan.md", text) for text in texts))
    first, second = FileVersion.objects.order_by("number").values_list("pk", flat=True)
    at_once(*(partial(reading.run, pk) for pk in (first, second, second, first)))
    # What found both places taken is done by the one that continues, or by the sweep.
    while waiting := FileVersion.objects.due_ids():
        reading.run(waiting[0])
    assert list(FileVersion.objects.order_by("number").values_list("number", "status", "attempts")) == [
        (1, "done", 1),
        (2, "done", 1),
    ]
    assert FileIndex.objects.get().version_id == second
    assert FileChunk.objects.count() == 1
