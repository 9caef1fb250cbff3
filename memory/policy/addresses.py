"""Name the documents of a shared space apart from those of the own one, and find them by these names.

A private conversation in a space reads two files of the name MEMORY.md: its owner's by the path MEMORY.md, and the
space's by spaces/<id>/MEMORY.md.
"""

import re
from collections.abc import Collection, Sequence

from memory.models import MemoryDocument
from oneclaw.models import Space

# What memory_get reads besides documents and conversations: files that were attached to messages, files of libraries,
# and results of tools. Nothing there was said by the person.
OF_OTHERS = ("/files/", "/d/", "/results/")
IN_SPACE = re.compile(r"spaces/(\d{1,18})/(.+)")


def address_in(space: Space, path: str) -> str:
    """Return the path by which a session that reads its own and a shared space names a document of `space`."""
    return path if space.is_private else f"spaces/{space.pk}/{path}"


def located(address: str) -> tuple[int | None, str]:
    """Return the id of the space and the path of an address; None for a path alone. Pure."""
    named = IN_SPACE.fullmatch(address)
    return (int(named[1]), named[2]) if named else (None, address)


def is_of_others(address: str) -> bool:
    """Return whether `address` names a file or the result of a tool, no document and no conversation. Pure."""
    return address.startswith(OF_OTHERS)


def documents_at(spaces: Sequence[Space], addresses: Collection[str]) -> dict[str, list[MemoryDocument]]:
    """Return the documents of `spaces` with these addresses, by address, in the order of the spaces."""
    wanted = {address: located(address) for address in addresses}
    paths = {path for _, path in wanted.values()}
    rows = MemoryDocument.objects.present().filter(space__in=spaces, path__in=paths).select_related("space")
    order = {space.pk: number for number, space in enumerate(spaces)}
    ordered = sorted(rows, key=lambda row: order[row.space_id])
    found: dict[str, list[MemoryDocument]] = {}
    for address, (space_id, path) in wanted.items():
        of_path = [row for row in ordered if row.path == path and space_id in (None, row.space_id)]
        if of_path:
            found[address] = of_path
    return found
