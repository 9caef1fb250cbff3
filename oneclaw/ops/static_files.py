"""Static files: hashed names for what was collected, few files for a page, and a collection that does nothing when
nothing has changed."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage
from django.core.management import call_command
from servestatic.storage import CompressedManifestStaticFilesStorage

from oneclaw.ops import bundle


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


def bundles(paths: dict[str, Any]) -> dict[str, Any]:
    """Return where the text of each file that imports others is found, in the form {name: (storage, name)}."""
    memory, found = InMemoryStorage(), {}

    def read(name: str) -> str:
        storage, path = paths[name]
        with storage.open(path) as file:
            return file.read().decode()

    for name in paths:
        if name.endswith((".js", ".css")) and (text := bundle.bundled(name, read)) is not None:
            memory.save(name, ContentFile(text.encode()))
            found[name] = (memory, name)
    return found


class HashedWhenCollected(CompressedManifestStaticFilesStorage):
    """A file that was not collected keeps its plain name: tests and a first `manage.py shell` need no collection."""

    # What a script fetches when it is needed is fetched by its hashed name.
    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Hash and compress what was collected; a file that imports others has them inside."""
        yield from super().post_process(paths | bundles(paths), dry_run=dry_run, **options)

    def stored_name(self, name: str) -> str:
        return self.hashed_files.get(self.hash_key(self.clean_name(name)), name)
