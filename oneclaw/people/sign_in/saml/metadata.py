"""Say who the identity provider is: from its metadata, which is read again each hour, or from the settings."""

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings

from oneclaw.config import environment
from oneclaw.outgoing.client import client
from oneclaw.outgoing.guard import RefusedError
from oneclaw.outgoing.purposes import SAML_METADATA
from oneclaw.people.sign_in.saml.errors import IdentityProviderError

logger = logging.getLogger(__name__)

REFRESH_SECONDS, RETRY_SECONDS = 3600.0, 60.0
REDIRECT_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"


@dataclass
class Known:
    """What was read of an identity provider, None when nothing could be read, and when to read it again."""

    found: dict[str, Any] | None
    read_again_at: float


# By what is read, in each process.
known: dict[tuple[str, str], Known] = {}
# One thread reads. The others do not wait: a provider that does not answer would stop the whole process.
reading = threading.Lock()


def identity_provider() -> dict[str, Any]:
    """Return the identity provider in the form of the setting `idp` of python3-saml. Raise IdentityProviderError.

    Metadata that cannot be read again leaves what was read before; it is tried once in RETRY_SECONDS.
    """
    if not settings.SAML.metadata:
        return from_settings()
    key = (settings.SAML.metadata, settings.SAML.idp_entity_id)
    kept = known.get(key)
    if (kept is None or time.monotonic() >= kept.read_again_at) and reading.acquire(blocking=False):
        try:
            kept = known[key] = read_again(kept)
        finally:
            reading.release()
    if kept is None or kept.found is None:
        raise IdentityProviderError("It is being read, or could not be read a moment ago.")
    return kept.found


def read_again(before: Known | None) -> Known:
    """Return what the metadata says now; when it cannot be read, what was known before."""
    try:
        found = parsed(read(settings.SAML.metadata))
    except IdentityProviderError as error:
        logger.warning("The metadata of the identity provider could not be read: %s", str(error))
        return Known(before.found if before else None, time.monotonic() + RETRY_SECONDS)
    return Known(found, time.monotonic() + REFRESH_SECONDS)


def from_settings() -> dict[str, Any]:
    """Return the identity provider that the settings describe part by part."""
    found: dict[str, Any] = {
        "entityId": settings.SAML.idp_entity_id,
        "singleSignOnService": {"url": settings.SAML.idp_sso_url, "binding": REDIRECT_BINDING},
        "x509cert": settings.SAML.idp_certificate,
    }
    if settings.SAML.idp_slo_url:
        found["singleLogoutService"] = {"url": settings.SAML.idp_slo_url, "binding": REDIRECT_BINDING}
    return found


def read(source: str) -> bytes:
    """Return the metadata at the address or in the file `source`. Raise IdentityProviderError."""
    try:
        if "://" not in source:
            return Path(source).read_bytes()
        with client(SAML_METADATA) as http:
            return http.get(source).raise_for_status().content
    except RefusedError as error:
        raise IdentityProviderError(error.reason.in_english) from error
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise IdentityProviderError(str(error)) from error


def parsed(metadata: bytes) -> dict[str, Any]:
    """Return the identity provider that `metadata` describes. Raise IdentityProviderError."""
    from lxml.etree import LxmlError
    from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser

    try:
        described = OneLogin_Saml2_IdPMetadataParser.parse(metadata, entity_id=settings.SAML.idp_entity_id or None)
    except (LxmlError, ValueError) as error:
        raise IdentityProviderError(f"It is not valid XML: {error}") from error
    found: dict[str, Any] = described.get("idp", {})
    services = [found[name]["url"] for name in ("singleSignOnService", "singleLogoutService") if name in found]
    if not found.get("entityId") or "singleSignOnService" not in found:
        raise IdentityProviderError("It names no identity provider with the binding HTTP-Redirect.")
    if not (found.get("x509cert") or found.get("x509certMulti", {}).get("signing")):
        raise IdentityProviderError("It has no certificate for signatures.")
    if not all(environment.is_secure(url) and "://" in url for url in services):
        raise IdentityProviderError("It names an address that does not start with https://.")
    return found
