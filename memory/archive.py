"""A person's memory as one zip file, to take along."""

import io
import zipfile

from memory.models import MemoryDocument
from oneclaw.models import Space


def zipped(space: Space) -> bytes:
    """Every document of the space as a file with its bytes and the time of its last change, in UTC."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for document in MemoryDocument.objects.present().filter(space=space).order_by("path").iterator(chunk_size=20):
            about = zipfile.ZipInfo(document.path, document.updated_at.timetuple()[:6])
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            archive.writestr(about, document.content.encode())
    return buffer.getvalue()
