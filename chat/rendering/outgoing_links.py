"""The links in answers that lead out of OneClaw: each shows its host, and one with room for words leads to our page.

A model that was made to do so could put what it knows into an address. So our page (chat/views/leaving.py) passes on
to the address, or asks first (chat/context/carried_words.py).
"""

import re
from html import escape, unescape
from urllib.parse import urlsplit

from django.core import signing
from django.urls import reverse

# A link as the sanitiser writes it (chat/rendering/markdown.py).
LINK = re.compile(r'<a href="(https?://[^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)
TAG = re.compile(r"<[^>]*(?:>|\Z)")
SCHEME = re.compile(r"https?://")
# What makes another host of one: bank.example.evil.test, bank.example@evil.test, bank.example:pw@evil.test.
HOST_GOES_ON = re.compile(r"\.?[\w-]|[^\s/?#]*@")
# A shorter path has no room for words.
PATH_MIN_CHARS = 8
# A host such as www.example.org has as many labels.
HOST_MAX_LABELS = 3
SALT = "chat.rendering.outgoing_links"


def with_hosts(html: str, message_id: int | None) -> str:
    """Return the HTML of a display block in which each link out shows its host, and one with room for words leads to
    our page for the message. Without `message_id`, as in a copy for others, all links stay as they are."""
    if '<a href="http' not in html:
        return html

    def shown(found: re.Match[str]) -> str:
        address, rest, text = unescape(found[1]), found[2], found[3]
        host = host_of(address)
        # A text that is the address, or begins as it, says already where it leads.
        named = "" if says_host(unescape(TAG.sub("", text)), host) else f" ({escape(host)})"
        if message_id is not None and has_room_for_words(address):
            address = reverse("leave", args=[message_id, signed(message_id, address)])
        return f'<a href="{escape(address)}"{rest}>{text}{named}</a>'

    return LINK.sub(shown, html)


def says_host(text: str, host: str) -> bool:
    """Return whether the text of a link is an address of `host`, or begins as one. Pure."""
    shown = SCHEME.sub("", text.strip().lower())
    return bool(host) and shown.startswith(host) and HOST_GOES_ON.match(shown, len(host)) is None


def host_of(address: str) -> str:
    """Return the host in `address`, without user name and port; "" when it cannot be read."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def has_room_for_words(address: str) -> bool:
    """Return whether an address is more than a host with a short path."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return True
    if parts.query or parts.fragment or parts.username or parts.password:
        return True
    return len(parts.path) >= PATH_MIN_CHARS or host.count(".") >= HOST_MAX_LABELS


def signed(message_id: int, address: str) -> str:
    """Return the address in a signed form, so that our page leads to no other address."""
    return signing.dumps([message_id, address], salt=SALT)


def unsigned(message_id: int, text: str) -> str | None:
    """Return the address that `signed` has signed for the message; None when it was not made there."""
    try:
        number, address = signing.loads(text, salt=SALT)
    except signing.BadSignature:
        return None
    return address if number == message_id else None
