"""Files of libraries go by age, with all that belongs to them, and nothing that a legal hold or a new version keeps."""

import datetime as dt
import threading

import pytest
from django.db import DatabaseError, connections
from django.utils import timezone

from memory import tasks
from memory.library import files as library
from memory.library import reading, retention, storage
from memory.library.search import search_files
from memory.models import FileChunk, FileIndex, FilePage, FileVector, FileVersion, LibraryFile, LineFeedback
from oneclaw import invariants
from oneclaw.audit import holds
from oneclaw.models import AuditEvent, AuditKind, RetentionRule, Space, SpaceMember
from oneclaw.spaces import lifecycle

pytestmark = pytest.mark.django_db(transaction=True)
Kind = RetentionRule.Kind


def rule(days, space=None):
    return RetentionRule.objects.create(kind=Kind.LIBRARY_FILES, days=days, space=space)


@pytest.fixture
def team(ada, stranger) -> Space:
    found = lifecycle.create(ada, lifecycle.checked_draft("Engine room", kind="team"))
    SpaceMember.objects.create(space=found, user=stranger, role="editor")
    return found


@pytest.fixture
def put(ada, space):
    """put("plan.md", 11): a file that was added so many days ago, read and embedded."""

    def put(name, days, text="The ferry leaves from Lindau.", into=None, by=None):
        version = library.add(into or space, by or ada, name, text.encode())
        reading.run(version.pk)
        FileVersion.objects.filter(pk=version.pk).update(created_at=timezone.now() - dt.timedelta(days=days))
        return version

    return put


def in_thread(call, *arguments):
    try:
        call(*arguments)
    finally:
        connections.close_all()


def names():
    return set(LibraryFile.objects.values_list("name", flat=True))


def violations():
    return [str(each) for each in invariants.check()]


def test_an_old_file_goes_with_bytes_index_vectors_and_feedback_and_is_recorded(put, ada, space):
    rule(10)
    gone = [put("old.md", 30, "Oolong costs nine francs."), put("old.md", 11, "Oolong costs ten francs.")]
    kept = put("young.md", 9)
    for text in FileChunk.objects.values_list("text_key", flat=True):
        LineFeedback.objects.create(space=space, user=ada, text_key=text, kind=LineFeedback.Kind.WRONG)
    assert FileVector.objects.count() == 2
    tasks.purge()
    assert names() == {"young.md"}
    for model in (FileIndex, FileChunk, FileVector, FilePage, LineFeedback):
        assert model.objects.count() == 1, model
    assert [file.name for file in storage.folder(space.pk).iterdir()] == [str(kept.pk)]
    assert search_files([space], "What does oolong cost?", ada) == []
    assert list(
        AuditEvent.objects.filter(kind=AuditKind.DELETED).values_list("actor", "person", "space", "details")
    ) == [(None, None, space.pk, {"of": "library_file", "file": gone[0].file_id, "by": "age"})]
    assert violations() == []


def test_the_age_is_that_of_the_newest_version(put):
    rule(10)
    put("plan.md", 30, "The ferry leaves from Lindau.")
    put("plan.md", 9, "The ferry leaves from Bregenz.")
    tasks.purge()
    assert FileVersion.objects.count() == 2


def test_the_rule_of_a_space_counts_there_alone(put, team, stranger):
    everywhere = rule(10)
    rule(30, team)
    put("own.md", 29)
    put("shared.md", 29, into=team)
    put("shared, old.md", 31, into=team)
    put("of a stranger.md", 29, into=Space.objects.own_of(stranger), by=stranger)
    tasks.purge()
    assert names() == {"shared.md"}
    everywhere.delete()
    put("own.md", 400)
    tasks.purge()
    assert names() == {"shared.md", "own.md"}


def test_without_a_rule_and_by_the_rules_of_other_kinds_files_stay(put):
    for kind in set(Kind) - {Kind.LIBRARY_FILES}:
        RetentionRule.objects.create(kind=kind, days=1)
    put("plan.md", 4000)
    tasks.purge()
    assert names() == {"plan.md"}


def test_a_hold_keeps_files_until_it_ends(put, ada, stranger, team, admin_person):
    rule(10)
    # In her own space also what names nobody.
    FileVersion.objects.filter(pk=put("own.md", 11).pk).update(owner=None)
    put("shared.md", 11, into=team)
    put("by ada.md", 30, "An earlier version is hers.", into=team)
    put("by ada.md", 11, into=team, by=stranger)
    put("of a stranger.md", 11, into=Space.objects.own_of(stranger), by=stranger)
    put("shared, by a stranger.md", 11, into=team, by=stranger)
    of_team = holds.hold(admin_person, "Case", space=team)
    of_ada = holds.hold(admin_person, "Case", person=ada)
    tasks.purge()
    for file in LibraryFile.objects.exclude(name="of a stranger.md"):
        with pytest.raises(holds.HeldError):
            library.remove(file, stranger)
    assert names() == {"own.md", "shared.md", "by ada.md", "shared, by a stranger.md"}
    holds.end(admin_person, of_team.pk)
    tasks.purge()
    assert names() == {"own.md", "shared.md", "by ada.md"}
    for person, name in ((stranger, "by ada.md"), (ada, "by ada.md"), (ada, "own.md")):
        with pytest.raises(holds.HeldError):
            library.remove(LibraryFile.objects.get(name=name), person)
    holds.end(admin_person, of_ada.pk)
    tasks.purge()
    assert names() == set()
    assert violations() == []


@pytest.mark.parametrize("meanwhile", ["a new version", "a hold", "the end of the rule", "a rule of the space", "gone"])
def test_what_happens_between_the_look_and_the_removal_counts(put, ada, space, admin_person, meanwhile):
    found = rule(10)
    rule_id = found.pk
    old = put("plan.md", 11)
    if meanwhile == "a new version":
        library.add(space, ada, "plan.md", b"The ferry leaves from Bregenz.")
    elif meanwhile == "a hold":
        holds.hold(admin_person, "Case", person=ada)
    elif meanwhile == "the end of the rule":
        found.delete()
    elif meanwhile == "a rule of the space":
        rule(30, space)
    else:
        library.remove(old.file, ada)
    assert not retention.purge(rule_id, old.file_id)
    assert FileVersion.objects.filter(pk=old.pk).exists() == (meanwhile != "gone")


def test_a_version_that_comes_during_the_removal_is_the_first_of_a_new_file(put, ada, space, monkeypatch):
    there, old = library.delete, put("plan.md", 11)
    adding = threading.Thread(target=in_thread, args=(library.add, space, ada, "plan.md", b"It leaves from Bregenz."))

    def delete(file, **details):
        adding.start()
        adding.join(0.5)
        assert adding.is_alive()
        there(file, **details)

    monkeypatch.setattr(library, "delete", delete)
    assert retention.purge(rule(10).pk, old.file_id)
    adding.join(20)
    version = FileVersion.objects.get()
    assert (version.number, storage.read(space.pk, str(version.pk))) == (1, b"It leaves from Bregenz.")


def test_a_file_that_cannot_be_removed_stops_no_other_and_one_on_a_failing_disk_is_swept_later(put, monkeypatch):
    rule(10)
    put("first.md", 11)
    second = put("second.md", 11, "Oolong costs nine francs.")
    there, failures = library.delete, iter([DatabaseError("away")])

    def delete(file, **details):
        for failure in failures:
            raise failure
        there(file, **details)

    def refuse(*_):
        raise OSError("The disk is read-only.")

    with monkeypatch.context() as failing:
        failing.setattr(library, "delete", delete)
        failing.setattr(storage, "remove", refuse)
        assert retention.sweep_by_age() == 1
    assert names() == {"first.md"}
    assert storage.read(second.file.space_id, str(second.pk))
    monkeypatch.setattr(library, "ROWLESS_AGE_SECONDS", -60.0)
    assert library.sweep() == 1


def test_the_page_of_a_library_says_how_long_its_documents_are_kept(ada, client, space, team):
    client.force_login(ada)
    assert "removed for good" not in client.get("/memory/documents/").content.decode()
    rule(10)
    rule(1, team)
    assert "removed for good 10 days after its newest version" in client.get("/memory/documents/").content.decode()
    page = client.get(f"/memory/documents/?space={team.pk}").content.decode()
    assert "removed for good 1 day after its newest version" in page
