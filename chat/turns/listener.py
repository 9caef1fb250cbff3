"""What a running turn says about itself while it goes on. The turn does not know who listens."""

from typing import Any, Protocol

from chat.models import Message
from chat.rendering.cards import Card
from oneclaw.llm import ModelFailure


class TurnListener(Protocol):
    """The object that is called at each step of one running turn. It reads the answer from the turn."""

    def begun(self, prompt: Message | None) -> None:
        """Show that the turn begins; `prompt` is its user message if that is new."""

    def grew(self) -> None:
        """Show the text that was added to the answer."""

    def tool_called(self, use: dict[str, Any]) -> None:
        """Show the call that the tool_use block `use` makes; it is about to run."""

    def tool_finished(self, use: dict[str, Any], card: Card) -> None:
        """Show the result of the call `use` by its card."""

    def round_finished(self, answer: Message, cards: dict[str, Card], following: Message) -> None:
        """Show `answer` whose tools have all run, and the placeholder of the answer that follows it."""

    def retrying(self, failure: ModelFailure, seconds: float) -> None:
        """Show that the model failed before it said anything, and is asked again after `seconds`."""

    def finished(self, answer: Message, failure: ModelFailure | None) -> None:
        """Show the end of the turn, which is saved; `answer` is its last one."""

    def closed(self) -> None:
        """Let go of the turn: this process does not run it any more, however it ended."""
