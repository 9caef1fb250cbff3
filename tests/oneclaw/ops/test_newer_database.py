"""A database that a newer release has migrated is refused before anything in it is changed."""

import io
import json
import tarfile
from dataclasses import asdict

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from oneclaw.config import release
from oneclaw.ops import serve
from oneclaw.ops.backup import MANIFEST, Manifest
from oneclaw.ops.newer_database import newer_migrations
from oneclaw.ops.restore import RestoreError, checked

SENTENCE = (
    r"A newer release has migrated this database \(to chat 9999_from_the_future\): start that one again, or restore a "
    r"backup of this release into another database\."
)


@pytest.mark.django_db
def test_neither_migrate_nor_serve_touches_it(tmp_path, settings):
    settings.STATIC_ROOT = tmp_path / "static"
    MigrationRecorder(connection).record_applied("chat", "9999_from_the_future")
    with pytest.raises(CommandError, match=SENTENCE):
        call_command("migrate", interactive=False, verbosity=0)
    with pytest.raises(serve.CannotStartError, match=SENTENCE):
        serve.prepare()
    assert not settings.STATIC_ROOT.exists()


@pytest.mark.django_db
def test_a_database_of_this_release_is_migrated():
    call_command("migrate", interactive=False, verbosity=0)


def test_what_was_replaced_or_belongs_to_no_app_is_not_newer():
    known = [("chat", "0001_squashed_0029_routes"), ("chat", "0030_shared")]
    old = [("chat", "0001_initial"), ("chat", "0029_routes"), ("chat", "0030_another"), ("saml", "0009_later")]
    assert newer_migrations(old, known) == []
    assert newer_migrations([*old, ("chat", "0031_next")], known) == [("chat", "0031_next")]


def test_a_backup_of_a_newer_release_is_refused(tmp_path):
    manifest = Manifest(release="9.0.0", made_at="2030-01-01T00:00:00", key_hash="")
    text = json.dumps(asdict(manifest)).encode()
    with tarfile.open(tmp_path / "backup.tar", "w") as archive:
        member = tarfile.TarInfo(MANIFEST)
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    sentence = f"made by release 9.0.0, and this is {release.version()}: restore it with that release"
    with tarfile.open(tmp_path / "backup.tar") as archive, pytest.raises(RestoreError, match=sentence):
        checked(archive)


@pytest.mark.parametrize(("other", "newer"), [("0.1.0", False), ("0.2.0", False), ("0.2.1", True), ("0.10.0", True)])
def test_releases_are_compared_by_their_numbers(monkeypatch, other, newer):
    monkeypatch.setattr(release, "VERSION", "0.2.0")
    assert release.is_newer(other) is newer
