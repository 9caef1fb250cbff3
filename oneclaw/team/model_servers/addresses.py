"""Validate the address of a model server that an owner has typed.

Servers in the own network and on this machine are allowed: that is where models of a team's own are. Addresses that
belong to no server for models, such as those at which clouds tell a machine its credentials, are refused.
"""

import ipaddress
import re
import socket
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from oneclaw.models import ModelServer
from oneclaw.text import UserFacingError

HOST = re.compile(r"[\w.:-]+")
# The addresses of cloud metadata that are not link-local.
METADATA_ADDRESSES = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "fd00:ec2::254", "fd20:ce::254")))
METADATA_NAMES = frozenset({"metadata", "metadata.google.internal"})


class AddressError(UserFacingError):
    """The text is no address of a model server."""

    wording = _("Write an address such as https://models.example.org, without a name, password, ? or #.")


class AddressNotAllowedError(AddressError):
    """The address is of no server for models."""

    wording = _("Nothing is sent to this address: it is one of the network itself.")


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
    if _is_of_the_network(host):
        raise AddressNotAllowedError
    # What people copy from examples; the client adds it by itself.
    address = text.rstrip("/")
    if address.endswith(("/v1", "/v1/messages")):
        address = address.removesuffix("/messages").removesuffix("/v1").rstrip("/")
    if len(address) > ModelServer.URL_MAX_CHARS:
        raise AddressError
    return address


def _is_of_the_network(host: str) -> bool:
    """Return whether `host` is, in whatever form, an address that is link-local, multicast or unspecified."""
    name = host.rstrip(".").lower()
    if name in METADATA_NAMES:
        return True
    try:
        # Also forms such as 2852039166 and 0xa9.254.169.254, which the system resolves.
        address = ipaddress.ip_address(name if ":" in name else socket.inet_aton(name))
    except (OSError, ValueError):
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_link_local or address.is_multicast or address.is_unspecified or address in METADATA_ADDRESSES
