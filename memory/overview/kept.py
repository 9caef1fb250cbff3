"""Keep the rendered entries of a home page in memory, as long as nothing that they show has changed."""

import hashlib
from collections.abc import Callable

from django.core.cache import caches
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from memory.models import DocumentOverview
from memory.overview.state import MemoryState
from oneclaw.models import User


def key_of(
    overview: DocumentOverview,
    state: MemoryState,
    user: User,
    address: str,
    *rights: bool,
) -> str:
    """Return a key that differs whenever the entries of `overview` are shown differently to `user` at `address`."""
    document = overview.document
    parts = (
        *(document.pk, document.version, document.content_hash, overview.newest, state.origins),
        *(user.pk, user.timezone, get_language(), address, rights),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def html(key: str, made: Callable[[], SafeString]) -> SafeString:
    """Return the HTML that is kept under `key`, or what `made` returns, which is kept."""
    cache = caches["memory_home"]
    found: str | None = cache.get(key)
    if found is None:
        found = made()
        cache.set(key, str(found))
    return mark_safe(found)  # noqa: S308 - it was rendered from a template
