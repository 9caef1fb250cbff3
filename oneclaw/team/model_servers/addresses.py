"""Validate the address of a model server that an owner has typed."""

import re
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from oneclaw.models import ModelServer
from oneclaw.outgoing.guard import RefusedError, check_url
from oneclaw.outgoing.purposes import ENTERED_MODEL_SERVER
from oneclaw.text import UserFacingError

HOST = re.compile(r"[\w.:-]+")


class AddressError(UserFacingError):
    """The text is no address of a model server."""

    wording = _("Write an address such as https://models.example.org, without a name, password, ? or #.")


class AddressNotAllowedError(AddressError):
    """The guard of outgoing requests sends nothing to the address."""


def validated_address(text: str) -> str:
    """Return the base URL in `text`, without a slash or the path of the API at its end. Raise AddressError."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        raise AddressError from None
    is_plain = text.isascii() and text.isprintable() and not re.search(r"[\s\\?#@]", text)
    if not is_plain or parts.scheme not in ("http", "https") or not HOST.fullmatch(host):
        raise AddressError
    try:
        check_url(text, ENTERED_MODEL_SERVER)
    except RefusedError as refused:
        raise AddressNotAllowedError(str(refused.reason)) from None
    # What people copy from examples; the client adds it by itself.
    address = text.rstrip("/")
    if address.endswith(("/v1", "/v1/messages")):
        address = address.removesuffix("/messages").removesuffix("/v1").rstrip("/")
    if len(address) > ModelServer.URL_MAX_CHARS:
        raise AddressError
    return address
