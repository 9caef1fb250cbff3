"""File and document, changed in any order by anybody: they settle to the same text, and no line is ever lost."""

from itertools import count

import pytest
from django.db import transaction
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from memory.documents import write
from memory.documents.write import Append, Author, Delete, Replace, Source
from memory.files import disk, folders, mirror
from memory.files.import_changes import import_changes
from memory.files.scan import scan_folder
from memory.invariants import find_content_mismatches
from memory.models import MemoryDocument
from oneclaw.models import Space, User

PATHS = ("MEMORY.md", "memory/2026-11-21.md")
paths = st.sampled_from(PATHS)
places = st.integers(0, 5)


class Mirror(RuleBasedStateMachine):
    """Two documents and their files. Commits are followed only when a rule says so, as after a crash or a full disk."""

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        user = User.objects.create_user(f"machine{User.objects.count()}@example.org")
        self.space = Space.objects.own_of(user)
        self.folder = folders.folder_of(self.space)
        self.numbers = count(1)
        # Every line ever written, by whomever.
        self.written: set[str] = set()

    def line(self) -> str:
        self.written.add(line := f"- line {next(self.numbers)}")
        return line

    def document(self, path: str) -> MemoryDocument | None:
        return self.space.documents.filter(path=path, deleted_at=None).first()

    @rule(path=paths)
    def a_tool_appends(self, path: str) -> None:
        write.apply(self.space, path, Append(self.line()), Author(Source.TOOL))

    @rule(path=paths, place=places)
    def an_admin_changes_a_line(self, path: str, place: int) -> None:
        if document := self.document(path):
            content = changed(document.content, place, self.line())
            write.apply(self.space, path, Replace(content, document.version), Author(Source.ADMIN))

    @rule(path=paths)
    def a_person_deletes_the_document(self, path: str) -> None:
        if document := self.document(path):
            write.apply(self.space, path, Delete(document.version), Author(Source.PAGE))

    @rule(path=paths, place=places, style=st.sampled_from(["truncate", "rename", "backup", "crlf", "mark"]))
    def an_editor_saves(self, path: str, place: int, style: str) -> None:
        file = self.folder / path
        # An editor knows a byte order mark and never writes two.
        before = file.read_text().removeprefix("\ufeff") if file.exists() else ""
        data = changed(before, place, self.line()).encode()
        if style == "crlf":
            data = data.replace(b"\n", b"\r\n")
        if style == "mark":
            data = b"\xef\xbb\xbf" + data
        file.parent.mkdir(parents=True, exist_ok=True)
        if style == "rename":
            (draft := file.with_name(".draft")).write_bytes(data)
            draft.rename(file)
        else:
            if style == "backup" and file.exists():
                file.rename(file.with_name(f"{file.name}~"))
            file.write_bytes(data)
        self.gone_by_hand(before, data.decode())

    @rule(path=paths)
    def somebody_deletes_the_file(self, path: str) -> None:
        file = self.folder / path
        if file.exists():
            before = file.read_text()
            file.unlink()
            self.gone_by_hand(before, "")

    def gone_by_hand(self, before: str, after: str) -> None:
        """What a person took out of a file before anybody could see it there is nobody's to keep."""
        self.written -= (lines_of(before) - lines_of(after)) - self.kept()

    def kept(self) -> set[str]:
        """Every line of every document, revision and file."""
        kept = set()
        for document in self.space.documents.all():
            kept |= lines_of(document.content)
            for hunks in document.revisions.values_list("hunks", flat=True):
                kept |= {line for hunk in hunks for line in hunk["added"]}
        for path in PATHS:
            if (self.folder / path).exists():
                kept |= lines_of((self.folder / path).read_text())
        return {line.removeprefix("\ufeff").rstrip("\r") for line in kept}

    @rule(path=paths)
    def the_worker_takes_in_and_is_killed(self, path: str) -> None:
        for document in self.space.documents.filter(path=path):
            import_changes(document.pk)

    @rule(path=paths)
    def the_worker_is_killed_between_the_file_and_its_commit(self, path: str) -> None:
        for document in self.space.documents.filter(path=path):
            with transaction.atomic():
                mirror.write_file(document.pk)
                transaction.set_rollback(True)

    @rule()
    def the_worker_follows(self) -> None:
        self.settle()

    def settle(self) -> None:
        scan_folder(self.space)
        for document in self.space.documents.all().to_mirror():
            mirror.mirror_document(document.pk)

    @invariant()
    def no_line_is_lost(self) -> None:
        assert self.written <= self.kept()

    def teardown(self) -> None:
        for _ in range(3):
            self.settle()
        for document in self.space.documents.select_related("space"):
            file = self.folder / document.path
            assert document.mirrored_version == document.version
            if document.is_deleted:
                assert not file.exists()
            elif file.exists():
                assert file.read_bytes().decode() == document.content
        self.no_line_is_lost()
        assert list(find_content_mismatches()) == []
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)


def lines_of(text: str) -> set[str]:
    return set(text.removeprefix("\ufeff").splitlines())


def changed(content: str, place: int, line: str) -> str:
    """`line` in the place of another one, or after all."""
    lines = content.split("\n")
    if place < len(lines) - 1:
        lines[place] = line
    else:
        lines.insert(len(lines) - 1, line)
    return "\n".join(lines)


@pytest.mark.django_db
def test_file_and_document_settle_and_every_text_is_kept(monkeypatch, tmp_path, settings):
    monkeypatch.setattr(disk, "WRITE_REST_SECONDS", 0)
    settings.WORKSPACES = tmp_path
    quick = hypothesis_settings(
        max_examples=20, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Mirror, settings=quick)
