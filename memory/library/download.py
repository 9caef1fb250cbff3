"""Send the bytes of a version: always as a download, so that nothing in a file can run."""

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from memory.library import files
from memory.models import FileVersion


def download_of(version: FileVersion) -> HttpResponse | None:
    """Return the response with the bytes of `version`; None when they are missing. The caller has checked who asks."""
    data = files.content_of(version)
    if data is None:
        return None
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, version.file.name) or "attachment"
    response["Cache-Control"] = "private, no-store"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
