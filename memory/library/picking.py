"""Offer the documents of libraries to be added to a message: which ones, and who may read them."""

from collections.abc import Collection

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from chat.extensions import Pick, PickingScope
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.library.search import page_address
from memory.models import FileVersion, LibraryFile
from oneclaw.models import Space, User
from oneclaw.words import contains


def found(scope: PickingScope, words: list[str], most: int) -> list[Pick]:
    """Return the documents that may be added to a message there, the newest first: those of the person's own library
    and of the space of the conversation; in a shared one only those of its space."""
    files = _offered(scope).filter(*(contains("name", word) for word in words))
    return [_pick(file) for file in files.order_by("-index__version__created_at", "-pk")[:most]]


def pick(scope: PickingScope, key: str) -> Pick | None:
    """Return the document with this key, if it may be added to a message there."""
    file = _offered(scope).filter(pk=_id(key)).first()
    return _pick(file) if file else None


def address(user: User, key: str) -> str:
    """Return the URL of the document; "" when `user` may not see it."""
    file = LibraryFile.objects.visible_to(user).filter(pk=_id(key)).first()
    return page_address(file.pk, 0) if file else ""


def library_link() -> tuple[str, str]:
    """Return the name and the URL of the page on which people add documents."""
    return gettext("Documents"), reverse("library")


def readable(access: MemoryAccess, ids: Collection[int]) -> QuerySet[LibraryFile]:
    """Return those of the documents `ids` that a conversation may be sent now: its owner may see them; in a shared one,
    they are of its space."""
    if access.person is None:
        return LibraryFile.objects.filter(space=access.home.space, pk__in=ids)
    return LibraryFile.objects.visible_to(access.person).filter(pk__in=ids)


def _offered(scope: PickingScope) -> QuerySet[LibraryFile]:
    """Return the documents that were read, in the libraries from which may be picked there."""
    files = LibraryFile.objects.visible_to(scope.user).filter(index__isnull=False)
    space_id = scope.session.space_id if scope.session else scope.space_id
    spaces = Q(space=space_id or 0)
    if scope.session is None or access_of(scope.session, scope.user).person:
        spaces |= Q(space__owner=scope.user, space__kind=Space.Kind.OWN)
    files = files.filter(spaces)
    return files.select_related("space", "index__version")


def _pick(file: LibraryFile) -> Pick:
    version: FileVersion = file.index.version
    pages = ngettext("%(number)d page", "%(number)d pages", version.pages) % {"number": version.pages}
    whose = gettext("My documents") if file.space.is_private else file.space.name
    return Pick(str(file.pk), file.name, f"{whose} · {pages}" if version.pages else whose, version.size)


def _id(key: str) -> int:
    return int(key) if key.isascii() and key.isdecimal() and len(key) < 18 else 0
