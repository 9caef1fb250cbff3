"""A request as the list of its parts, in the order in which the API reads them: tools, system, messages."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.strict_api.spans import blocks_at, elements, members
from tests.strict_api.tokens import MESSAGE_TOKENS, block_tokens, tool_tokens

THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Part:
    """One tool, or one block of the system prompt or of a message."""

    # "tools", "system" or "messages"; and the role of the message.
    section: str
    role: str
    block: Mapping[str, Any]
    # The indexes of the message and of the block in it, and so the path of errors.
    i: int
    j: int
    # Its bytes as they came, without marks of the cache: parts with the same bytes are the same to the API.
    data: bytes
    # The same in canonical JSON, by which the server knows a block of its own answer when it first comes back.
    canonical: bytes
    tokens: int

    @property
    def path(self) -> str:
        """Return where the part is in the body, as errors name it."""
        return f"messages.{self.i}.content.{self.j}" if self.section == "messages" else f"{self.section}.{self.j}"

    @property
    def is_thinking(self) -> bool:
        """Return whether the part is a block of thinking."""
        return self.block.get("type") in THINKING

    def marks(self) -> Iterator[tuple[str, str]]:
        """Yield the path and the TTL of each cache mark of the part; results of tools may have some inside."""
        if mark := self.block.get("cache_control"):
            yield f"{self.path}.cache_control", mark.get("ttl") or "5m"
        content = self.block.get("content")
        for k, inner in enumerate(content if isinstance(content, list) else ()):
            if isinstance(inner, Mapping) and (mark := inner.get("cache_control")):
                yield f"{self.path}.content.{k}.cache_control", mark.get("ttl") or "5m"


def parts_of(body: Mapping[str, Any], raw: bytes) -> list[Part]:
    """Return the parts of a body whose shape is right, and which came as `raw`."""
    text = raw.decode(errors="surrogatepass")
    at = {name: begin for name, begin, _ in members(text, text.index("{"))}
    data = blocks_at(text, at["tools"]) if body.get("tools") else []
    parts = [
        Part("tools", "", tool, 0, j, data[j], canonical(tool), tool_tokens(tool))
        for j, tool in enumerate(body.get("tools") or ())
    ]
    data = blocks_at(text, at["system"]) if body.get("system") else []
    for j, block in enumerate(blocks_of(body.get("system") or [])):
        parts.append(Part("system", "", block, 0, j, data[j], canonical(block), block_tokens(block)))
    spans = list(elements(text, at["messages"]))
    for i, message in enumerate(body["messages"]):
        found = {name: begin for name, begin, _ in members(text, spans[i][0])}
        blocks = blocks_of(message.get("content") or [])
        data = blocks_at(text, found["content"]) if blocks else []
        for j, block in enumerate(blocks):
            tokens = block_tokens(block) + (0 if j else MESSAGE_TOKENS)
            parts.append(Part("messages", message["role"], block, i, j, data[j], canonical(block), tokens))
    return parts


def blocks_of(content: Any) -> list[Mapping[str, Any]]:
    """Return the blocks of a content. A string is short for one block of text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def canonical(block: Mapping[str, Any]) -> bytes:
    """Return JSON of a block with sorted keys, without cache_control and empty fields."""
    return json.dumps(_bare(block), sort_keys=True, separators=(",", ":")).encode()


def _bare(block: Mapping[str, Any]) -> dict[str, Any]:
    bare = {key: value for key, value in block.items() if key != "cache_control" and value is not None}
    if isinstance(bare.get("content"), list):
        bare["content"] = [_bare(each) if isinstance(each, Mapping) else each for each in bare["content"]]
    return bare
