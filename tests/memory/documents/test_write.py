"""The one write path: operations, revisions, who wins."""

import threading

import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.documents import write
from memory.documents.write import Append, Author, Delete, Replace, Separator, Source
from memory.models import MemoryDocument, MemoryRevision, content_hash
from memory.policy.paths import BadPathError
from memory.signals import documents_written
from oneclaw.models import Space
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError

BY_TOOL = Author(Source.TOOL)


def test_the_first_append_makes_the_document(space, ada, document_of):
    author = Author(Source.PAGE, ada, reason=Reason("change.notes", {"title": "Tea"}))
    write.apply(space, "MEMORY.md", Append("- likes tea"), author)
    revision = MemoryRevision.objects.get()
    document = document_of(space)
    assert (document.content, document.version) == ("- likes tea\n", 1)
    assert document.content_hash == content_hash("- likes tea\n")
    assert (revision.number, revision.kind, revision.source) == (1, "append", "page")
    assert (revision.author, revision.reason) == (ada, author.reason)
    assert revision.content_hash == document.content_hash


def test_an_append_begins_on_a_line_of_its_own(space, document_of):
    write.apply(space, "a.md", Replace("no line end", 0), BY_TOOL)
    write.apply(space, "a.md", Append("next"), BY_TOOL)
    assert document_of(space, "a.md").content == "no line end\nnext\n"


@pytest.mark.parametrize(
    ("before", "separator", "text", "after"),
    [
        ("a\n", Separator.LINE, "b", "a\nb\n"),
        ("a\n", Separator.PARAGRAPH, "b", "a\n\nb\n"),
        ("a\n\n", Separator.PARAGRAPH, "b", "a\n\nb\n"),
        ("- a\n", Separator.LIST, "- b", "- a\n- b\n"),
        ("a\n", Separator.LIST, "- b", "a\n\n- b\n"),
        ("- a\n", Separator.LIST, "b\nc", "- a\n\nb\nc\n"),
    ],
)
def test_the_separator_says_what_stands_between(space, document_of, before, separator, text, after):
    write.apply(space, "a.md", Replace(before, 0), BY_TOOL)
    write.apply(space, "a.md", Append(text, separator), BY_TOOL)
    assert document_of(space, "a.md").content == after


def test_an_opening_goes_into_an_empty_document_only(space, document_of):
    for text in ("one", "two"):
        write.apply(space, "a.md", Append(text, heading="# Title\n\n"), BY_TOOL)
    assert document_of(space, "a.md").content == "# Title\n\none\ntwo\n"


def test_a_replace_names_the_version_that_it_saw(space, append, document_of):
    append(space, "one")
    write.apply(space, "MEMORY.md", Replace("two\n", 1), BY_TOOL)
    with pytest.raises(write.StaleVersionError, match=r"you saw version 1, it has version 2") as stale:
        write.apply(space, "MEMORY.md", Replace("three\n", 1), BY_TOOL)
    assert (stale.value.named["seen"], stale.value.named["version"]) == (1, 2)
    assert document_of(space).content == "two\n"


def test_a_replace_of_a_document_that_is_not_there_names_version_0(space):
    with pytest.raises(write.StaleVersionError):
        write.apply(space, "MEMORY.md", Replace("x", 3), BY_TOOL)
    assert not MemoryDocument.objects.exists()


def test_an_empty_operation_makes_no_revision(space, append):
    assert append(space, "") is None
    assert not MemoryDocument.objects.exists()
    append(space, "one")
    assert write.apply(space, "MEMORY.md", Replace("one\n", 1), BY_TOOL) is None
    assert MemoryRevision.objects.count() == 1


def test_an_empty_document_can_be_made(space, document_of):
    write.apply(space, "empty.md", Replace("", 0), Author(Source.IMPORT))
    assert (document_of(space, "empty.md").content, document_of(space, "empty.md").version) == ("", 1)


def test_a_deleted_document_keeps_its_history_and_can_come_back(space, append, document_of):
    append(space, "one")
    write.apply(space, "MEMORY.md", Delete(1), BY_TOOL)
    document = document_of(space)
    assert document.is_deleted
    assert document.content == ""
    assert not MemoryDocument.objects.present().exists()
    assert write.content_at(document, 1) == "one\n"
    append(space, "two")
    assert not document_of(space).is_deleted
    assert [revision.kind for revision in write.history(document)] == ["append", "delete", "append"]


def test_a_delete_names_the_version_that_it_saw(space, append):
    append(space, "one")
    append(space, "two")
    with pytest.raises(write.StaleVersionError):
        write.apply(space, "MEMORY.md", Delete(1), BY_TOOL)


def test_what_is_not_there_cannot_be_deleted(space, append):
    with pytest.raises(write.MissingDocumentError, match=r"There is no MEMORY\.md\."):
        write.apply(space, "MEMORY.md", Delete(2), BY_TOOL)
    append(space, "one")
    write.apply(space, "MEMORY.md", Delete(1), BY_TOOL)
    with pytest.raises(write.MissingDocumentError):
        write.apply(space, "MEMORY.md", Delete(2), BY_TOOL)


def test_an_operation_with_a_key_happens_once_in_a_space(space, strangers_space, append, document_of):
    first = append(space, "tea", operation_key="tool:1:a")
    again = append(space, "tea", operation_key="tool:1:a")
    elsewhere = append(space, "tea", path="other.md", operation_key="tool:1:a")
    assert first == again == elsewhere
    assert document_of(space).content == "tea\n"
    assert not MemoryDocument.objects.filter(path="other.md").exists()
    assert append(strangers_space, "tea", operation_key="tool:1:a") != first


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_text_that_cannot_be_stored_is_refused(space, text):
    for operation in (Append(text), Replace(text, 0), Append("a", heading=text)):
        with pytest.raises(InvalidTextError, match="NUL or half a surrogate pair"):
            write.apply(space, "MEMORY.md", operation, BY_TOOL)


def test_a_document_has_1_mib_at_most(space, document_of):
    write.apply(space, "a.md", Replace("é" * (512 * 1024), 0), BY_TOOL)
    with pytest.raises(write.DocumentTooLargeError, match=r"a\.md would have 1,048,579 bytes; at most 1,048,576"):
        write.apply(space, "a.md", Append("x"), BY_TOOL)
    assert document_of(space, "a.md").version == 1


def test_a_path_outside_the_folder_is_refused(space):
    with pytest.raises(BadPathError):
        write.apply(space, "../MEMORY.md", Append("x"), BY_TOOL)


def test_line_ends_and_byte_order_marks_stay_as_they_are(space, document_of):
    content = "\ufeffone\r\ntwo\rthree\n\n\n"
    write.apply(space, "a.md", Replace(content, 0), BY_TOOL)
    assert document_of(space, "a.md").content == content


operations = st.lists(
    st.one_of(
        st.builds(lambda text, separator: ("append", text, separator), st.text(), st.sampled_from(Separator)),
        st.builds(lambda text: ("replace", text, None), st.text() | st.just("a\nb\nc\n")),
        st.just(("delete", "", None)),
    ),
    max_size=8,
)


@pytest.mark.django_db
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=operations)
def test_the_revisions_add_up_to_every_content_that_the_document_had(space, steps):
    MemoryDocument.objects.all().delete()
    contents = {0: ""}
    for kind, text, separator in steps:
        version = max(contents)
        operation = {
            "append": Append(text, separator),
            "replace": Replace(text, version),
            "delete": Delete(version),
        }[kind]
        try:
            write.apply(space, "a.md", operation, BY_TOOL)
        except (InvalidTextError, write.MissingDocumentError):
            continue
        document = MemoryDocument.objects.filter(path="a.md").first()
        if document:
            contents[document.version] = document.content
    if document := MemoryDocument.objects.filter(path="a.md").first():
        assert sorted(contents) == list(range(document.version + 1))
        for number, content in contents.items():
            assert write.content_at(document, number) == content


@pytest.mark.django_db(transaction=True)
def test_20_appends_at_once_are_20_lines_and_20_revisions(space, append, document_of):
    start = threading.Barrier(20)

    def work(number):
        try:
            start.wait()
            append(space, f"- line {number}")
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    document = document_of(space)
    assert sorted(document.content.splitlines()) == sorted(f"- line {number}" for number in range(20))
    numbers = list(document.revisions.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, 21))
    assert write.content_at(document, 20) == document.content


def test_the_database_refuses_a_revision_in_another_space_than_its_document(space, strangers_space, append):
    fields = {"number": 2, "kind": "append", "source": "page", "content_hash": ""}

    @transaction.atomic
    def cross(document):
        MemoryRevision.objects.create(space=strangers_space, document=document, **fields)
        connection.check_constraints()

    with pytest.raises(DatabaseError, match="revision_in_space_of_document"):
        cross(append(space, "mine").document)


def test_the_database_refuses_to_change_a_revision(append, space):
    revision = append(space, "mine")
    with pytest.raises(DatabaseError, match="A revision is never edited"), transaction.atomic():
        MemoryRevision.objects.filter(pk=revision.pk).update(hunks=[])


def test_a_person_goes_with_everything_that_is_theirs(ada, space, append, strangers_space):
    append(space, "mine")
    append(strangers_space, "theirs")
    ada.delete()
    connection.check_constraints()
    assert [document.space for document in MemoryDocument.objects.all()] == [strangers_space]
    assert list(Space.objects.all()) == [strangers_space]


@pytest.fixture
def written():
    """The ids of the documents of which `documents_written` has told."""
    ids = []

    def note(document_ids, **_):
        ids.extend(document_ids)

    documents_written.connect(note)
    yield ids
    documents_written.disconnect(note)


def test_a_change_is_announced_once_it_is_committed(space, written, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        revision = write.apply(space, "MEMORY.md", Append("- likes tea"), BY_TOOL)
        assert written == []
    assert written == [revision.document_id]


def test_what_changes_nothing_is_not_announced(space, append, written, django_capture_on_commit_callbacks):
    append(space, "- likes tea\n")
    with django_capture_on_commit_callbacks(execute=True):
        assert write.apply(space, "MEMORY.md", Replace("- likes tea\n", 1), BY_TOOL) is None
    assert written == []


def test_a_document_that_cannot_be_indexed_still_gets_its_file(
    space, settings, monkeypatch, caplog, django_capture_on_commit_callbacks
):
    def fail(document_id):
        raise DatabaseError("no index")

    monkeypatch.setattr("memory.index.documents.index_document", fail)
    with django_capture_on_commit_callbacks(execute=True):
        write.apply(space, "MEMORY.md", Append("- likes tea"), BY_TOOL)
    assert (settings.WORKSPACES / str(space.pk) / "MEMORY.md").read_text() == "- likes tea\n"
    assert "could not be indexed" in caplog.text
