"""Count the tokens of a conversation's next request, and what takes them. Pure.

The provider's count of the newest request is exact, and its answer is the end of the next one. Everything that was
added since is estimated: texts by the characters per token of the model (oneclaw/llm/estimate.py), images by their
pixels, PDFs by their pages.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID

from chat.attachments.extract import EDGE_MAX_PIXELS
from chat.context.file_shares import WHOLE, Share, first_shares
from chat.context.files import DATA_NOTICE, NO_TEXT_NOTICE, named_in, plain_name, text_of
from chat.context.per_message import names_in
from chat.context.view import THINKING, ViewRow, has_thinking_sent
from chat.models import Attachment, Head, Message
from oneclaw.llm import Block, Facts, ToolDefinition
from oneclaw.llm.estimate import text_tokens
from oneclaw.spend.usage import INPUT_NAMES, OUTPUT_NAME, count_of

# Of each message, and of each call of a tool and its result, for what surrounds the text.
ENVELOPE_TOKENS = 4
IMAGE_PIXELS_PER_TOKEN_COUNT = 750
IMAGE_MAX_TOKENS = 4_784
PDF_PAGE_TOKENS = 2_000
# The sections of the system text that do not come from extensions; "" is a text whose sections are not recorded.
OWN_SECTIONS = ("agent", "")


class ContextPart(StrEnum):
    """A part of a request that takes tokens."""

    INSTRUCTIONS = "instructions"
    MEMORY = "memory"
    TOOLS = "tools"
    FILES = "files"
    RESULTS = "results"
    CONVERSATION = "conversation"
    SUMMARY = "summary"


def window_of(facts: Facts, limit: int) -> int:
    """Return the tokens that a conversation may take; `limit` is settings.CONTEXT, 0 for the model's whole window."""
    return min(facts.window_tokens, limit or facts.window_tokens)


def input_tokens(usage: Mapping[str, Any]) -> int:
    """Return the tokens of the request of an answer."""
    return sum(count_of(usage, name) for name in INPUT_NAMES)


def tokens_after(usage: Mapping[str, Any]) -> int:
    """Return the tokens of the request of an answer and of the answer, with its thinking."""
    return input_tokens(usage) + count_of(usage, OUTPUT_NAME)


def head_tokens(head: Head, chars_per_token: float) -> Counter[ContextPart]:
    """Return the estimated tokens of a head by what takes them."""
    found: Counter[ContextPart] = Counter()
    for name, text in head.section_texts():
        found[part_of_section(name)] += text_tokens(text, chars_per_token)
    for tool in head.tools or ():
        found[ContextPart.TOOLS] += tool_tokens(tool, chars_per_token)
    return found


def part_of_section(name: str) -> ContextPart:
    """Return what the section `name` of the system text counts as."""
    return ContextPart.INSTRUCTIONS if name in OWN_SECTIONS else ContextPart.MEMORY


def tool_tokens(tool: ToolDefinition, chars_per_token: float) -> int:
    """Return the estimated tokens of the definition of a tool."""
    return text_tokens(json.dumps(tool, ensure_ascii=False), chars_per_token)


def row_tokens(
    row: ViewRow,
    context: str,
    files: Mapping[UUID, Attachment],
    chars_per_token: float,
    thinking_after_seq: int = 0,
) -> Counter[ContextPart]:
    """Return the estimated tokens of one message by what takes them.

    `context` is the text of its per-message context, `files` has its attached files. An answer has the tokens that the
    provider counted, without its thinking when it is not sent any more.
    """
    found: Counter[ContextPart] = Counter({ContextPart.CONVERSATION: ENVELOPE_TOKENS})
    found[ContextPart.MEMORY] += text_tokens(context, chars_per_token)
    for note in row.sent("notes") or ():
        found[ContextPart.SUMMARY] += text_tokens(note, chars_per_token)
    attached = files_of(row, files)
    for name, file, share in attached:
        found[ContextPart.FILES] += file_tokens(name, file, share, chars_per_token, names_in(row.meta))
    if any(isinstance(share, int) for _, _, share in attached):
        found[ContextPart.FILES] += text_tokens(DATA_NOTICE, chars_per_token)
    if attached and len(attached) == len(row.content):
        found[ContextPart.FILES] += text_tokens(NO_TEXT_NOTICE, chars_per_token)
    counted = count_of(row.usage, OUTPUT_NAME)
    if counted and row.role == Message.Role.ASSISTANT:
        is_sent = has_thinking_sent(row, thinking_after_seq)
        found[ContextPart.CONVERSATION] += counted if is_sent else max(0, counted - thinking_tokens(row.usage or {}))
        return found
    for block in row.content:
        part = ContextPart.RESULTS if block["type"] == "tool_result" else ContextPart.CONVERSATION
        found[part] += block_tokens(block, chars_per_token)
    return found


def thinking_tokens(usage: Mapping[str, Any]) -> int:
    """Return how many of the tokens of an answer were thinking; 0 when the server does not say."""
    details = usage.get("output_tokens_details")
    return count_of(details, "thinking_tokens") if isinstance(details, Mapping) else 0


def block_tokens(block: Block, chars_per_token: float) -> int:
    """Return the estimated tokens of a block without bytes of files."""
    match block["type"]:
        case "text":
            return text_tokens(block["text"], chars_per_token)
        case "tool_use":
            call = block["name"] + json.dumps(block["input"], ensure_ascii=False)
            return ENVELOPE_TOKENS + text_tokens(call, chars_per_token)
        case "tool_result":
            content = block.get("content") or ""
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            return ENVELOPE_TOKENS + text_tokens(text, chars_per_token)
        case "compaction":
            return text_tokens(block.get("content") or "", chars_per_token)
        case "thinking" if block.get("signature"):
            return text_tokens(block["thinking"], chars_per_token)
        case kind if kind in (*THINKING, "attachment"):
            return 0
        case _:
            return text_tokens(json.dumps(block, ensure_ascii=False), chars_per_token)


def files_of(row: ViewRow, files: Mapping[UUID, Attachment]) -> list[tuple[str, Attachment | None, Share]]:
    """Return the name, file and share of each file of a message; the shares that it would get when none are stored."""
    named = named_in(row.content)
    found = [files.get(UUID(block["id"])) for block in named]
    stored: Sequence[Share] | None = row.sent("files")
    shares = first_shares(found) if stored is None else stored
    return [(plain_name(block["name"]), file, share) for block, file, share in zip(named, found, shares, strict=True)]


def file_tokens(
    name: str, file: Attachment | None, share: Share, chars_per_token: float, apps: Collection[str] = ()
) -> int:
    """Return the estimated tokens of what is sent of one file; `apps` as in `with_files`."""
    if file is None:
        return text_tokens(name, chars_per_token)
    if share != WHOLE:
        return text_tokens(text_of(file, name, share, apps), chars_per_token)
    if file.kind == Attachment.Kind.PDF:
        return text_tokens(name, chars_per_token) + PDF_PAGE_TOKENS * file.pages
    return text_tokens(f"[image: {name}]", chars_per_token) + image_tokens(file.width, file.height)


def image_tokens(width: int, height: int) -> int:
    """Return the tokens of an image of this size in pixels, of which a smaller copy is sent when it is large."""
    scale = min(1.0, EDGE_MAX_PIXELS / max(width, height, 1))
    return min(IMAGE_MAX_TOKENS, round(width * height * scale**2 / IMAGE_PIXELS_PER_TOKEN_COUNT))


def scaled(parts: Mapping[ContextPart, int], total: int) -> dict[ContextPart, int]:
    """Return `parts` in the order of ContextPart, as whole numbers in the same proportions that add up to `total`."""
    estimated = sum(parts.values())
    found = {part: parts.get(part, 0) * total // max(estimated, 1) for part in ContextPart}
    largest = max(found, key=lambda part: found[part])
    found[largest] += total - sum(found.values())
    return found
