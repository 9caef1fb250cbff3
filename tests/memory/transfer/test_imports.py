"""A zip file comes in on the page: what it would change is shown, and exactly that is done."""

import datetime as dt
import io
import re
import stat
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from memory.documents import write
from memory.documents.write import Author, Delete, Source
from memory.models import MemoryRevision, Upload
from memory.policy.paths import DOCUMENT_MAX_BYTES
from memory.tasks import sweep
from memory.transfer import archive
from oneclaw.reasons import Reason


@pytest.fixture
def at(client, ada):
    client.force_login(ada)
    return client


def packed(files, method=zipfile.ZIP_DEFLATED, **kinds):
    """A zip file of these texts; `kinds`: the mode of a file by the start of its name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files:
            about = zipfile.ZipInfo(name)
            about.compress_type = method
            about.external_attr = next((kind << 16 for start, kind in kinds.items() if start in name), 0)
            made.writestr(about, content)
    return buffer.getvalue()


def look(client, data, status=200):
    answer = client.post("/memory/import", {"archive": SimpleUploadedFile("mine.zip", data)})
    assert answer.status_code == status, answer.content.decode()
    return answer.content.decode()


def form(page):
    return {name: re.search(rf'name="{name}" value="([^"]+)"', page)[1] for name in ("token", "digest")}


def test_what_would_change_is_shown_and_nothing_is_changed_before_it_is_confirmed(at, space, append, document_of):
    append(space, "- tea")
    append(space, "- stays", path="notes.md")
    page = look(at, packed([("MEMORY.md", "- tea\n- <milk>\n"), ("memory/2026-11-21.md", "- day\n")]))
    assert "<ins>+ - &lt;milk&gt;</ins>" in page
    assert "MEMORY.md · changed" in page
    assert "memory/2026-11-21.md · new" in page
    assert MemoryRevision.objects.count() == 2
    done = at.post("/memory/import/confirm", form(page), follow=True).content.decode()
    assert "2 files are imported." in done
    assert document_of(space).content == "- tea\n- <milk>\n"
    assert document_of(space, "memory/2026-11-21.md").content == "- day\n"
    assert document_of(space, "notes.md").content == "- stays\n"
    revision = MemoryRevision.objects.latest("pk")
    assert (revision.source, revision.reason) == ("import", Reason("change.imported", {"name": "mine.zip"}))
    assert "was not imported" not in done
    # A second click.
    assert at.post("/memory/import/confirm", form(page)).status_code == 409
    assert MemoryRevision.objects.count() == 4
    assert not Upload.objects.exists()


def test_what_could_not_be_imported_is_counted_as_an_error(at):
    page = look(at, packed([("MEMORY.md", "- tea\n"), ("bad.md", b"\xff\xfe\xff")]))
    done = at.post("/memory/import/confirm", form(page), follow=True).content.decode()
    assert "1 file is imported." in done
    assert re.search(r'class="flash flash--error"[^>]*>1 file was not imported\.', done)


def test_when_memory_changed_meanwhile_nothing_is_imported_and_the_new_difference_is_shown(
    at, space, append, document_of
):
    page = look(at, packed([("MEMORY.md", "- theirs\n"), ("SOUL.md", "- soul\n")]))
    append(space, "- mine")
    again = at.post("/memory/import/confirm", form(page))
    assert again.status_code == 409
    assert "Memory was changed in the meantime" in again.content.decode()
    assert "<del>− - mine</del>" in again.content.decode()
    assert [document.path for document in space.documents.all()] == ["MEMORY.md"]
    assert at.post("/memory/import/confirm", form(again.content.decode())).status_code == 302
    assert document_of(space).content == "- theirs\n"


def test_what_was_taken_along_comes_in_again_byte_for_byte(at, client, stranger, space, append, strangers_space):
    for path, text in (("MEMORY.md", "\ufeff🍵\r\nlone\rno end"), ("notes/Tee für mich.md", "x"), ("gone.md", "x")):
        append(space, text, path=path)
    write.apply(space, "gone.md", Delete(1), Author(Source.PAGE))
    data = at.get("/memory/export.zip").content
    assert "Nothing would change." in look(at, data)
    client.force_login(stranger)
    client.post("/memory/import/confirm", form(look(client, data)))
    theirs = dict(strangers_space.documents.values_list("path", "content"))
    assert theirs == dict(space.documents.present().values_list("path", "content"))


def test_an_openclaw_workspace_folder_that_was_zipped_whole_comes_in_as_it_is(at, space):
    names = ["AGENTS.md", "MEMORY.md", "memory/2026-11-21.md", "notes/a.md", ".git/x.md", "script.py"]
    files = [(f"workspace/{name}", name) for name in names]
    page = look(at, packed([*files, ("__MACOSX/workspace/._MEMORY.md", "x")]))
    assert "3 files are hidden or not Markdown" in page
    at.post("/memory/import/confirm", form(page))
    assert sorted(space.documents.values_list("path", flat=True)) == sorted(names[:4])


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("../up.md", "x", "no part of its path may be empty, . or .."),
        ("/etc/root.md", "x", "relative to the folder"),
        ("c:\\win.md", "x", "relative to the folder"),
        ("a//b.md", "x", "no part of its path may be empty"),
        ("x.md/y.md", "x", "a folder may not be named like a file"),
        ("bell\x07.md", "x", "control characters"),
        ("n" * 300 + ".md", "x", "longer than 255 bytes"),
        ("link.md", "/etc/passwd", "symbolic link"),
        ("linked", "/etc/passwd", "symbolic link"),
        ("pipe.md", "", "not a regular file"),
        ("latin.md", "für".encode("latin-1"), "not valid UTF-8: byte 2"),
        ("nul.md", "a\0b", "contains NUL"),
        ("bomb.md", b"0" * (DOCUMENT_MAX_BYTES + 1), "larger than 1,048,576 bytes"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_itself_and_says_why(at, space, name, content, why):
    page = look(at, packed([("good.md", "x"), (name, content)], link=stat.S_IFLNK | 0o777, pipe=stat.S_IFIFO | 0o600))
    assert why in page
    at.post("/memory/import/confirm", form(page))
    assert [document.path for document in space.documents.all()] == ["good.md"]


def test_the_same_name_in_two_unicode_forms_is_taken_once(at, space):
    page = look(at, packed([("é.md", "one"), ("e\u0301.md", "two")]))
    assert "is in it twice" in page


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no zip", "This zip file cannot be read"),
        (packed([("MEMORY.md", "x" * 2000)])[:-20], "This zip file cannot be read"),
        (
            packed([(f"{number}.md", b"0" * DOCUMENT_MAX_BYTES) for number in range(51)]),
            "unpacks to more than 52,428,800 bytes",
        ),
        (packed([(f"{number}.md", "") for number in range(archive.ARCHIVE_MAX_FILES + 1)]), "contains 5,001 files"),
    ],
)
def test_an_archive_that_is_none_or_a_bomb_is_refused_whole(at, data, why):
    assert why in look(at, data, status=422)
    assert not Upload.objects.exists()


def test_a_size_that_lies_unpacks_no_more_than_it_says(at, space):
    data = packed([("MEMORY.md", b"0" * 3_000_000)])
    lie = data.replace((3_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert "It is damaged" in look(at, lie)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_in_an_unusual_way_is_refused_with_a_sentence(at, space, method):
    data = packed([("MEMORY.md", "- tea\n" * 99)], method)
    assert "Its compression is not supported" in look(at, data[:60] + b"\xff" * 8 + data[68:])


def test_a_file_that_is_too_large_is_not_even_read(at, monkeypatch):
    monkeypatch.setattr(archive, "ARCHIVE_MAX_BYTES", 100)
    assert "Nothing was imported." in look(at, b"x" * 101, status=422)
    assert at.post("/memory/import").status_code == 422


def test_an_upload_is_one_persons_and_expires(at, client, stranger, space):
    values = form(look(at, packed([("MEMORY.md", "x")])))
    client.force_login(stranger)
    assert client.post("/memory/import/confirm", values).status_code == 409
    Upload.objects.update(created_at=timezone.now() - dt.timedelta(hours=2))
    client.force_login(space.owner)
    assert client.post("/memory/import/confirm", values).status_code == 409
    assert client.post("/memory/import/confirm", {"token": "x"}).status_code == 400
    sweep()
    assert not Upload.objects.exists()
    assert not space.documents.exists()


def test_a_long_file_is_cut_on_the_page_and_taken_whole(at, space, document_of):
    text = "".join(f"line {number}\n" for number in range(1000))
    page = look(at, packed([("MEMORY.md", text)]))
    assert "… and 600 lines more" in page
    at.post("/memory/import/confirm", form(page))
    assert document_of(space).content == text
