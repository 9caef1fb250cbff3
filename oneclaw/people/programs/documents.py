"""Programs whose client id is the https address of a document that describes them (OAuth Client ID Metadata Documents).

The document is read when its program asks a person to sign in, and again after an hour; a document that cannot be read
then leaves what is known.
"""

import hashlib
import posixpath
import time
from typing import Annotated, Literal
from urllib.parse import urlsplit

import httpx2
from allauth.idp.oidc.models import Client
from django.core.cache import cache
from pydantic import BaseModel, Field, ValidationError

from oneclaw.outgoing.client import client as guarded_client
from oneclaw.outgoing.guard import RefusedError
from oneclaw.outgoing.purposes import PROGRAM_DOCUMENT
from oneclaw.text import replace_unstorable

REFRESH_SECONDS = 60 * 60
# Documents that are read for one person in a minute, and the pause after which one is tried again.
READ_MAX_COUNT, PAUSE_SECONDS = 10, 60
URIS_MAX_COUNT = 20

Uri = Annotated[str, Field(pattern=r"^[!-~]{1,500}$")]


class ProgramDocument(BaseModel, strict=True):
    """What is read of a document."""

    client_id: str
    client_name: str = ""
    redirect_uris: list[Uri] = Field(min_length=1, max_length=URIS_MAX_COUNT)
    token_endpoint_auth_method: Literal["none"] = "none"  # noqa: S105


class ProgramDocumentError(Exception):
    """The document cannot be read, or describes no program that may sign in."""


def is_document(client_id: str) -> bool:
    """Return whether `client_id` is the address of a document, in the one form that is accepted. Pure."""
    try:
        parts = urlsplit(client_id)
    except ValueError:
        return False
    return (
        parts.scheme == "https"
        and client_id.startswith("https://")
        and len(client_id) <= (Client._meta.get_field("id").max_length or 0)
        and client_id.isascii()
        and parts.netloc == parts.netloc.lower()
        and not {"@", "?", "#", "\\"} & set(client_id)
        and len(parts.path) > 1
        and posixpath.normpath(parts.path) == parts.path
    )


def is_due(client_id: str, person_id: int) -> bool:
    """Return whether the document `client_id` is to be read now for this person, and count that."""
    known = Client.objects.filter(pk=client_id).first()
    if known is not None and time.time() - (known.data or {}).get("read_at", 0) < REFRESH_SECONDS:
        return False
    counted = f"program-documents-of-{person_id}"
    count = cache.get(counted, 0) + 1
    cache.set(counted, count, 60)
    hashed = hashlib.sha256(client_id.encode()).hexdigest()
    return count <= READ_MAX_COUNT and cache.add(f"program-document-{hashed}", 1, PAUSE_SECONDS)


def read(client_id: str) -> Client:
    """Return the program of the document at `client_id` as it describes itself now, not saved.

    Raise ProgramDocumentError.
    """
    try:
        with guarded_client(PROGRAM_DOCUMENT) as http:
            response = http.get(client_id, headers={"accept": "application/json"})
        if response.status_code != 200:
            raise ProgramDocumentError(f"status {response.status_code}")
        found = ProgramDocument.model_validate_json(response.content)
    except RefusedError as error:
        raise ProgramDocumentError(error.reason.in_english) from error
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL, ValidationError) as error:
        raise ProgramDocumentError(type(error).__name__) from error
    if found.client_id != client_id:
        raise ProgramDocumentError("it is of another program")
    program = Client.objects.filter(pk=client_id).first() or Client(id=client_id)
    name = replace_unstorable(found.client_name).strip() or urlsplit(client_id).netloc
    program.name = name[: Client._meta.get_field("name").max_length]
    program.set_redirect_uris(found.redirect_uris)
    program.data = {"read_at": int(time.time())}
    return program
