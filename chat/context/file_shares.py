"""Decide how much of each attached file the model is sent, when its message is sent first, and keep that with it.

Later requests repeat the decision, because what was sent may not change (chat/context/view.py). Only when a new file
needs the room of older ones, the oldest are released, down to half of the limits, so that this happens rarely.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.conf import settings

from chat.models import Attachment

# What is sent of a file: all its bytes; this many characters of its text; or only a note that it was there.
Share = str | int
WHOLE, OUT = "whole", "out"

# Limit of the base64 data of a request; the API takes 32 MB in all.
REQUEST_MAX_BYTES = 24_000_000
# Limits of the images and PDFs of a request, and of the pages of all its PDFs.
REQUEST_MAX_FILES = 100
REQUEST_MAX_PAGES = 100
# Limit of the text of all files of a request, in multiples of the limit of one message (settings.FILES.text_max_chars).
REQUEST_MAX_TEXTS = 2

# Base64 bytes, binary files, pages and characters.
Cost = tuple[int, int, int, int]


def assign_shares(
    named: Sequence[Sequence[UUID]], stored: Sequence[Sequence[Share] | None], files: Mapping[UUID, Attachment]
) -> tuple[list[list[Share]], bool]:
    """Return the shares of the files of each message, and whether a stored one changed. Pure.

    `named` are the ids of the files of each message, oldest message first, and `stored` their shares; None for a
    message that is sent for the first time.
    """
    shares: list[list[Share]] = []
    released = False
    limits = limits_of_request()
    for ids, known in zip(named, stored, strict=True):
        if known is not None:
            shares.append(list(known))
            continue
        own = first_shares([files.get(id) for id in ids])
        costs = [cost_of(before, fileids, files) for before, fileids in zip(shares, named, strict=False)]
        fresh = cost_of(own, ids, files)
        if not is_within(limits, *costs, fresh):
            half = tuple(limit // 2 for limit in limits)
            for index, cost in enumerate(costs):
                if is_within(half, *costs, fresh):
                    break
                if any(cost):
                    shares[index], costs[index] = [OUT] * len(shares[index]), (0, 0, 0, 0)
                    released = released or stored[index] is not None
        shares.append(own)
    return shares, released


def first_shares(files: Sequence[Attachment | None]) -> list[Share]:
    """Return the shares of the files of one message, within the limits of a request: the last ones come first. Pure."""
    shares: list[Share] = [OUT] * len(files)
    limits = limits_of_request()
    costs: list[Cost] = []
    for index in reversed(range(len(files))):
        file = files[index]
        if file is not None and is_binary(file) and is_within(limits, *costs, binary_cost(file)):
            costs.append(binary_cost(file))
            shares[index] = WHOLE
    texts = {
        index: len(file.text)
        for index, file in enumerate(files)
        if file is not None and file.text and shares[index] != WHOLE
    }
    for index, share in zip(texts, fair_shares(settings.FILES.text_max_chars, list(texts.values())), strict=True):
        shares[index] = share
    return shares


def fair_shares(room: int, wanted: Sequence[int]) -> list[int]:
    """Return the shares of `room` for texts of these lengths; what a short one leaves goes to the others. Pure."""
    shares = [0] * len(wanted)
    for left, index in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        shares[index] = min(wanted[index], room // (len(wanted) - left))
        room -= shares[index]
    return shares


def is_binary(file: Attachment) -> bool:
    """Return whether the model can be sent `file` as it is, rather than its text."""
    if file.kind == Attachment.Kind.PDF:
        return settings.FILES.sends_pdf and 0 < file.pages <= REQUEST_MAX_PAGES
    return file.kind == Attachment.Kind.IMAGE


def limits_of_request() -> Cost:
    """Return the limits of one request."""
    return REQUEST_MAX_BYTES, REQUEST_MAX_FILES, REQUEST_MAX_PAGES, REQUEST_MAX_TEXTS * settings.FILES.text_max_chars


def cost_of(shares: Sequence[Share], ids: Sequence[UUID], files: Mapping[UUID, Attachment]) -> Cost:
    """Return what the files of one message take."""
    total: Cost = (0, 0, 0, 0)
    for share, id in zip(shares, ids, strict=True):
        if share == WHOLE and id in files:
            total = added(total, binary_cost(files[id]))
        elif isinstance(share, int):
            total = added(total, (0, 0, 0, share))
    return total


def binary_cost(file: Attachment) -> Cost:
    return (file.small_size or file.size) * 4 // 3 + 4, 1, file.pages, 0


def is_within(limits: Sequence[int], *costs: Cost) -> bool:
    """Return whether `costs` add up to at most `limits`."""
    return all(sum(column) <= limit for limit, column in zip(limits, zip(*costs, strict=True), strict=True))


def added(one: Cost, other: Cost) -> Cost:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]
