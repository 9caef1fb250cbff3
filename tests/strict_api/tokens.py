"""A fixed tokenizer: how many tokens the strict server counts for a text, an image or a document.

Ratios of the tokenizers since Claude 4.7: 3.1 bytes a token in scripts with words, one character of Chinese, Japanese
and Korean. Images have width · height / 750 tokens, at most 4,784; a page of a PDF has 2,000 (assumed).
"""

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

TOKEN_BYTES = 3.1
MESSAGE_TOKENS = 4
IMAGE_PIXELS_PER_TOKEN_COUNT = 750
IMAGE_MAX_TOKENS = 4_784
# Of an image whose size cannot be read.
IMAGE_UNKNOWN_TOKENS = 1_600
PAGE_TOKENS = 2_000

_CJK = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
_PAGE = re.compile(rb"/Type\s*/Page\b")


def text_tokens(text: str) -> int:
    """Return the tokens of a text."""
    if text.isascii():
        return math.ceil(len(text) / TOKEN_BYTES)
    characters = len(_CJK.findall(text))
    others = len(_CJK.sub("", text).encode(errors="surrogatepass"))
    return characters + math.ceil(others / TOKEN_BYTES)


def block_tokens(block: Mapping[str, Any]) -> int:
    """Return the tokens of a content block. prefix.py counts thinking, whose text is not sent."""
    return sum(_counts(block))


def tool_tokens(tool: Mapping[str, Any]) -> int:
    """Return the tokens of a tool's definition."""
    return text_tokens(json.dumps(_unmarked(tool), ensure_ascii=False))


def _counts(block: Mapping[str, Any]) -> Iterator[int]:
    match block.get("type"):
        case "text":
            yield text_tokens(block["text"])
        case "image":
            yield _image_tokens(block["source"])
        case "document":
            yield from (text_tokens(block.get(field) or "") for field in ("title", "context"))
            yield from _document_counts(block["source"])
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            yield MESSAGE_TOKENS
            yield text_tokens(block["name"] + json.dumps(block.get("input"), ensure_ascii=False))
        case "tool_result" | "search_result":
            yield MESSAGE_TOKENS
            content = block.get("content") or ""
            inside = [{"type": "text", "text": content}] if isinstance(content, str) else content
            yield from (block_tokens(each) for each in inside)
            yield text_tokens(f"{block.get('source', '')} {block.get('title', '')}".strip())
        case "thinking" | "redacted_thinking":
            yield 0
        case "compaction":
            yield text_tokens(block.get("content") or "")
        case _:
            yield text_tokens(json.dumps(_unmarked(block), ensure_ascii=False))


def _document_counts(source: Mapping[str, Any]) -> Iterator[int]:
    match source["type"]:
        case "base64":
            yield PAGE_TOKENS * max(1, len(_PAGE.findall(_decoded(source["data"]))))
        case "text":
            yield text_tokens(source["data"])
        case "content":
            content = source["content"]
            inside = [{"type": "text", "text": content}] if isinstance(content, str) else content
            yield from (block_tokens(each) for each in inside)
        case _:
            yield PAGE_TOKENS


def _image_tokens(source: Mapping[str, Any]) -> int:
    size = _size(_decoded(source["data"][:100_000])) if source["type"] == "base64" else None
    if size is None:
        return IMAGE_UNKNOWN_TOKENS
    return min(IMAGE_MAX_TOKENS, math.ceil(size[0] * size[1] / IMAGE_PIXELS_PER_TOKEN_COUNT))


def _size(image: bytes) -> tuple[int, int] | None:
    """Return (width, height) of a PNG, GIF or JPEG; None when it cannot be read."""
    if image.startswith(b"\x89PNG") and len(image) >= 24:
        width, height = struct.unpack(">II", image[16:24])
        return width, height
    if image.startswith(b"GIF8") and len(image) >= 10:
        width, height = struct.unpack("<HH", image[6:10])
        return width, height
    start = 2
    while image.startswith(b"\xff\xd8") and start + 9 <= len(image):
        marker, length = image[start + 1], int.from_bytes(image[start + 2 : start + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", image[start + 5 : start + 9])
            return width, height
        start += 2 + length
    return None


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data[: len(data) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _unmarked(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}
