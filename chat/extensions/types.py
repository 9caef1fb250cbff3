"""What an app can bring to the chat: the parts of an Extension, and the values that they take and return."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

from django.utils.safestring import SafeString

from chat.models import ChatSession, Message
from oneclaw.models import User
from oneclaw.reasons import Reason, other
from oneclaw.text import Words

# Bytes of JSON that the arguments of a call may have, unless the tool allows more.
INPUT_MAX_BYTES = 64 * 1024


class ToolError(Exception):
    """The call did nothing: the model is sent `code`, which is stable, and `message`, one sentence in English. `reason`
    is what the person's card says; without one, the message."""

    def __init__(self, code: str, message: str, reason: Reason | None = None):
        super().__init__(message)
        self.code, self.message = code, message
        self.reason = reason or other(message)


@dataclass(frozen=True)
class ToolCall:
    """One call that a model made, and whose conversation it is. `id` is the API's tool_use id; with `message_id` it is
    unique for ever."""

    id: str
    name: str
    input: Mapping[str, Any]
    user: User
    session: ChatSession
    message_id: int | None = None


@dataclass(frozen=True)
class ToolResult:
    """What a call brought: `content` for the model (a string, or what JSON can say), `summary` and `lines` for the
    person's card, and `undo`: the address of a page where the person can take back what the call did.

    A summary and a line are text as it is, such as a path, or a Reason, which is worded when the card is shown."""

    content: Any
    summary: str | Reason
    lines: Sequence[str | Reason] = ()
    is_error: bool = False
    undo: str = ""
    # What the call made, by a number that its tool understands: by it the card learns what became of it since.
    made: int | None = None


class Since(TypedDict):
    """What became of what a call made: shown on its card in place of what was true when the call ended."""

    # In place of the card's own; "" leaves that.
    heading: str
    # Safe HTML that stands below the card's lines, such as a question to the person.
    html: str
    can_undo: bool


@dataclass(frozen=True)
class Tool:
    """A tool that a model may call.

    `input_schema` is a JSON Schema object, against which arguments are checked before the call. `call` is sync, may use
    the ORM, and runs in a worker thread; it raises ToolError for what the model did wrong.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    call: Callable[[ToolCall], ToolResult]
    # Whether this session may use it; None: every session may.
    offered: Callable[[ChatSession], bool] | None = None
    # The heading of its card, by state: running, done, failed.
    headings: Mapping[str, Words] = field(default_factory=dict)
    # What became since of what calls have made (`ToolResult.made`). Sync, may use the ORM. The second argument is a
    # form's CSRF token, or "" where the page sends it by itself.
    since: Callable[[Sequence[int], str], Mapping[int, Since]] | None = None
    # Whether its arguments and results are of a person's memory: others are not shown them.
    about_memory: bool = False
    # More for a tool that has a sentence of its own for what is too long.
    input_max_bytes: int = INPUT_MAX_BYTES
    # What people see it called where they switch it on and off.
    label: Words = ""


class ContextItem(TypedDict):
    """A piece of a document that an app gives to the model, as data: stored as JSON, and put into words last."""

    # What the piece is; the app's own word, by which it is put into words.
    kind: str
    path: str
    # The version of the document that the piece is from; None: not recorded.
    revision: int | None
    # The first and the last line in that version, counted from 1; empty: not recorded.
    lines: list[int]
    # Whole lines, also where the model was sent a part of the first or the last one.
    text: str
    # Which characters of `text`, from and to, the model was sent; without it, all.
    shown: NotRequired[list[int]]
    # How many characters of the document are left out between the end of this piece and the next one.
    left_out: NotRequired[int]
    # Whether the first or the last line of `text` may be a part of a longer line of the document.
    cut: NotRequired[bool]
    # The heading under which the piece stands in its document.
    heading: NotRequired[str]


@dataclass(frozen=True)
class PromptSection:
    """A stable part of the system prompt. Built with the prompt of a conversation, and kept with it."""

    name: str
    # Its place among the sections of all apps: 100 agent, 200 memory, 300 guidelines.
    order: int
    # Returns its text for a session, or "", made of the session and the items. Sync, may use the ORM.
    render: Callable[[ChatSession, Sequence[ContextItem]], str]
    # Returns all that the text quotes from documents. Sync, may use the ORM.
    items: Callable[[ChatSession], list[ContextItem]] = lambda session: []


@dataclass(frozen=True)
class MessageContext:
    """What an app sends to the model with a person's message, before their words."""

    # Returns what goes with this message. Called once a message, which keeps it. Sync, may use the ORM.
    items: Callable[[ChatSession, Message], list[ContextItem]]
    # Returns the text of these items. Called for every request that repeats the message: the same items must give the
    # same bytes for ever, or what the provider has cached and signed is not valid any more.
    render: Callable[[Sequence[ContextItem]], str]


@dataclass(frozen=True)
class ToolCommand:
    """A command that calls `tool` once, with all that follows it as the tool's one `argument`. No model is asked."""

    tool: str
    argument: str
    # What a list of commands says about it, and the answer when the tool has done it.
    label: Words
    done: Words


@dataclass(frozen=True)
class Detail:
    """Something that an app put into a request, for the details page: its name, its text, and its address."""

    name: str
    text: str = ""
    address: str = ""


@dataclass(frozen=True)
class SearchResult:
    """One thing that an app found for a search of the chat: its name, a piece of it as safe HTML, and its address."""

    name: str
    snippet: SafeString
    address: str


@dataclass(frozen=True)
class Extension:
    """Everything that one app brings to the chat. All callables are sync and may use the ORM."""

    # The app's own name: what it brings is kept and ordered by it.
    name: str
    tools: Sequence[Tool] = ()
    prompt_sections: Sequence[PromptSection] = ()
    # Returns in a short text what the sections depend on beside the session itself; when that changes, the session's
    # system prompt is built anew.
    prompt_condition: Callable[[ChatSession], str] | None = None
    message_context: MessageContext | None = None
    # By the word that calls it, such as /remember.
    commands: Mapping[str, ToolCommand] = field(default_factory=dict)
    # Returns what of the app went to the model with this person's message.
    details: Callable[[ChatSession, Message], list[Detail]] | None = None
    # Returns what this person may see and holds every one of the words (lower case, at least one), best first, at most
    # so many. Called while somebody types.
    search: Callable[[User, list[str], int], list[SearchResult]] | None = None
