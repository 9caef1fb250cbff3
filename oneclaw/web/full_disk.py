"""Answer a request that failed: when the server's disk is full or broken, with a sentence that says so."""

import errno
import sys

import psycopg
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.defaults import server_error

from oneclaw.web.api import problem_response

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
# Insufficient Storage.
STATUS_CODE = 507
# Of the causes of an error.
CAUSES_MAX_COUNT = 10


def failed(request: HttpRequest) -> HttpResponse:
    """Return the response to a request whose view has raised an error, which is being handled."""
    if not is_of_the_disk(sys.exception()):
        return server_error(request)
    sentence = _("Nothing was saved, because the server’s disk is full or broken. Try again later.")
    if request.path.startswith("/api/"):
        return problem_response(request, STATUS_CODE, "not_stored", sentence)
    return render(request, "507.html", {"sentence": sentence}, status=STATUS_CODE)


def is_of_the_disk(error: BaseException | None) -> bool:
    """Return whether `error`, or what caused it, says that the disk is full or broken: this server's, or the
    database's."""
    for _number in range(CAUSES_MAX_COUNT):
        if isinstance(error, psycopg.errors.DiskFull) or (isinstance(error, OSError) and error.errno in DISK_ERRORS):
            return True
        error = error and (error.__cause__ or error.__context__)
    return False
