"""Select what a server is sent of a conversation when nothing of anybody's memory may go there.

The head of such requests has the sections and tools of no extension that holds memory, and is marked as such
(chat/context/heads.py). Of the transcript these are sent: what people wrote, and the answers and results of tools whose
own requests held no memory either. A sentence replaces any other answer, because its words may be those of a memory; a
summary of messages is sent only if all of them could be sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chat import extensions
from chat.answering import WITHOUT_MEMORY_KEY
from chat.context import notices, per_message
from chat.context.rounds import RoundsInView
from chat.context.view import META_KEY, ViewRow, is_thinking
from chat.conversations.shared.authorship import MEMBER
from chat.extensions import COMMAND_CALL_PREFIX, BeforeCompaction
from chat.models import ChatSession, Message
from oneclaw.llm import Block
from oneclaw.llm.citations import uncited

Role = Message.Role
# What a row holds beside its blocks that may be from a memory, or depends on what else was sent.
DROPPED_META = frozenset({per_message.META_KEY, per_message.HOOK_TEXT_KEY, META_KEY})
KEPT_SENT = ("files", "results", "shares", "day")
# Who has written a message if the person has not ("by" in Message.meta), where no model has: a member, or the owner of
# a shared link that was copied.
BY_PEOPLE = (MEMBER, "copy")


def without_memory(rows: Sequence[ViewRow]) -> list[ViewRow]:
    """Return what is sent of `rows`, in order. Pure."""
    sent: list[ViewRow] = []
    # The names of the tools of the calls that are sent, by their ids.
    kept_calls: dict[str, str] = {}
    for row in rows:
        if row.role == Role.ASSISTANT:
            if row.meta.get(WITHOUT_MEMORY_KEY):
                content = [uncited(block) for block in row.content if is_free(block)]
                kept_calls |= {block["id"]: block["name"] for block in content if block["type"] == "tool_use"}
            else:
                content = [notices.NOT_SENT_ANSWER]
        elif row.role == Role.TOOL:
            known = [block for block in row.content if block.get("tool_use_id", "") in {"", *kept_calls}]
            content = [as_unknown(block, kept_calls) for block in known]
            if not any(block["type"] == "tool_result" for block in content):
                continue
        elif row.role == Role.USER and not is_own(row):
            content = [notices.NOT_SENT_MESSAGE]
        else:
            content = row.content
        if content != [notices.NOT_SENT_ANSWER] or not (sent and sent[-1].content == content):
            sent.append(cleaned(row, content))
    # An answer that goes on after calls whose results are not sent begins anew.
    while sent and sent[-1].content == [notices.NOT_SENT_ANSWER]:
        sent.pop()
    return sent


def cleaned(row: ViewRow, content: list[Block]) -> ViewRow:
    """Return `row` with `content`, and without what extensions, hooks and the server have added to it."""
    kept = {name: value for name, value in row.meta.get(META_KEY, {}).items() if name in KEPT_SENT}
    meta = {name: value for name, value in row.meta.items() if name not in DROPPED_META}
    free = {each.name for each in extensions.installed() if not each.holds_memory}
    context = {name: items for name, items in row.meta.get(per_message.META_KEY, {}).items() if name in free}
    return replace(row, content=content, meta={**meta, META_KEY: kept, per_message.META_KEY: context})


def is_free(block: Block) -> bool:
    """Return whether a block of an answer that was made without memory may be sent: not what it thought, for another
    head, nor a call of a tool of memory that a person's command has made."""
    if block["type"] == "tool_use":
        return not (extensions.tool_named(block["name"]).about_memory and block["id"].startswith(COMMAND_CALL_PREFIX))
    return not is_thinking(block) and block["type"] != "compaction"


def as_unknown(block: Block, calls: Mapping[str, str]) -> Block:
    """Return `block` as it is sent, given the names of `calls` by their ids: the result of a tool of memory, which a
    model has called without being offered it, as that of one that does not exist."""
    name = calls.get(block.get("tool_use_id", ""), "")
    if not extensions.tool_named(name).about_memory:
        return block
    said = notices.NO_SUCH_TOOL.format(name=name)
    return {"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": said, "is_error": True}


def is_own(row: ViewRow) -> bool:
    """Return whether a person wrote the message for the model: not another conversation or a schedule, whose words a
    model has chosen, and not for their memory, as with /remember."""
    return row.meta.get("by", MEMBER) in BY_PEOPLE and not is_for_memory(row.content)


def is_for_memory(content: Sequence[Block]) -> bool:
    """Return whether a line of a person's message begins with a command of memory."""
    return extensions.has_memory_command("".join(block["text"] for block in content if block["type"] == "text"))


def rounds_without_memory(session: ChatSession, rounds: RoundsInView) -> RoundsInView:
    """Return `rounds` as they are sent: with a sentence in place of a summary of messages that may hold memory."""
    compact = rounds.compact
    # What hooks keep with a summary may be from anywhere.
    is_own = compact is None or (compact.block is None and not extensions.hooks_at(BeforeCompaction))
    if is_own and (compact is None or is_all_free(session, rounds.through_seq)):
        return rounds
    return replace(rounds, is_withheld=True)


def is_all_free(session: ChatSession, through_seq: int) -> bool:
    """Return whether all shown messages of `session` up to `through_seq` hold nothing of anybody's memory."""
    shown = session.messages.shown().filter(seq__lte=through_seq)
    answers = shown.filter(role=Role.ASSISTANT).exclude(meta__has_key=WITHOUT_MEMORY_KEY)
    relayed = shown.filter(role=Role.USER, by__isnull=False).exclude(by__in=BY_PEOPLE)
    if answers.exists() or relayed.exists():
        return False
    said = shown.filter(role=Role.USER).values_list("content", flat=True)
    return not any(is_for_memory(content) for content in said)
