"""Find what of memory a person may not read any more: of spaces that they have left, or whose conversation, or whose
file of a library, is not theirs to see now.

Pieces of a prompt and results of tools name what they are of by addresses: `spaces/7/MEMORY.md` of a shared space,
`/c/<id>` of a conversation, `/d/<id>` of a file of a library, `/files/<id>` of a file that was attached to a message.
"""

import re
from collections.abc import Collection, Iterable
from uuid import UUID

from django.utils.translation import ngettext

from chat.models import Attachment, ChatSession, Message
from memory.models import LibraryFile
from memory.policy.addresses import located
from oneclaw.models import Space

UUID_FORM = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# In a part of an earlier result, quotation marks are escaped.
IN_RESULT = re.compile(rf"spaces/\d{{1,18}}/|/(?:c|files)/{UUID_FORM}|\"document\\?\": ?\d{{1,18}}\b")
CONVERSATION, FILE, ATTACHED = "/c/", "/d/", "/files/"


def left_out(count: int) -> str:
    """Return the sentence in place of `count` pieces that a person may not read any more."""
    text = ngettext(
        "%(count)d piece is of a memory that you cannot read any more.",
        "%(count)d pieces are of a memory that you cannot read any more.",
        count,
    )
    return text % {"count": count}


def addresses_in(result: str) -> set[str]:
    """Return the addresses that the result of a tool of memory names, without the path in a space, also where it is the
    text of another result. Pure."""
    found = IN_RESULT.findall(result)
    return {f"{FILE}{each.rpartition(':')[2].strip()}" if each[0] == '"' else each for each in found}


def lost_addresses(session: ChatSession, addresses: Collection[str]) -> set[str]:
    """Return those of `addresses` that the owner of `session` may not read any more; none of a shared session, whose
    readers are the members of its space. A query only for what is not the person's own."""
    if session.is_shared:
        return set()
    of_spaces = lost_spaces(session, addresses) | lost_files(session, addresses)
    return of_spaces | lost_conversations(session, addresses) | lost_attached(session, addresses)


def lost_spaces(session: ChatSession, addresses: Iterable[str]) -> set[str]:
    """Return those of `addresses` that are in a space that the owner of `session` is not in."""
    spaces = {address: number for address in addresses if (number := space_of(address)) is not None}
    if not spaces:
        return set()
    seen = set(Space.objects.visible_to(session.owner).filter(pk__in=spaces.values()).values_list("pk", flat=True))
    return {address for address, number in spaces.items() if number not in seen}


def space_of(address: str) -> int | None:
    """Return the number of the space that `address` names, or begins to name; None for another address. Pure."""
    return located(f"{address}x" if address.endswith("/") else address)[0]


def lost_conversations(session: ChatSession, addresses: Iterable[str]) -> set[str]:
    """Return those of `addresses` that are conversations of others which their space does not show to the owner."""
    ids = {address: UUID(address.removeprefix(CONVERSATION)) for address in addresses if is_conversation(address)}
    if not ids:
        return set()
    others = ChatSession.objects.filter(pk__in=ids.values()).exclude(owner=session.owner_id)
    hidden = set(others.values_list("pk", flat=True))
    hidden -= set(ChatSession.objects.visible_to(session.owner).filter(pk__in=hidden).values_list("pk", flat=True))
    return {address for address, pk in ids.items() if pk in hidden}


def is_conversation(address: str) -> bool:
    """Return whether `address` is that of a conversation. Pure."""
    return address.startswith(CONVERSATION) and IN_RESULT.fullmatch(address) is not None


def lost_attached(session: ChatSession, addresses: Iterable[str]) -> set[str]:
    """Return those of `addresses` that are files of others, attached to no message which the owner may see."""
    named = {each: UUID(each.removeprefix(ATTACHED)) for each in addresses if each.startswith(ATTACHED)}
    others = set(Attachment.objects.filter(pk__in=named.values()).exclude(owner=session.owner_id).values_list("pk"))
    if not others:
        return set()
    hidden = {pk for (pk,) in others}
    seen = Message.objects.visible_to(session.owner).filter(file_names__attachment__in=hidden)
    hidden -= set(seen.values_list("file_names__attachment", flat=True))
    return {address for address, pk in named.items() if pk in hidden}


def lost_files(session: ChatSession, addresses: Iterable[str]) -> set[str]:
    """Return those of `addresses` that are files of libraries which the owner may not see."""
    ids = {each: int(each.removeprefix(FILE)) for each in addresses if each.removeprefix(FILE).isdigit()}
    if not ids:
        return set()
    there = set(LibraryFile.objects.filter(pk__in=ids.values()).values_list("pk", flat=True))
    seen = set(LibraryFile.objects.visible_to(session.owner).filter(pk__in=there).values_list("pk", flat=True))
    return {address for address, pk in ids.items() if pk in there - seen}
