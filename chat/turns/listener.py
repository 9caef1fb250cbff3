"""The interface through which a running turn reports its steps, without knowledge of the transport."""

from chat.models import Message
from chat.rendering.cards import Card
from chat.rendering.shown import ShownMessage
from oneclaw.llm import Block, ModelRequestError


class RoundsListener:
    """The object that the loop of a turn calls at each step, and that reads the answer from the turn. By itself it does
    nothing: a turn that is shown nowhere has one of this class."""

    def grew(self) -> None:
        """Handle text that was added to the answer."""

    def tool_called(self, use: Block) -> None:
        """Handle a tool call, the tool_use block `use`, which is about to run."""

    def tool_finished(self, use: Block, card: Card) -> None:
        """Handle the end of the call `use`, whose result is in `card`."""

    def round_finished(self, answer: Message, cards: dict[str, Card], following: Message) -> None:
        """Handle the end of `answer`, whose tools have all run; `following` is the placeholder of the next answer."""

    def making_room(self) -> None:
        """Handle the wait for a summary of earlier messages, without which the next request would be too long."""

    def retrying(self, failure: ModelRequestError, seconds: float) -> None:
        """Handle a failure of the model before any output; the request is retried after `seconds`."""


class TurnListener(RoundsListener):
    """The object that a running turn calls from its start to its end."""

    def begun(self, prompt: ShownMessage | None) -> None:
        """Handle the start of the turn; `prompt` is its user message if that is new."""

    def waiting(self, is_waiting: bool) -> None:
        """Handle that the turn waits for a slot, or that it has got one."""

    def finished(self, answer: Message, failure: ModelRequestError | None) -> None:
        """Handle the end of the turn, which is saved; `answer` is its last one, `failure` why it failed."""

    def closed(self) -> None:
        """Release the turn: this process does not run it any more. Called after every end."""
