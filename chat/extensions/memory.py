"""The part of memory in a conversation: what the chat asks of it, and the empty answers where there is none."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol
from uuid import UUID

from django.utils.safestring import SafeString

from chat.answering import answers_without_memory
from chat.extensions.types import (
    AnswerLine,
    ContextItem,
    Detail,
    FinishedAnswer,
    Mention,
    Pick,
    PickingScope,
    Remains,
    SearchResult,
    SpaceTab,
    WaitingItems,
    WordedLine,
)
from chat.models import ChatSession, Message, MessageQuerySet
from oneclaw.models import Space, User

# The name of the extension of memory, under which the chat stores what memory gives it.
MEMORY_NAME = "memory"


class Memory(Protocol):
    """All that the chat asks of memory. Methods are sync and may use the ORM; the body of each is its empty answer.

    Its tools, sections of the prompt and context of messages are an Extension, as those of every app.
    """

    # What the model is sent.

    def reading(self) -> AbstractContextManager[None]:
        """Keep what is read until the end of the block, in which one request to the model is built."""
        return nullcontext()

    def prepare_prompt(self, session: ChatSession) -> None:
        """Bring the sources of a prompt up to date, before the first head of `session` is made; in no transaction."""
        return

    def prompt_condition(self, session: ChatSession) -> str:
        """Return a short text that identifies what the sections of the prompt depend on apart from `session`; when it
        changes, the session gets a new head."""
        return ""

    # What scheduled turns are sent in place of the sections and of the context of messages.

    def checklist(self, session: ChatSession) -> str:
        """Return what the owner of `session` wrote for their heartbeats; "" when they wrote nothing."""
        return ""

    def scheduled_items(self, session: ChatSession, is_heartbeat: bool) -> list[ContextItem]:
        """Return everything that the system text quotes from documents, with the checklist for a heartbeat; few
        characters, because a heartbeat sends them again and again."""
        return []

    def scheduled_text(self, session: ChatSession, items: Sequence[ContextItem]) -> str:
        """Return the text for these items, or ""."""
        return ""

    # What a person is shown.

    def waiting_for(self, user: User) -> WaitingItems | None:
        """Return what of memory waits for `user`, or None. Called for every page of the chat."""
        return None

    def introduction(self, user: User, session_id: UUID, csrf_token: str) -> SafeString:
        """Return what a new person is shown above the messages of the conversation with this id, which may have no row
        yet: safe HTML, or "". Called for every page of the chat."""
        return SafeString()

    def details(self, session: ChatSession, message: Message) -> list[Detail]:
        """Return what memory sent to the model with this message of a person."""
        return []

    def answer_line(self, answer: FinishedAnswer, session: ChatSession) -> AnswerLine:
        """Return what is stored for the quiet line under `answer` of `session`; {} for no line. Called before the end
        of the answer is stored, which waits for it: few queries, and none when nothing was used."""
        return {}

    def worded_line(self, line: AnswerLine, message_id: int, undone: Collection[int] | None) -> WordedLine | None:
        """Return the line under an answer in the active language, for the last message of the answer; None for none.

        `undone` has what of `line["made"]` is not there any more; None: what was saved is said near the line already.
        """
        return None

    def source_address(self, user: User, message: Message, mark: str) -> str:
        """Return the URL of the passage with `mark` that the answer `message` cites: the exact line, moment or page; ""
        when there is none that `user` may see."""
        return ""

    def related(self, user: User, question: str, most: int) -> list[SearchResult]:
        """Return pieces of conversations of `user` that are about `question`, with or without its words, best first, at
        most `most`; their names are the titles. Called when a question is sent, not while it is typed."""
        return []

    def space_tabs(self) -> Sequence[SpaceTab]:
        """Return the tabs of memory on the pages of a space."""
        return ()

    def space_overview(self, user: User, space: Space) -> SafeString:
        """Return what the first page of `space` shows `user`, a member, of its memory: safe HTML, or ""."""
        return SafeString()

    def remains(self, user: User, session_ids: Collection[UUID]) -> Remains | None:
        """Return what memory keeps of these conversations of `user`, which were deleted; None when nothing."""
        return None

    def mentions(self, session: ChatSession) -> list[Mention]:
        """Return what the person may name in a message of `session`, such as "$release-notes"; for the completion in
        the composer."""
        return []

    # The documents that a person may add to a message. One that is picked is an attachment with a source
    # (chat/attachments/chosen.py), and the context of messages sends its text.

    def documents(self, scope: PickingScope, words: list[str], most: int) -> list[Pick]:
        """Return the documents that may be picked there whose name has every one of `words`, at most `most`."""
        return []

    def document(self, scope: PickingScope, key: str) -> Pick | None:
        """Return the document with this key, if it may be picked there; None otherwise."""
        return None

    def document_address(self, user: User, key: str) -> str:
        """Return the URL of the page of the document with this key; "" when `user` may not see it."""
        return ""

    def library_link(self) -> tuple[str, str] | None:
        """Return the name and the URL of the page on which people add documents; None when there is none."""
        return None

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


def memory_for(session: ChatSession, *, is_away: bool | None = None) -> Memory:
    """Return the memory that takes part in `session`: none where the model is sent no memory. `is_away`: whether it is
    such a model; None: as it is now."""
    return NoMemory() if (answers_without_memory(session) if is_away is None else is_away) else _memory


def install_memory(installed: Memory) -> Memory:
    """Ask `installed` from now on. Return what was asked before."""
    global _memory
    before, _memory = _memory, installed
    return before
