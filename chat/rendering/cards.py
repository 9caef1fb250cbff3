"""The card of one tool call, as it is stored in `Message.meta["cards"]` and shown in an answer."""

from typing import Any, Literal, NotRequired, TypedDict

from chat.extensions import CallUpdate


class Card(TypedDict):
    """What a page shows of one tool call."""

    state: Literal["running", "done", "failed"]
    # Text, or a Reason as JSON, which is worded when the card is shown.
    summary: str | dict[str, Any]
    # What was saved or found.
    lines: list[str | dict[str, Any]]
    # The address of a page where the person can undo what the call did.
    undo: NotRequired[str]
    # The id of what the call made, for its tool.
    made: NotRequired[int | None]
    # The tool's update of it.
    since: NotRequired[CallUpdate | None]
    # The URL of the place of each line; "" or missing: none.
    addresses: NotRequired[list[str]]
    # What the model got, shortened, and the values in it that a person can read, by their names.
    result: NotRequired[str]
    fields: NotRequired[dict[str, str | bool]]
    # What the tool keeps for itself.
    kept: NotRequired[dict[str, Any]]
    seconds: NotRequired[float]
    # Whether it is in the place of one that the person may not read any more.
    lost: NotRequired[bool]


RUNNING_CARD: Card = {"state": "running", "summary": "", "lines": []}
