"""The part of memory in a conversation: what the chat asks of it, and the empty answers where there is none."""

from collections.abc import Callable
from typing import Protocol

from chat.models import ChatSession, MessageQuerySet


class Memory(Protocol):
    """All that the chat asks of memory. Methods are sync and may use the ORM; the body of each is its empty answer.

    Its tools, sections of the prompt and context of messages are an Extension, as those of every app.
    """

    # Before a summary replaces messages, and in it.

    def prepare_compaction(self, session: ChatSession, through_seq: int) -> bool:
        """Store what memory keeps of the messages of `session` up to `through_seq`, or ask for that, and return whether
        it is stored. Called again and again while a summary waits to replace them."""
        return True

    def summary_notes(self, session: ChatSession, through_seq: int) -> list[str]:
        """Return the English sentences that are kept word for word with a summary of the messages of `session` up to
        `through_seq`: what of memory's work in them is done or open."""
        return []

    def lookup_hint(self, session: ChatSession) -> str:
        """Return how the model of `session` finds messages that a summary has replaced: one English sentence, or ""."""
        return ""

    # Words that are not repeated.

    def cleaner(self, session: ChatSession) -> Callable[[str], str]:
        """Return a function that takes secrets, and what the owner of `session` had forgotten, out of a text."""
        return self.masked

    def masked(self, text: str) -> str:
        """Return `text` with its secrets masked, such as passwords: for titles, search results and summaries. Pure."""
        return text

    # What may be read.

    def reads_conversations(self, session: ChatSession) -> bool:
        """Return whether the model of `session` may read other conversations of its owner at all."""
        return True

    def readable_messages(self, session: ChatSession, messages: MessageQuerySet) -> MessageQuerySet:
        """Return which of `messages`, of other conversations of its owner, the model of `session` may read."""
        return messages

    def lost_addresses(self, session: ChatSession, addresses: set[str]) -> set[str]:
        """Return those of `addresses` that the owner of `session` may not read any more. They are of pieces
        (ContextItem), and of results of tools (`addresses_in`)."""
        return set()

    def addresses_in(self, result: str) -> set[str]:
        """Return the addresses that the result of a tool of memory names. Pure."""
        return set()


class NoMemory(Memory):
    """The null object: memory's part where no app brings one, with the empty answers of Memory."""


_memory: Memory = NoMemory()


def memory() -> Memory:
    """Return the memory that is installed."""
    return _memory


def install_memory(installed: Memory) -> Memory:
    """Ask `installed` from now on. Return what was asked before."""
    global _memory
    before, _memory = _memory, installed
    return before
