"""Gather what the model of a conversation was sent: foreign text, and the words and the memory of the person.

Foreign are files, pasted text, pages, results of tools that bring outside text, imports, the words and lines of other
people, and what was made of any of these: notes, summaries and other conversations. Everything else is the person's. A
conversation with foreign text keeps it: summaries replace messages only in what the model is sent.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from chat.context import per_message, results
from chat.extensions import ContextItem
from chat.models import Attachment, ChatSession, MemoryChoice, Message
from chat.turns.commands import parse_call
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.documents.foreign import foreign_lines, holds_foreign, is_of_one
from memory.models import MemoryDocument, Suggestion
from memory.policy.addresses import is_of_others, located
from memory.policy.imported import imported_through
from memory.policy.paths import CURATED, CURATED_ALTERNATIVE
from memory.prompt import items
from memory.prompt.sent import LIBRARY_TOOLS, READING_TOOLS, SKILL_TOOL, passages_of, strings_of
from memory.skills.offering import NAMED
from memory.trust.confirmed import confirmed_text, is_yes, text_shown
from memory.trust.rule import Sent, SourceText
from oneclaw.models import Space, User

Kind = Suggestion.Kind

# Tools whose results have nothing from outside the conversation that is not the person's own.
OWN_TOOLS = ("save_memory", "schedule", "read_result")
# The tool that reads another conversation of the same person, which its argument names.
HISTORY_TOOL = "sessions_history"
CONVERSATION = re.compile(r"/c/([0-9a-f-]{36})")


def sent_in_turn(access: MemoryAccess, person: User, message_id: int | None) -> Sent:
    """Return what the model was sent until its answer `message_id` (None: until now) in a turn of `person`, who has
    typed the present message."""
    answer = access.session.messages.filter(pk=message_id).first() if message_id else None
    talk = Talk(access, person, answer.seq if answer else None)
    return talk.sent(talk.spoken()[-1:])


def sent_until(access: MemoryAccess, through_seq: int, after_seq: int = 0) -> Sent:
    """Return what the model was sent until the message `through_seq`; the typed words are those of the messages after
    `after_seq`, of every member in a shared conversation."""
    talk = Talk(access, access.person, through_seq)
    return talk.sent([spoken for spoken in talk.spoken() if spoken[0].seq > after_seq])


@dataclass
class Talk:
    """A conversation up to a message, read once; `person` is whose own words count, None: those of every member."""

    access: MemoryAccess
    person: User | None
    through_seq: int | None = None
    # Gathers the other conversations that this one has read, in place of looking into them; None: they are looked into.
    read: set[UUID] | None = None
    messages: list[Message] = field(init=False)
    # What the system texts quote from documents.
    heads: list[dict[str, Any]] = field(init=False)
    # Of other conversations, whether each holds foreign text itself, and which others it has read.
    looked_into: dict[UUID, tuple[bool, frozenset[UUID]]] = field(init=False, default_factory=dict)
    # The foreign lines of documents of one space by path; None: there is no such document.
    foreign_at: dict[str, frozenset[str] | None] = field(init=False, default_factory=dict)

    @property
    def session(self) -> ChatSession:
        """Return the conversation."""
        return self.access.session

    def __post_init__(self) -> None:
        rows = self.session.messages.filter(active=True).order_by("seq")
        if self.through_seq is not None:
            rows = rows.filter(seq__lte=self.through_seq)
        self.heads = list(self.session.heads.order_by("number").values_list("context", flat=True))
        self.messages = list(rows.only("seq", "role", "content", "meta", "text", "session_id", "author_id"))

    def sent(self, spoken: Iterable[tuple[Message, str]]) -> Sent:
        """Return all that the model was sent, with the typed words of the messages in `spoken`."""
        people = self._people()
        foreign = list(self.foreign())
        if not foreign:
            return Sent()
        return Sent(
            foreign=foreign,
            typed=[words for _, words in spoken if words],
            memory=list(self._memory()),
            names=" ".join(map(_names_of, people)),
            today=self.session.owner.day(),
        )

    def spoken(self) -> list[tuple[Message, str]]:
        """Return the messages that the person has written, each with what they typed in it and have confirmed by it.

        The argument of a command such as /remember counts as typed.
        """
        found: list[tuple[Message, str]] = []
        answer: Message | None = None
        for message in self.messages:
            if message.role == Message.Role.ASSISTANT:
                answer = message
            elif message.role == Message.Role.USER:
                typed = message.text if parse_call(message.text) else message.typed_text
                if answer is not None and is_yes(typed):
                    typed = f"{confirmed_text(text_shown(answer.html))}\n{typed}"
                found.append((message, typed if self._is_own(message) else ""))
        return found

    def foreign(self) -> Iterator[SourceText]:
        """Yield the foreign texts that the model was sent, in order."""
        imported_seq = _imported_seq(self.session)
        files = self._files()
        calls: dict[str, Mapping[str, Any]] = {}
        # Also of earlier heads: what was sent once stays foreign.
        for context in self.heads:
            yield from self._of_items(context.get(items.NAME, []))
        for message in self.messages:
            calls |= {use["id"]: use for use in message.tool_uses()}
            yield from self._of_items(per_message.items_of(message.meta, items.NAME))
            yield from self._of_other_extensions(message)
            yield from self._of_results(message, calls)
            if message.seq <= imported_seq and message.is_said:
                yield SourceText(Kind.IMPORTED, self.session.title, message.text)
            elif message.role == Message.Role.ASSISTANT and "by" in message.meta:
                # What a scheduled turn said.
                yield SourceText(Kind.SESSION, "", message.text)
            elif message.role == Message.Role.USER:
                writer = None if self._is_own(message) else message.author_id or self.session.owner_id
                yield from (
                    SourceText(Kind.ATTACHMENT, *files.get(id, ("", "")), writer=writer) for id in message.file_ids
                )
                yield from (SourceText(Kind.PASTED, "", text, writer) for text in message.pasted_texts)
                if message.meta.get("by") == "session":
                    yield SourceText(Kind.SESSION, "", message.text)
                elif writer is not None:
                    yield SourceText(Kind.PEOPLE, "", message.text, writer)

    def _is_own(self, message: Message) -> bool:
        """Return whether the person has written `message`, or anybody when the words of every member count."""
        if message.meta.get("by", "schedule") != "schedule" or message.PEER_KEY in message.meta:
            return False
        return self.person is None or (message.author_id or self.session.owner_id) == self.person.pk

    def _people(self) -> list[User]:
        """Return the owner of the session, and who else has written in it."""
        others = {message.author_id for message in self.messages if message.author_id is not None}
        others.discard(self.session.owner_id)
        return [self.session.owner, *(User.objects.filter(pk__in=others) if others else [])]

    def _files(self) -> dict[UUID, tuple[str, str]]:
        """Return names and texts of the attachments; an image has no text, and may say anything."""
        ids = [id for message in self.messages for id in message.file_ids]
        rows = Attachment.objects.filter(owner__in=self._people(), pk__in=ids) if ids else Attachment.objects.none()
        return {pk: (name, text) for pk, name, text in rows.values_list("pk", "name", "text")}

    def _memory(self) -> Iterator[str]:
        """Yield the curated memory that the conversation writes, and the person's own notes that the model was sent."""
        rows = MemoryDocument.objects.present().filter(space=self.access.home.space)
        yield from rows.filter(path__in=(CURATED, CURATED_ALTERNATIVE)).values_list("content", flat=True)
        sent = [*self.heads, *(message.meta.get(per_message.META_KEY, {}) for message in self.messages)]
        for item in (item for each in sent for item in each.get(items.NAME, [])):
            if item["kind"] in (items.RECENT, items.RECALLED) and not any(self._of_items([item])):
                yield items.shown(item)

    def _of_items(self, found: Iterable[ContextItem]) -> Iterator[SourceText]:
        for item in found:
            kind, text = item["kind"], items.shown(item)
            if kind == NAMED:
                yield SourceText(Kind.WORKSPACE, item["path"], text)
            elif kind in items.OF_DOCUMENTS:
                yield SourceText(Kind.ATTACHMENT, item.get("heading", ""), text)
            elif kind in (items.RECENT, items.RECALLED, *items.OF_SPACE):
                yield from self._of_memory(item["path"], text, item.get("heading", ""))

    def _of_other_extensions(self, message: Message) -> Iterator[SourceText]:
        """Yield what other extensions sent with a message, such as the result of a sub-session."""
        for name, found in message.meta.get(per_message.META_KEY, {}).items():
            if name != items.NAME:
                yield from (SourceText(Kind.SESSION, "", items.shown(item)) for item in found)

    def _of_results(self, message: Message, calls: Mapping[str, Mapping[str, Any]]) -> Iterator[SourceText]:
        """Yield what tools returned: of the app in messages of their own, of the model's server in the answer."""
        for block in message.content:
            if not block["type"].endswith("tool_result"):
                continue
            call = calls.get(block.get("tool_use_id", ""), {})
            name = call.get("name") or block["type"].removesuffix("_tool_result")
            content = block.get("content")
            text = "\n".join(strings_of(content))
            if name in READING_TOOLS:
                for passage in passages_of(content):
                    read = str(passage.get("snippet") or passage.get("text") or "")
                    yield from self._of_memory(
                        str(passage.get("path", "")), read, str(passage.get("title") or passage.get("file") or "")
                    )
            elif name in LIBRARY_TOOLS:
                for passage in passages_of(content):
                    yield SourceText(Kind.ATTACHMENT, str(passage.get("file", "")), str(passage.get("text", "")))
            elif name == SKILL_TOOL:
                yield SourceText(Kind.WORKSPACE, str(call.get("input", {}).get("name", "")), text)
            elif name == HISTORY_TOOL:
                if self._is_foreign_conversation(str(call.get("input", {}).get("session", ""))):
                    yield SourceText(Kind.FOUND, "", text)
            elif name not in OWN_TOOLS:
                yield SourceText(Kind.TOOL, name, text)

    def _of_memory(self, path: str, text: str, heading: str) -> Iterator[SourceText]:
        """Yield `text`, which is at `path` of what memory reads, when it is not the person's own."""
        if results.ADDRESS.fullmatch(path):
            # Of an earlier call of this conversation, whose result counts as what it is.
            return
        if conversation := CONVERSATION.match(path):
            if path != self.session.get_absolute_url() and self._is_foreign_conversation(conversation[1]):
                yield SourceText(Kind.FOUND, heading, text)
            return
        if is_of_others(path):
            yield SourceText(Kind.ATTACHMENT, heading, text)
            return
        space_id, path = located(path)
        space = self.access.home.space
        if space_id not in (None, space.pk):
            other = Space.objects.filter(pk=space_id).first()
            if other is None or not is_of_one(other, self.session.owner_id):
                yield SourceText(Kind.PEOPLE, "", text)
        elif path in (CURATED, CURATED_ALTERNATIVE) or (self.person is None and self.access.is_of_space):
            return
        elif self.access.is_of_space:
            if self.person is not None and not is_of_one(space, self.person.pk):
                yield SourceText(Kind.PEOPLE, "", text)
        elif (lines := self._foreign_at(space, path)) is None:
            yield SourceText(Kind.TOOL, path, text)
        elif holds_foreign(text, lines):
            yield SourceText(Kind.RECALLED, path, text)

    def _foreign_at(self, space: Space, path: str) -> frozenset[str] | None:
        """Return the foreign lines of the document at `path` of `space`, the own one; None without such a document."""
        if path not in self.foreign_at:
            is_there = MemoryDocument.objects.filter(space=space, path=path).exists()
            self.foreign_at[path] = foreign_lines(space, [path]) if is_there else None
        return self.foreign_at[path]

    def _is_foreign_conversation(self, session_id: str) -> bool:
        """Return whether another conversation, or one that it has read, holds foreign text, or is another person's or a
        sender's. Each is looked into once, however often they have read each other."""
        try:
            left = [UUID(session_id)]
        except ValueError:
            return True
        if self.read is not None:
            self.read.update(left)
            return False
        seen = {self.session.pk}
        while left:
            if (wanted := left.pop()) in seen:
                continue
            seen.add(wanted)
            if wanted not in self.looked_into:
                self.looked_into[wanted] = self._look_into(wanted)
            is_foreign, others = self.looked_into[wanted]
            if is_foreign:
                return True
            left.extend(others)
        return False

    def _look_into(self, session_id: UUID) -> tuple[bool, frozenset[UUID]]:
        """Return whether another conversation is not the owner's, or holds foreign text itself; and which others it has
        read."""
        session = ChatSession.objects.select_related("owner", "agent").filter(pk=session_id).first()
        if session is None or session.owner_id != self.session.owner_id or session.memory == MemoryChoice.NONE:
            return True, frozenset()
        access = access_of(session)
        if access.is_of_space:
            return True, frozenset()
        read: set[UUID] = set()
        is_foreign = any(True for _ in Talk(access, session.owner, read=read).foreign())
        return is_foreign, frozenset(read)


def _imported_seq(session: ChatSession) -> int:
    """Return the number of the last message that was imported, or copied from an imported conversation."""
    if session.parent is not None and session.copied_seq and imported_through(session.parent):
        return session.copied_seq
    return imported_through(session)


def _names_of(user: User) -> str:
    return f"{user.get_full_name()} {user.email.partition('@')[0]}".replace(".", " ")
