"""Keep the rendered parts of a home page in memory, as long as nothing that they show has changed."""

import datetime as dt
import hashlib
from collections.abc import Callable

from django.core.cache import caches
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from memory.models import DocumentOverview
from memory.overview.state import MemoryState
from oneclaw.models import Space, User


def key_of_entries(overview: DocumentOverview, state: MemoryState, user: User, address: str, *rights: bool) -> str:
    """Return a key that differs whenever the entries of `overview` are shown differently to `user` at `address`."""
    return _key("entries", *_of_document(overview), state.origins, *_of_reader(user), address, rights)


def key_of_about(
    space: Space, overview: DocumentOverview | None, state: MemoryState, user: User, today: dt.date
) -> str:
    """Return a key that differs whenever what is above the entries of `space` is shown differently to `user`."""
    document = _of_document(overview) if overview else ()
    # What follows the document has a fixed length.
    return _key("about", *document, space.pk, space.name, state.calendar, state.logs, *_of_reader(user), today)


def _of_document(overview: DocumentOverview) -> tuple[object, ...]:
    document = overview.document
    return document.pk, document.version, document.content_hash, overview.newest


def _of_reader(user: User) -> tuple[object, ...]:
    return user.pk, user.timezone, get_language()


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def html(key: str, made: Callable[[], SafeString]) -> SafeString:
    """Return the HTML that is kept under `key`, or what `made` returns, which is kept."""
    cache = caches["memory_home"]
    found: str | None = cache.get(key)
    if found is None:
        found = made()
        cache.set(key, str(found))
    return mark_safe(found)  # noqa: S308 - it was rendered from a template
