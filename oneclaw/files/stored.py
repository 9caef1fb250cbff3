"""Folders of files that belong to rows: ROOT/<number>/<name>. No web server serves them."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from oneclaw import files


class StoredFiles:
    """The files below the folder that a setting names, each in a folder named by a number, such as its owner's id."""

    def __init__(self, setting: str) -> None:
        self._setting = setting

    @property
    def root(self) -> Path:
        """Return the folder of all files."""
        root: Path = getattr(settings, self._setting)
        return root

    def write(self, number: int, name: str, data: bytes) -> None:
        """Write `data` to the file `name` atomically and durably. Raise OSError when that fails."""
        files.write(self.root, f"{number}/{name}", data)

    def read(self, number: int, name: str) -> bytes | None:
        """Return the bytes of the file `name`; None when it does not exist."""
        try:
            return (self.folder(number) / name).read_bytes()
        except FileNotFoundError:
            return None

    def size(self, number: int, name: str) -> int | None:
        """Return the size of the file `name` in bytes; None when it does not exist."""
        try:
            return (self.folder(number) / name).stat().st_size
        except FileNotFoundError:
            return None

    def remove(self, number: int, name: str) -> None:
        """Delete the file `name`, if it exists."""
        (self.folder(number) / name).unlink(missing_ok=True)

    def folder(self, number: int) -> Path:
        """Return the folder of the files of `number`."""
        return self.root / str(number)

    def remove_folder(self, number: int) -> None:
        """Delete all files of `number`. Raise OSError when the disk refuses."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.folder(number))

    def stored(self, older_than: float) -> Iterator[tuple[int, str]]:
        """Yield (number, name) of each file written more than `older_than` seconds ago, temporary files included."""
        latest = time.time() - older_than
        with contextlib.suppress(FileNotFoundError):
            for folder in sorted(self.root.iterdir()):
                if not folder.name.isdigit():
                    continue
                for file in sorted(folder.iterdir()):
                    with contextlib.suppress(FileNotFoundError):
                        if file.stat().st_mtime < latest:
                            yield int(folder.name), file.name
