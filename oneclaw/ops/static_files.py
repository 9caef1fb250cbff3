"""Static files: hashed names for what was collected, and a collection that does nothing when nothing has changed."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from servestatic.storage import CompressedManifestStaticFilesStorage


def collect() -> bool:
    """Bring all static files into STATIC_ROOT under hashed names; whether there was anything to do."""
    kept = Path(settings.STATIC_ROOT) / ".sources"
    found = sources()
    if kept.exists() and kept.read_text() == found:
        return False
    call_command("collectstatic", interactive=False, verbosity=0)
    kept.write_text(found)
    return True


def sources() -> str:
    """A hash of the names, sizes and times of all static files, as they lie in the apps."""
    digest = hashlib.sha256()
    for finder in finders.get_finders():
        for name, storage in finder.list([]):
            status = Path(storage.path(name)).stat()
            digest.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


class HashedWhenCollected(CompressedManifestStaticFilesStorage):
    """A file that was not collected keeps its plain name: tests and a first `manage.py shell` need no collection."""

    # Scripts import each other by name: those names are hashed too.
    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> str:
        return self.hashed_files.get(self.hash_key(self.clean_name(name)), name)
