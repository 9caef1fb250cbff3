"""A backup for a key of age is opened by that key alone."""

import json
import tarfile

import pytest

from oneclaw.ops.backup import BackupError, write_backup, write_key
from oneclaw.ops.restore import RestoreError, plain_backup


def test_a_new_key_is_private_and_replaces_none(tmp_path):
    key = tmp_path / "backup.key"
    public = write_key(key)
    assert public.startswith("age1")
    assert public in key.read_text()
    assert key.stat().st_mode & 0o077 == 0
    with pytest.raises(BackupError, match="could not be written: File exists"):
        write_key(key)


@pytest.mark.django_db(transaction=True)
def test_it_is_opened_by_the_key_of_a_recipient_alone(tmp_path, settings, ada):
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir()
    kept = tmp_path / "kept"
    kept.mkdir()
    backup, key, second, stranger = (kept / name for name in ("backup.age", "key", "second", "stranger"))
    recipients = [write_key(key), write_key(second)]
    write_key(stranger)
    with pytest.raises(BackupError, match="no public key of age"):
        write_backup(backup, ["age1wrong"])
    write_backup(backup, recipients)
    assert backup.stat().st_mode & 0o077 == 0
    assert ada.email.encode() not in backup.read_bytes()
    # Neither a draft nor a plain copy is left.
    assert {path.name for path in kept.iterdir()} == {"backup.age", "key", "second", "stranger"}
    for each in (key, second):
        with plain_backup(backup, each) as plain, tarfile.open(plain) as archive:
            assert json.load(archive.extractfile("manifest.json"))["rows"]["oneclaw_user"] == 1
    assert list(settings.HOME.iterdir()) == []
    with pytest.raises(RestoreError, match="cannot be decrypted"), plain_backup(backup, stranger):
        pass
    with pytest.raises(RestoreError, match="name the file of its private key"), plain_backup(backup, None):
        pass
    stranger.write_text("AGE-SECRET-KEY-OF-NOBODY")
    with pytest.raises(RestoreError, match="has no private key of age"), plain_backup(backup, stranger):
        pass
    damaged = bytearray(backup.read_bytes())
    damaged[-1] ^= 1
    backup.write_bytes(damaged)
    with pytest.raises(RestoreError, match="cannot be decrypted"), plain_backup(backup, key):
        pass
    assert list(settings.HOME.iterdir()) == []
