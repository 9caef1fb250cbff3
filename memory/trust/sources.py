"""Gather what a text of a conversation may come from: the person's own words, and all else that the model was sent."""

from collections.abc import Iterator
from typing import Any

from chat.context import per_message
from chat.models import Attachment, ChatSession, ContextRound, Message
from memory.models import Suggestion
from memory.policy.access import is_shared
from memory.policy.addresses import is_of_others
from memory.policy.imported import imported_through
from memory.policy.paths import CURATED, CURATED_ALTERNATIVE
from memory.prompt import items
from memory.prompt.sent import LIBRARY_TOOLS, READING_TOOLS, passages_of, strings_of, texts_of_summary
from memory.skills.offering import is_of_skill
from memory.trust.confirmed import confirmed_text
from memory.trust.matching import SourceText, TextSources
from memory.trust.typed import parts_of
from oneclaw.models import User

Kind = Suggestion.Kind

# The newest messages of a conversation that are compared; earlier ones are in summaries.
COMPARED_MAX_MESSAGES = 300
# Tools whose results have nothing that the model did not have before.
SAVING_TOOLS = ("save_memory",)


def text_sources_of(session: ChatSession, through_seq: int | None = None) -> TextSources:
    """Return what a text that the model wrote in `session` may come from, at the message `through_seq` or at the end.

    The curated memory is no source: the person has said yes to it. Nor is what a search brought back of the
    conversation itself, whose messages count as what they are.
    """
    rows = session.messages.filter(active=True).order_by("-seq")
    if through_seq is not None:
        rows = rows.filter(seq__lte=through_seq)
    messages = list(rows.only("seq", "role", "content", "meta", "text", "session_id")[:COMPARED_MAX_MESSAGES])[::-1]
    imported_seq = _imported_seq(session)
    own: list[str] = []
    sources = [*_of_prompt(session), *_of_summaries(session)]
    calls: dict[str, str] = {}
    answered = ""
    people = _people_of(session)
    files = _files_of(messages, people)
    for message in messages:
        calls |= {use["id"]: use["name"] for use in message.tool_uses()}
        sources += _of_items(per_message.items_of(message.meta, items.NAME))
        sources += _of_other_extensions(message)
        sources += _of_results(message, calls)
        if message.seq <= imported_seq and message.is_said:
            sources.append(SourceText(Kind.IMPORTED, session.title, message.text))
        elif message.is_said and "by" in message.meta:
            sources.append(SourceText(Kind.SESSION, "", message.text))
        elif message.role == Message.Role.USER:
            parts = parts_of(message.text)
            sources += [files[id] for id in message.file_ids if id in files]
            sources += [SourceText(Kind.PASTED, "", block) for block in parts.pasted]
            own.append("\n".join(filter(None, [confirmed_text(answered, parts.typed), parts.typed])))
        if message.role == Message.Role.ASSISTANT:
            answered = message.text
    own_path = session.get_absolute_url()
    others = [source for source in sources if source.path != own_path]
    return TextSources(own, others, " ".join(map(_names_of, people)), session.owner.day())


def _imported_seq(session: ChatSession) -> int:
    """Return the number of the last message that was imported, or copied from an imported conversation."""
    if session.parent is not None and session.copied_seq and imported_through(session.parent):
        return session.copied_seq
    return imported_through(session)


def _people_of(session: ChatSession) -> list[User]:
    """Return the owner of `session`, and who else has written in it while it was shared."""
    if not is_shared(session):
        return [session.owner]
    others = session.messages.exclude(author=None).exclude(author=session.owner_id).values("author")
    return [session.owner, *User.objects.filter(pk__in=others)]


def _names_of(user: User) -> str:
    return f"{user.get_full_name()} {user.email.partition('@')[0]}".replace(".", " ")


def _files_of(messages: list[Message], people: list[User]) -> dict[Any, SourceText]:
    """Return the attachments of `messages` by their ids; an image has no text, and may say anything."""
    ids = [id for message in messages for id in message.file_ids]
    rows = Attachment.objects.filter(owner__in=people, pk__in=ids).only("name", "text") if ids else ()
    return {row.pk: SourceText(Kind.ATTACHMENT, row.name, row.text) for row in rows}


def _of_prompt(session: ChatSession) -> Iterator[SourceText]:
    return _of_items(session.context.get(items.NAME, []))


def _of_items(found: list[Any]) -> Iterator[SourceText]:
    for item in found:
        if item["kind"] == items.FILE or is_of_skill(item):
            yield SourceText(Kind.WORKSPACE, item["path"], items.shown(item))
        elif item["kind"] in items.OF_DOCUMENTS:
            yield SourceText(Kind.ATTACHMENT, item.get("heading", ""), items.shown(item))
        elif item["kind"] in (items.RECENT, items.RECALLED, *items.OF_SPACE):
            yield from _of_memory(item["path"], items.shown(item), item.get("heading", ""))


def _of_other_extensions(message: Message) -> Iterator[SourceText]:
    """Yield what other extensions sent with a message, such as the result of a sub-session."""
    for name, found in message.meta.get(per_message.META_KEY, {}).items():
        if name != items.NAME:
            yield from (SourceText(Kind.SESSION, "", items.shown(item)) for item in found)


def _of_memory(path: str, text: str, heading: str) -> Iterator[SourceText]:
    if path in (CURATED, CURATED_ALTERNATIVE):
        return
    if is_of_others(path):
        yield SourceText(Kind.ATTACHMENT, heading or path, text)
    elif path.startswith("/c/"):
        yield SourceText(Kind.FOUND, heading, text, path)
    else:
        yield SourceText(Kind.RECALLED, path, text)


def _of_summaries(session: ChatSession) -> Iterator[SourceText]:
    rounds = ContextRound.objects.filter(session=session).summaries().exclude(used_at=None).order_by("number")
    for used in rounds:
        yield SourceText(Kind.SUMMARY, "", "\n".join(texts_of_summary(used)))


def _of_results(message: Message, calls: dict[str, str]) -> Iterator[SourceText]:
    """Yield what tools returned: of the app in messages of their own, of the model's server in the answer."""
    for block in message.content:
        if not block["type"].endswith("tool_result"):
            continue
        name = calls.get(block.get("tool_use_id", ""), block["type"].removesuffix("_tool_result"))
        if name in READING_TOOLS:
            for passage in passages_of(block.get("content")):
                text = str(passage.get("snippet") or passage.get("text") or "")
                yield from _of_memory(str(passage.get("path", "")), text, str(passage.get("heading") or ""))
        elif name in LIBRARY_TOOLS:
            for passage in passages_of(block.get("content")):
                yield SourceText(Kind.ATTACHMENT, str(passage.get("file", "")), str(passage.get("text", "")))
        elif name not in SAVING_TOOLS:
            yield SourceText(Kind.TOOL, name, "\n".join(strings_of(block.get("content"))))
