"""The position of a message among its versions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Version:
    """The position of one version: the `number`th of `total`, and the ids of the messages `before` and `after` it."""

    number: int
    total: int
    before: int | None
    after: int | None
