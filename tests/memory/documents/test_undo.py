"""Undo and restore."""

import pytest

from memory.documents import undo, write
from memory.documents.write import Author, Delete, Replace, Source, StaleVersionError

BY = Author(Source.UNDO)


def replace(space, content, version):
    return write.apply(space, "MEMORY.md", Replace(content, version), Author(Source.PAGE))


def test_a_change_is_taken_back_after_later_changes_of_other_lines(space, append, document_of):
    append(space, "- tea")
    wrong = append(space, "- wrong")
    append(space, "- milk")
    replace(space, "# New heading\n\n- tea!\n- wrong\n- milk\n", 3)
    revision = undo.undo(wrong, BY)
    assert document_of(space).content == "# New heading\n\n- tea!\n- milk\n"
    assert (revision.number, revision.source) == (5, "undo")


def test_a_change_whose_lines_were_changed_since_cannot_be_undone(space, append, document_of):
    append(space, "- tea")
    wrong = append(space, "- wrong")
    replace(space, "- tea\n- right\n", 2)
    with pytest.raises(undo.CannotUndoError, match="its lines were changed again later"):
        undo.undo(wrong, BY)
    assert document_of(space).version == 3


def test_a_change_is_undone_once(space, append, document_of):
    append(space, "- tea")
    wrong = append(space, "- wrong")
    undo.undo(wrong, BY)
    with pytest.raises(undo.CannotUndoError):
        undo.undo(wrong, BY)
    assert document_of(space).content == "- tea\n"


def test_an_undo_can_be_undone(space, append, document_of):
    append(space, "- tea")
    undone = undo.undo(append(space, "- milk"), BY)
    undo.undo(undone, BY)
    assert document_of(space).content == "- tea\n- milk\n"


def test_a_document_whose_making_is_undone_goes_and_comes_back(space, append, document_of):
    gone = undo.undo(append(space, "- tea"), BY)
    assert document_of(space).is_deleted
    undo.undo(gone, BY)
    assert not document_of(space).is_deleted
    assert document_of(space).content == "- tea\n"


def test_an_emptied_document_that_is_undone_further_stays(space, append, document_of):
    append(space, "")
    replace(space, "", 0)
    undo.undo(append(space, "- tea"), BY)
    assert not document_of(space).is_deleted


def test_a_deleted_document_comes_back(space, append, document_of):
    append(space, "- tea")
    deleted = write.apply(space, "MEMORY.md", Delete(1), Author(Source.PAGE))
    undo.undo(deleted, BY)
    assert document_of(space).content == "- tea\n"
    assert not document_of(space).is_deleted


def test_any_state_can_be_restored(space, append, document_of):
    append(space, "- one")
    append(space, "- two")
    replace(space, "", 2)
    undo.restore(document_of(space), 2, 3, BY)
    assert document_of(space).content == "- one\n- two\n"
    with pytest.raises(StaleVersionError):
        undo.restore(document_of(space), 1, 3, BY)


def test_a_line_is_deleted_where_it_stands_now(space, append, document_of):
    append(space, "- one\n- two\n- three")
    replace(space, "# Heading\n- one\n- two\n- three\n", 1)
    undo.change_lines(document_of(space), 1, 1, [], 1, BY)
    assert document_of(space).content == "# Heading\n- one\n- three\n"
    with pytest.raises(undo.OverlapError):
        undo.change_lines(document_of(space), 1, 1, [], 1, BY)
