"""A file that cannot be read, or is a copy of a program that synchronises folders, is shown before anything is done."""

import os

import pytest

from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.files.scan import scan_folder
from memory.files.waiting import Why, waiting_files
from memory.forgetting import forget
from memory.models import MemoryChunk, MemoryDocument
from memory.policy.sync_copies import copied_path
from oneclaw.models import Space, SpaceMember
from oneclaw.spaces import lifecycle

pytestmark = pytest.mark.django_db(transaction=True)
OLD = (1, 1)
AUTHOR = Author(Source.PAGE)


@pytest.fixture
def folder(space, settings):
    """Ada's folder, with a MEMORY.md of one line."""
    write.apply(space, "MEMORY.md", Append("- Ada likes tea"), Author(Source.PAGE, space.owner))
    return settings.WORKSPACES / str(space.pk)


@pytest.fixture
def put(folder):
    """put(name, data): a file that nobody is writing any more."""

    def put(name, data):
        (folder / name).write_bytes(data)
        os.utime(folder / name, OLD)

    return put


@pytest.fixture
def answer(client, ada):
    client.force_login(ada)
    return lambda path, answer: client.post("/memory/files/waiting", {"path": path, "answer": answer}, follow=True)


def content(space, path="MEMORY.md"):
    return MemoryDocument.objects.get(space=space, path=path).content


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_a_text_of_windows_is_read_and_stays_in_its_encoding(space, folder, put, encoding):
    put("MEMORY.md", "- Ada likes tea\n- Müller hat Äpfel und Öl\n".encode(encoding))
    scan_folder(space)
    assert "Müller hat Äpfel und Öl" in content(space)
    assert waiting_files(space) == []
    write.apply(space, "MEMORY.md", Append("- Grüße"), Author(Source.PAGE, space.owner))
    stored = (folder / "MEMORY.md").read_bytes()
    assert "- Grüße" in stored.decode("utf-16-le" if encoding != "cp1252" else "cp1252")
    write.apply(space, "MEMORY.md", Append("- 茶"), Author(Source.PAGE, space.owner))
    if encoding == "cp1252":
        assert "- 茶" in (folder / "MEMORY.md").read_text()
    assert list(folder.glob("*.refused")) == []


UNREADABLE = "- Ada hat Öl\x81".encode("latin-1")


def test_a_file_that_cannot_be_read_is_shown_before_anything_is_put_aside(space, put, client, ada):
    put("MEMORY.md", UNREADABLE)
    scan_folder(space)
    client.force_login(ada)
    page = client.get("/memory/files").content.decode()
    assert "Its encoding is not known" in page
    assert "Read as Windows-1252" in page
    assert "1 file in the folder of your memory cannot be read" in client.get("/memory/inbox/").content.decode()


def test_it_is_read_after_a_yes(space, put, answer, folder):
    put("MEMORY.md", UNREADABLE)
    assert "The text of the file was taken in." in answer("MEMORY.md", "read").content.decode()
    os.utime(folder / "MEMORY.md", OLD)
    scan_folder(space)
    assert "Ada hat Öl" in content(space)
    assert waiting_files(space) == []


def test_what_was_put_aside_is_shown_until_it_is_answered(space, put, answer, folder):
    put("MEMORY.md", UNREADABLE + b"\n- Ada has a boat\n")
    write.apply(space, "MEMORY.md", Append("- Later"), Author(Source.PAGE, space.owner))
    (waiting,) = waiting_files(space)
    assert (waiting.why, waiting.document_path, waiting.new_lines) == (Why.SET_ASIDE, "MEMORY.md", 2)
    answer(waiting.path, "read")
    assert "Ada has a boat" in content(space)
    assert "Later" in content(space)
    assert waiting_files(space) == []
    assert list(folder.glob("*.refused")) == []


def test_the_name_of_a_mac_is_composed_after_a_yes(space, put, answer, folder):
    put("Ku\u0308che.md", b"- Salt\n")
    (waiting,) = waiting_files(space)
    assert waiting.why == Why.UNICODE_FORM
    answer(waiting.path, "read")
    os.utime(folder / "K\u00fcche.md", OLD)
    scan_folder(space)
    assert content(space, "K\u00fcche.md") == "- Salt\n"


def test_links_are_named_and_their_text_stays_outside(space, folder, answer, tmp_path):
    (tmp_path / "outside.md").write_text("secret")
    (folder / "hard.md").hardlink_to(tmp_path / "outside.md")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    assert [each.why for each in waiting_files(space)] == [Why.HARD_LINK, Why.LINK]
    assert "secret" not in answer("link.md", "read").content.decode()
    answer("link.md", "discard")
    answer("hard.md", "discard")
    assert waiting_files(space) == []
    assert (tmp_path / "outside.md").read_text() == "secret"


COPIES = [
    "MEMORY.sync-conflict-20261125-101010-ABCDEFG.md",
    "MEMORY (conflicted copy 2026-11-25 101010).md",
    "MEMORY (Ada's conflicted copy 2026-11-25).md",
    "MEMORY (in Konflikt stehende Kopie von Ada 2026-11-25).md",
    "MEMORY (copie en conflit de Ada).md",
    "MEMORY (Copia en conflicto de Ada 2026-11-25).md",
    "MEMORY（競合コピー）.md",
    "MEMORY.Conflict.md",
    "MEMORY-DESKTOP-AB12CD3.md",
    "MEMORY 2.md",
    "MEMORY (1).md",
    "MEMORY.sync-conflict-20261125-101010-ABCDEFG 2.md",
    "Memory.md",
]


@pytest.mark.parametrize("name", COPIES)
def test_a_conflict_copy_is_no_document_and_its_new_lines_are_offered(space, put, answer, name):
    put(name, b"- Ada likes tea\n- Ada has a boat\n")
    scan_folder(space)
    assert [document.path for document in MemoryDocument.objects.all()] == ["MEMORY.md"]
    assert not MemoryChunk.objects.filter(text__contains="boat").exists()
    (waiting,) = waiting_files(space)
    assert (waiting.path, waiting.why, waiting.new_lines) == (name, Why.COPY, 1)
    assert "It has 1 line that MEMORY.md does not have." in answer("nothing", "discard").content.decode()
    answer(name, "read")
    assert content(space).count("Ada likes tea") == 1
    assert "Ada has a boat" in content(space)
    assert waiting_files(space) == []


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_that_is_deleted_is_gone(space, put, answer, folder, name):
    put(name, b"- Ada has a boat\n")
    answer(name, "discard")
    assert not (folder / name).exists()
    assert "boat" not in content(space)


def test_what_is_no_copy_becomes_a_document_by_a_word_of_its_owner(space, put, answer):
    put("MEMORY 2.md", b"- Another list\n")
    answer("MEMORY 2.md", "keep")
    assert content(space, "MEMORY 2.md") == "- Another list\n"
    scan_folder(space)
    assert waiting_files(space) == []


def test_what_has_no_original_is_a_document():
    others = {"MEMORY.md", "memory/2026-11-25.md", "Trip 1.md"}
    for path in (
        "Notes 2.md",
        "memory/2026-11-26.md",
        "Trip 2.md",
        "MEMORY.md",
        "MEMORY2.md",
        "MEMORY (conflict 2026-11-25 1010).md",
    ):
        assert copied_path(path, others) == ""
    assert copied_path("memory/2026-11-25 2.md", others) == "memory/2026-11-25.md"


def test_nobody_answers_for_the_folder_of_another_person(space, put, client, stranger):
    put("MEMORY 2.md", b"- Ada has a boat\n")
    client.force_login(stranger)
    for choice in ("read", "discard"):
        client.post("/memory/files/waiting", {"path": "MEMORY 2.md", "answer": choice})
        client.post("/memory/files/waiting", {"path": f"../{space.pk}/MEMORY 2.md", "answer": choice})
    assert [each.path for each in waiting_files(space)] == ["MEMORY 2.md"]


def test_the_files_of_a_space_wait_for_its_editors(ada, stranger, client, settings):
    space = lifecycle.create(ada, lifecycle.checked_draft("Engine room"))
    write.apply(space, "MEMORY.md", Append("- The pump is blue"), Author(Source.PAGE, ada))
    copy = settings.WORKSPACES / str(space.pk) / "MEMORY 2.md"
    copy.write_bytes(b"- The valve is green\n")
    os.utime(copy, OLD)
    form = {"path": "MEMORY 2.md", "answer": "read", "space": space.pk}
    client.force_login(stranger)
    assert client.post("/memory/files/waiting", form).status_code == 404
    reader = SpaceMember.objects.create(space=space, user=stranger, role="reader")
    assert "MEMORY 2.md" not in client.get(f"/spaces/{space.pk}/memory").content.decode()
    assert client.post("/memory/files/waiting", form).status_code == 404
    reader.role = "editor"
    reader.save()
    Space.objects.filter(pk=space.pk).update(needs_second_person=True)
    assert client.post("/memory/files/waiting", form).status_code == 403
    assert content(space) == "- The pump is blue\n"
    client.force_login(ada)
    assert "It has 1 line that MEMORY.md does not have." in client.get(f"/spaces/{space.pk}/memory").content.decode()
    page = client.post("/memory/files/waiting", form, follow=True)
    assert page.request["PATH_INFO"] == f"/spaces/{space.pk}/memory"
    assert content(space) == "- The pump is blue\n- The valve is green\n"


def test_nothing_is_taken_in_that_would_lose_or_reveal_something(space, put, answer, folder, tmp_path):
    put("MEMORY 2.md", b"- x\n" * (1024 * 300))
    put("Ku\u0308che.md", b"- Salt\n")
    put("K\u00fcche.md", b"- Pepper\n")
    (tmp_path / "outside.md").write_text("- secret\n")
    (folder / "MEMORY 3.md").hardlink_to(tmp_path / "outside.md")
    put(f"Gone.md.{10**18}.refused", b"- late\n")
    names = ["MEMORY 2.md", "Ku\u0308che.md", "MEMORY 3.md", f"Gone.md.{10**18}.refused"]
    for name in names:
        assert "Nothing was done." in answer(name, "read").content.decode()
        assert (folder / name).exists()
    assert (folder / "K\u00fcche.md").read_bytes() == b"- Pepper\n"
    assert "secret" not in content(space)


def page_of(answer):
    return answer("nothing", "discard").content.decode()


def test_a_decomposed_name_that_is_there_already_is_a_copy(space, put, answer, folder):
    put("K\u00fcche.md", b"- Salt\n")
    scan_folder(space)
    put("Ku\u0308che.md", b"- Salt\n- Pepper\n")
    (waiting,) = waiting_files(space)
    assert (waiting.why, waiting.document_path, waiting.added) == (Why.COPY, "K\u00fcche.md", ["- Pepper"])
    assert not waiting.is_keepable
    answer(waiting.path, "read")
    assert content(space, "K\u00fcche.md") == "- Salt\n- Pepper\n"
    assert waiting_files(space) == []


def test_damaged_utf_8_is_read_as_such_and_says_so(space, put, answer, folder):
    data = "- Müller hat Äpfel, Öl und Grüße\n- 茶はおいしい\n".encode() + b"- broken \xff here\n"
    put("Broken.md", data)
    (waiting,) = waiting_files(space)
    assert (waiting.why, waiting.encoding) == (Why.DAMAGED, "utf-8")
    assert "Read what can be read" in page_of(answer)
    answer("Broken.md", "read")
    os.utime(folder / "Broken.md", OLD)
    scan_folder(space)
    assert content(space, "Broken.md") == data.decode(errors="replace")


def test_what_is_never_read_has_no_button_for_it(space, put, answer, folder, tmp_path):
    put("Large.md", b"- x\n" * (1024 * 300))
    (tmp_path / "outside.md").write_text("- secret\n")
    (folder / "Hard.md").hardlink_to(tmp_path / "outside.md")
    put("Zero.md", b"\x00\x01\x02" * 50)
    assert {each.path: each.why for each in waiting_files(space)} == {
        "Hard.md": Why.HARD_LINK,
        "Large.md": Why.TOO_LARGE,
        "Zero.md": Why.NO_TEXT,
    }
    assert 'value="read"' not in page_of(answer)


def test_a_copy_without_new_lines_offers_none(space, put, answer):
    put("MEMORY 2.md", b"- Ada likes tea\n")
    page = page_of(answer)
    assert "It has 0 lines that MEMORY.md does not have." in page
    assert 'value="read"' not in page
    assert 'value="keep"' in page


def test_forgotten_lines_of_a_copy_are_not_offered(space, put):
    line = "Ada once lived in a small house by the sea"
    write.apply(space, "MEMORY.md", Append(f"- {line}"), Author(Source.PAGE, space.owner))
    forget.forget(space, [f"- {line}"], space.owner)
    put("MEMORY 2.md", f"- {line}\n- Ada has a boat\n".encode())
    (waiting,) = waiting_files(space)
    assert waiting.added == ["- Ada has a boat"]


def test_the_file_of_a_document_that_is_discarded_is_written_again(space, put, answer, folder):
    put("MEMORY.md", UNREADABLE)
    answer("MEMORY.md", "discard")
    assert (folder / "MEMORY.md").read_text() == content(space)
    (folder / "MEMORY.md").unlink()
    (folder / "MEMORY.md").symlink_to(folder / "elsewhere")
    answer("MEMORY.md", "discard")
    assert (folder / "MEMORY.md").read_text() == content(space)


def test_a_document_says_that_its_file_cannot_be_read(space, put, client, ada):
    document = MemoryDocument.objects.get(space=space)
    client.force_login(ada)
    sentence = "The file of this document cannot be read"
    assert sentence not in client.get(f"/memory/{document.pk}/").content.decode()
    put("MEMORY.md", UNREADABLE)
    assert sentence in client.get(f"/memory/{document.pk}/").content.decode()


def test_what_is_written_is_read_again(space, folder, put):
    put("MEMORY.md", "- Grüße\n".encode("utf-16-le"))
    scan_folder(space)
    document = MemoryDocument.objects.get(space=space)
    for text in ("- 猫\n", "- a\n", "\n", "- é\x81\n", "- ÿþ\n"):
        write.apply(space, "MEMORY.md", write.Replace(text, MemoryDocument.objects.get(pk=document.pk).version), AUTHOR)
        os.utime(folder / "MEMORY.md", OLD)
        scan_folder(space)
        assert content(space) == text
        assert waiting_files(space) == []


def test_a_name_is_shown_without_hidden_characters(space, put, answer):
    put("No\u202etes\u0007.md", UNREADABLE)
    page = page_of(answer)
    assert "No�tes�.md" in page
    assert "\u202e" not in page.split("<strong>")[1].split("</strong>")[0]


def test_a_copy_that_is_seen_before_its_original_is_no_document(space, put):
    put("Trip 2.md", b"- Lisbon\n")
    put("Trip.md", b"- Porto\n")
    scan_folder(space)
    assert not MemoryDocument.objects.filter(path="Trip 2.md").exists()
    assert [each.path for each in waiting_files(space)] == ["Trip 2.md"]


def test_a_copy_of_a_deleted_document_is_a_document(space, put, folder):
    put("Trip.md", b"- Porto\n")
    scan_folder(space)
    trip = MemoryDocument.objects.get(path="Trip.md")
    write.apply(space, "Trip.md", write.Delete(trip.version), AUTHOR)
    put("Trip 2.md", b"- Lisbon\n")
    scan_folder(space)
    assert content(space, "Trip 2.md") == "- Lisbon\n"
