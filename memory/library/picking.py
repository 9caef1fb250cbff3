"""Offer the documents of libraries to be added to a message: which ones, and who may read them."""

from collections.abc import Collection

from django.db.models import Q, QuerySet
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from chat.extensions import Pick, Picker, PickingScope
from chat.models import ChatSession
from memory.library.search import page_address
from memory.models import FileVersion, LibraryFile
from memory.policy.access import is_shared
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


def readable(session: ChatSession, ids: Collection[int]) -> QuerySet[LibraryFile]:
    """Return those of the documents `ids` that `session` may be sent now: its owner may see them; in a shared session,
    they are of its space."""
    if is_shared(session):
        return LibraryFile.objects.filter(space=session.space_id or 0, pk__in=ids)
    return LibraryFile.objects.visible_to(session.owner).filter(pk__in=ids)


def _offered(scope: PickingScope) -> QuerySet[LibraryFile]:
    """Return the documents that were read, in the libraries from which may be picked there."""
    files = LibraryFile.objects.visible_to(scope.user).filter(index__isnull=False)
    session = scope.session
    if session is not None and is_shared(session):
        files = files.filter(space=session.space_id or 0)
    else:
        space_id = session.space_id if session is not None else scope.space_id
        files = files.filter(Q(space__owner=scope.user, space__kind=Space.Kind.OWN) | Q(space=space_id or 0))
    return files.select_related("space", "index__version")


def _pick(file: LibraryFile) -> Pick:
    version: FileVersion = file.index.version
    pages = ngettext("%(number)d page", "%(number)d pages", version.pages) % {"number": version.pages}
    whose = gettext("My documents") if file.space.is_private else file.space.name
    return Pick(str(file.pk), file.name, f"{whose} · {pages}" if version.pages else whose, version.size)


def _id(key: str) -> int:
    return int(key) if key.isascii() and key.isdecimal() and len(key) < 18 else 0


PICKER = Picker(found, pick, address, _("Documents"), "library")
