"""Which of several versions a message is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Version:
    """One of several versions: the `number`th of `total`, and the messages by whose id its neighbours are shown."""

    number: int
    total: int
    before: int | None
    after: int | None
