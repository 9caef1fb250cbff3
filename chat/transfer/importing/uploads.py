"""Make one upload of several JSON files, as which a browser leaves a large export that it has unpacked by itself."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.core.files.uploadedfile import UploadedFile

from chat.transfer.importing import unpack
from chat.transfer.importing.reasons import ImportFileRefusedError

# Of a file in memory; a larger one is on the disk.
MEMORY_MAX_BYTES = 2 * 1024 * 1024


@contextmanager
def joined(uploads: Sequence[UploadedFile]) -> Iterator[UploadedFile | None]:
    """Yield the upload to import: the only one, or a zip file of several JSON files; None when there is none.

    Raise FileRefused when one of several is not JSON.
    """
    if len(uploads) < 2:
        yield uploads[0] if uploads else None
        return
    with tempfile.SpooledTemporaryFile(MEMORY_MAX_BYTES) as target:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, upload in enumerate(uploads):
                file = upload.file
                if file is None or unpack.is_zip(file) or not unpack.looks_right(file):
                    raise ImportFileRefusedError("several")
                with archive.open(f"conversations-{number}.json", "w", force_zip64=True) as entry:
                    shutil.copyfileobj(file, entry)
        size = target.tell()
        target.seek(0)
        yield UploadedFile(target, ", ".join(upload.name or "" for upload in uploads), size=size)
