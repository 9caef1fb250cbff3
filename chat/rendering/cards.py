"""The card of one tool call, as it is stored in `Message.meta["cards"]` and shown in an answer."""

from typing import Any, Literal, NotRequired, TypedDict


class Card(TypedDict):
    """What a page shows of one tool call."""

    state: Literal["running", "done", "failed"]
    summary: str
    # What was saved or found.
    lines: list[str]
    # The address of a page where the person can take back what the call did.
    undo: NotRequired[str]
    # What the call made, by a number that its tool understands.
    made: NotRequired[int | None]
    # What became of it since (chat.turns.tools.Since).
    since: NotRequired[Any]
    # What the model was told, shortened.
    result: NotRequired[str]
    seconds: NotRequired[float]


RUNNING_CARD: Card = {"state": "running", "summary": "", "lines": []}
