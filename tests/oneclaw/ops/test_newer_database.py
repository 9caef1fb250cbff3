"""A database that a newer release has migrated is refused before anything in it is changed."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from oneclaw.config import release
from oneclaw.ops import serve
from oneclaw.ops.newer_database import newer_migrations

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


@pytest.mark.parametrize(("other", "newer"), [("0.1.0", False), ("0.2.0", False), ("0.2.1", True), ("0.10.0", True)])
def test_releases_are_compared_by_their_numbers(monkeypatch, other, newer):
    monkeypatch.setattr(release, "VERSION", "0.2.0")
    assert release.is_newer(other) is newer
