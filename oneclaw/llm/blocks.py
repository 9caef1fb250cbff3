"""The types of a request's and an answer's content, in the form of the Messages API."""

from typing import Any, Literal, NotRequired, Required, TypedDict


class CacheControl(TypedDict):
    """A cache breakpoint: the provider caches the request up to the block that has it."""

    type: Literal["ephemeral"]
    # The lifetime of the entry: five minutes without it.
    ttl: NotRequired[Literal["1h"]]


class FileSource(TypedDict):
    """The bytes of an image or document block, as base64."""

    type: Literal["base64"]
    media_type: str
    data: str


class ServerId(TypedDict):
    """The id that a server gave to a tool call, which has another one in the conversation; `server` identifies the
    server and its model."""

    id: str | int
    server: str


class Block(TypedDict, total=False):
    """One content block. `type` decides which of the other fields it has; types that are not listed here are kept as
    the server sent them.

    `server_id` is not the API's either: oneclaw/llm/call_ids.py replaces `id` by it for the server that gave it.
    `attachment` is not the API's: it references a file in Message.content (Attachment.reference), and is replaced by
    blocks of the API in each request (chat/context/files.py).
    """

    # text, thinking, redacted_thinking, tool_use, tool_result, image, document, compaction or attachment.
    type: Required[str]
    # Of any block of a request.
    cache_control: CacheControl
    # text
    text: str
    citations: list[Any]
    # thinking; without its signature it was cut off, and cannot be sent back.
    thinking: str
    signature: str
    # compaction; `content` is the summary, and `signature` binds it. It is sent back with all its fields as it came.
    encrypted_content: str | None
    tool_changes: list[Any] | None
    # redacted_thinking
    data: str
    # tool_use; an attachment has `id` and `name` too.
    id: str
    name: str
    input: dict[str, Any]
    server_id: ServerId
    # tool_result
    tool_use_id: str
    content: str
    is_error: bool
    # image and document
    source: FileSource
    title: str
    # attachment; only an image has a width and a height, in pixels.
    kind: str
    size: int
    width: int
    height: int


class ApiMessage(TypedDict):
    """One message of a request; `role` is "user" or "assistant"."""

    role: str
    content: list[Block]


class ApiTextMessage(TypedDict):
    """One message of a request that is only text; `role` is "user" or "assistant"."""

    role: str
    content: str


class ToolDefinition(TypedDict):
    """A tool that a request offers to the model; `input_schema` is a JSON Schema object."""

    name: str
    description: str
    input_schema: dict[str, Any]
