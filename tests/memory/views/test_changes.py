"""Editing, deleting a line, undo and restore on the memory page; searching it."""

import pytest
from django.utils.html import strip_tags

from memory.documents import write
from memory.documents.write import Append, Author, Source
from oneclaw.models import Space, SpaceMember


@pytest.fixture
def ada_at(client, ada):
    client.force_login(ada)
    return client


@pytest.fixture
def document(space, append):
    return append(space, "- one\n- two\n- three").document


def at(document, act=""):
    return f"/memory/{document.pk}/{act}"


def test_an_edit_is_saved_as_a_change_by_the_page(ada_at, document, space, document_of, ada):
    form = ada_at.get(at(document, "edit")).content.decode()
    assert 'name="base_version" value="1"' in form
    shown = ada_at.post(
        at(document, "edit"), {"base_version": 1, "content": "- one\r\n- 2\r\n- three\r\n"}, follow=True
    )
    assert "Saved." in shown.content.decode()
    assert document_of(space).content == "- one\n- 2\n- three\n"
    revision = document.revisions.get(number=2)
    assert (revision.source, revision.author) == ("page", ada)


def test_when_somebody_else_wrote_meanwhile_nothing_is_saved_and_both_texts_are_shown(
    ada_at, document, space, append, document_of
):
    append(space, "- theirs")
    answer = ada_at.post(at(document, "edit"), {"base_version": 1, "content": "- one\n- MINE\n- three\n"})
    text = answer.content.decode()
    assert answer.status_code == 409
    assert document_of(space).version == 2
    assert "This document was changed while you were editing it" in text
    assert "\n- one\n- MINE\n- three\n- theirs\n</textarea>" in text
    assert 'name="base_version" value="2"' in text


def test_a_change_of_the_same_line_leaves_mine_to_be_read(ada_at, document, space, document_of):
    ada_at.post(at(document, "edit"), {"base_version": 1, "content": "- THEIRS\n- two\n- three\n"})
    text = ada_at.post(at(document, "edit"), {"base_version": 1, "content": "- MINE\n- two\n- 3\n"}).content.decode()
    assert "The same lines were changed" in text
    assert "\n- THEIRS\n- two\n- 3\n</textarea>" in text
    assert '<pre class="memory__raw" tabindex="0">- MINE' in text


def test_what_cannot_be_saved_stays_in_the_field(ada_at, document, space, document_of):
    answer = ada_at.post(at(document, "edit"), {"base_version": 1, "content": "x" * 1_100_000})
    assert answer.status_code == 422
    assert "at most 1,048,576 are possible" in answer.content.decode()
    assert document_of(space).version == 1


def test_a_line_is_deleted_and_later_changes_stay(ada_at, document, space, append, document_of):
    append(space, "- four")
    ada_at.post(at(document, "delete-line"), {"base_version": 1, "line": 1})
    assert document_of(space).content == "- one\n- three\n- four\n"
    again = ada_at.post(at(document, "delete-line"), {"base_version": 1, "line": 1}, follow=True).content.decode()
    assert "That line was changed in the meantime" in again
    assert document_of(space).version == 3


def test_a_change_is_shown_and_then_undone(ada_at, document, space, append, document_of):
    revision = append(space, "- wrong")
    address = f"/memory/undo/{revision.pk}"
    assert address in ada_at.get(at(document)).content.decode()
    assert "<ins>+ - wrong</ins>" in ada_at.get(address).content.decode()
    assert document_of(space).version == 2
    assert "Undone." in ada_at.post(address, follow=True).content.decode()
    assert document_of(space).content == "- one\n- two\n- three\n"
    assert "cannot be undone, because" in ada_at.post(address, follow=True).content.decode()


def test_an_earlier_state_is_restored(ada_at, document, space, append, document_of):
    append(space, "- four")
    ada_at.post(at(document, "restore"), {"base_version": 2, "number": 1})
    assert document_of(space).content == "- one\n- two\n- three\n"
    stale = ada_at.post(at(document, "restore"), {"base_version": 2, "number": 2}, follow=True).content.decode()
    assert "was changed meanwhile" in stale
    assert ada_at.post(at(document, "restore"), {"base_version": 3, "number": 9}).status_code == 400


def test_memory_is_searched_on_its_page(ada_at, space, strangers_space, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        for where, text in ((space, "- The boat is called Heron."), (strangers_space, "- Their boat is called Egret.")):
            write.apply(where, "MEMORY.md", Append(text), Author(Source.PAGE))
    text = strip_tags(ada_at.get("/memory/search", {"q": "What is the boat called?"}).content.decode())
    assert "The boat is called Heron." in text
    assert "Egret" not in text
    assert "No results in memory." in ada_at.get("/memory/search", {"q": "zzqx vvkw"}).content.decode()


def test_a_stranger_finds_nothing_to_change_and_a_reader_may_not(client, document, stranger, append, ada, document_of):
    team = Space.objects.create(kind="team", name="Team", owner=ada)
    shared = append(team, "shared")
    for person, expected in ((stranger, 404), (stranger, 403)):
        client.force_login(person)
        assert client.get(at(shared.document, "edit")).status_code == expected
        for act in ("edit", "restore", "delete-line"):
            values = {"base_version": 1, "content": "x", "number": 1, "line": 0}
            assert client.post(at(shared.document, act), values).status_code == expected
        assert client.post(f"/memory/undo/{shared.pk}").status_code == expected
        SpaceMember.objects.get_or_create(space=team, user=stranger)
    assert ">Edit</a>" not in client.get(at(shared.document)).content.decode()
    assert document_of(team).version == 1
    assert client.post(at(document, "edit"), {"base_version": 1, "content": ""}).status_code == 404


@pytest.mark.parametrize("value", ["", "-1", "x", "99999999999999999999", "²"])
def test_a_form_that_was_tampered_with_changes_nothing(ada_at, document, value):
    for act in ("edit", "restore", "delete-line"):
        answer = ada_at.post(at(document, act), {"base_version": value, "number": value, "line": value})
        assert answer.status_code == 400
