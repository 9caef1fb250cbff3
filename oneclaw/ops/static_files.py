"""Collect static files for deployment: under hashed names, bundled and minified, and only when a file has changed."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rcssmin
import rjsmin
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage
from django.core.management import call_command
from servestatic.storage import CompressedManifestStaticFilesStorage

from oneclaw.ops import bundle

MINIFY = {".js": rjsmin.jsmin, ".css": rcssmin.cssmin}


def collect() -> bool:
    """Collect all static files into STATIC_ROOT under hashed names; return False when no file has changed."""
    stored = Path(settings.STATIC_ROOT) / ".sources"
    found = sources()
    if stored.exists() and stored.read_text() == found:
        return False
    call_command("collectstatic", interactive=False, verbosity=0)
    stored.write_text(found)
    return True


def sources() -> str:
    """Return a hash of the names, sizes and modification times of all static files in the apps' folders."""
    digest = hashlib.sha256()
    for finder in finders.get_finders():
        for name, storage in finder.list([]):
            status = Path(storage.path(name)).stat()
            digest.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def bundles(paths: dict[str, Any]) -> dict[str, Any]:
    """Return the bundled and minified text of each file that imports others, in memory: {name: (storage, name)}.

    `paths` has the collected files in that form.
    """
    memory, found = InMemoryStorage(), {}

    def read(name: str) -> str:
        storage, path = paths[name]
        with storage.open(path) as file:
            return file.read().decode()

    for name in paths:
        minify = MINIFY.get(Path(name).suffix)
        if minify and (text := bundle.bundled(name, read)) is not None:
            memory.save(name, ContentFile(minify(text).encode()))
            found[name] = (memory, name)
    return found


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """A storage with hashed names; a file that was not collected keeps its plain name, as in tests and development."""

    # A dynamic import of a script uses the hashed name.
    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Hash, bundle and compress the collected files."""
        yield from super().post_process(paths | bundles(paths), dry_run=dry_run, **options)

    def stored_name(self, name: str) -> str:
        """Return the hashed name of the file `name`; `name` itself when it was not collected."""
        return self.hashed_files.get(self.hash_key(self.clean_name(name)), name)
