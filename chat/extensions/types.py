"""The types of an extension: its parts, and the values that they take and return."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from django.db.models import Exists
from django.utils.safestring import SafeString

from chat.extensions.hooks import Hook
from chat.models import ChatSession, Message
from oneclaw.models import User
from oneclaw.reasons import Reason, verbatim
from oneclaw.text import StrOrPromise

# The field of a result that says how the marks of its passages are used. Where the model's server cites by itself, the
# passages are sent as search results, and without it.
MARKS_KEY = "marks"
# Default limit on the JSON of a call's arguments; a tool may set its own.
INPUT_MAX_BYTES = 64 * 1024


class ToolError(Exception):
    """The call had no effect. The model is sent `code`, which is stable, and `message`, one English sentence; the
    person's card shows `reason`, or the message when there is no reason."""

    def __init__(self, code: str, message: str, reason: Reason | None = None):
        super().__init__(message)
        self.code, self.message = code, message
        self.reason = reason or verbatim(message)


@dataclass(frozen=True)
class ToolCall:
    """One call that a model made, with its user and session. `id` is the API's tool_use id; together with `message_id`
    it identifies the call uniquely."""

    id: str
    name: str
    input: Mapping[str, Any]
    user: User
    session: ChatSession
    message_id: int | None = None
    # The marks of the passages of its result begin with the first number and continue after the second; (0, 0): the
    # result is not for an answer that cites.
    marks_after: tuple[int, int] = (0, 0)

    def with_mark(self, letter: str, number: int, result: Mapping[str, Any]) -> dict[str, Any]:
        """Return the passage `number` of the result, from 1, with the mark by which an answer cites it."""
        after, before = self.marks_after
        return {"mark": f"{letter}{after}-{before + number}", **result} if after else dict(result)


@dataclass(frozen=True)
class SentPassage:
    """A piece of what the model was sent that an answer may cite, by its `mark` ("m14-2").

    `label` names it for the model, for which the same result must always give the same bytes, and `title` for people.
    """

    mark: str
    label: str
    title: Reason
    text: str


@dataclass(frozen=True)
class ToolResult:
    """The result of a call: `content` for the model (a string or a JSON value), `summary` and `lines` for the person's
    card, and `undo`, the URL of a page where the person can undo the call. A POST by htmx to it undoes the call at
    once and returns the changed card.

    A summary or line is either literal text, such as a path, or a Reason, which is worded when the card is shown.
    """

    content: Any
    summary: str | Reason
    lines: Sequence[str | Reason] = ()
    is_error: bool = False
    undo: str = ""
    # The id of what the call made, in the tool's own numbering; the card looks up its later state by it (Tool.since).
    made: int | None = None
    # The URL of the place of each line, in the order of `lines`; "" or missing: none.
    addresses: Sequence[str] = ()
    # What the app keeps with the card for itself: a JSON object without text of the person, who may have it forgotten.
    kept: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PendingCall:
    """A call whose result takes longer than a thread may wait.

    `begin` is called once, in the event loop of the process that runs the turn, and returns what is awaited there for
    the result. Meanwhile the turn lends its slot to others, and the card shows `meanwhile`; that is also the result
    when the turn is stopped before.
    """

    meanwhile: ToolResult
    begin: Callable[[], Awaitable[ToolResult]]
    # Whether that may take more than a moment. If not, the turn keeps its slot.
    is_long: bool = True
    # What the chat adds to the lines of the card.
    lines: Sequence[Reason] = ()


class CallUpdate(TypedDict):
    """The later state of what a call made, which its card shows instead of the state at the end of the call."""

    # Replaces the heading of the card; "" keeps it.
    heading: str
    # Safe HTML shown below the card's lines, such as a question to the person.
    html: str
    can_undo: bool


@dataclass(frozen=True)
class Tool:
    """A tool that a model may call.

    `input_schema` is a JSON Schema object, against which arguments are checked before the call. `call` is sync, may use
    the ORM, and runs in a worker thread; it raises ToolError for a mistake of the model.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    call: Callable[[ToolCall], ToolResult | PendingCall]
    # Whether this session may use it; None: every session may.
    offered: Callable[[ChatSession], bool] | None = None
    # The headings of its card, by state (running, done, failed), or by the code of the Reason that its summary is.
    headings: Mapping[str, StrOrPromise] = field(default_factory=dict)
    # Returns the later state of what calls have made, by `ToolResult.made`. Sync, may use the ORM. The second argument
    # is the CSRF token for a form, or "" where the page sends the token itself.
    since: Callable[[Sequence[int], str], Mapping[int, CallUpdate]] | None = None
    # Whether its arguments and results come from a person's memory, so that other people are not shown them.
    about_memory: bool = False
    # Larger for a tool that reports by itself what is too long.
    input_max_bytes: int = INPUT_MAX_BYTES
    # Returns the passages of its result, a JSON object, that an answer may cite: those that have a mark. Pure.
    passages: Callable[[Mapping[str, Any]], list[SentPassage]] | None = None
    # Whether the model is sent long results whole, up to chat.context.results.WHOLE_MAX_CHARS.
    whole: bool = False
    # Whether its results are never shortened or emptied later, when the window becomes full (chat/compaction/prune.py).
    is_protected: bool = False
    # Whether it changes nothing, so that several calls of it may run at the same time.
    only_reads: bool = False
    # Its name where people turn it on and off.
    label: StrOrPromise = ""
    # The labels of its arguments and of the fields of its results on its card, by their names.
    field_labels: Mapping[str, StrOrPromise] = field(default_factory=dict)
    # Whether the heading of its card shows the first line in place of a summary that is no Reason.
    shows_first_line: bool = False
    # Whether it is offered in conversations that are shared with a space: there it must neither read nor write anything
    # of one person, whoever asks.
    for_spaces: bool = False
    # Whether it is offered only where an agent or a person has turned it on (Agent.tools_on, User.tools_on).
    is_optional: bool = False
    # Whether it reads the rest of long results by their addresses (chat/context/results.py).
    reads_results: bool = False
    # Whether it is offered only where no other tool reads long results, which reads what this one does, too. A head of
    # an earlier release may still define it, so a call of it is answered.
    is_spare: bool = False
    # The schema by which a head of an earlier release defines it: arguments that fit it are taken, too.
    earlier_schema: Mapping[str, Any] | None = None

    @property
    def is_for_others(self) -> bool:
        """Return whether others may read a call of it that was made before a conversation was shared."""
        return self.for_spaces and not self.about_memory


class ContextItem(TypedDict):
    """A piece of a document that an app gives to the model: stored as JSON, and rendered as text for each request."""

    # The kind of piece, an identifier of the app, which decides how it is rendered.
    kind: str
    path: str
    # The version of the document that the piece is from; None: not recorded.
    revision: int | None
    # The first and the last line in that version, counted from 1; empty: not recorded.
    lines: list[int]
    # Whole lines, also where the model was sent only a part of the first or last line.
    text: str
    # [start, end) of the characters of `text` that the model was sent; without it, all.
    shown: NotRequired[list[int]]
    # The number of characters of the document omitted between this piece and the next.
    left_out: NotRequired[int]
    # Whether the first or the last line of `text` may be a part of a longer line of the document.
    cut: NotRequired[bool]
    # The heading above the piece in its document.
    heading: NotRequired[str]
    # The name of the shared space that the piece is from, as it was then; missing: the session's own memory.
    whose: NotRequired[str]
    # By what the app's search found the piece, and how likely it answers the message, from 0 to 1; not rendered.
    found_by: NotRequired[list[str]]
    score: NotRequired[float]
    # By which an answer cites the piece; only if it may.
    mark: NotRequired[str]
    # Which version of the words around it is rendered, so that what was sent is sent again; missing: the first.
    wording: NotRequired[int]


@dataclass(frozen=True)
class PromptSection:
    """A stable part of the system prompt, rendered once for a session and stored with it."""

    name: str
    # The sort key among the sections of all apps: 100 agent, 200 memory, 300 guidelines.
    order: int
    # Returns the text for a session and its items, or "". Sync, may use the ORM.
    render: Callable[[ChatSession, Sequence[ContextItem]], str]
    # Returns everything that the text quotes from documents. Sync, may use the ORM.
    items: Callable[[ChatSession], list[ContextItem]] = lambda session: []


@dataclass(frozen=True)
class MessageContext:
    """Context that an app sends to the model before the text of a person's message."""

    # Returns the items for this message. Called once per message; the result is stored with it. Sync, may use the ORM.
    items: Callable[[ChatSession, Message], list[ContextItem]]
    # Returns the text of these items. Called for every request that contains the message: the same items must always
    # give the same bytes, or the provider's cache and signatures become invalid.
    render: Callable[[Sequence[ContextItem]], str]
    # Returns the passages among these items that an answer may cite. Pure.
    passages: Callable[[Sequence[ContextItem]], list[SentPassage]] = lambda items: []
    # Returns the items of those of these messages, by their numbers, of which some may not be sent any more, without
    # them. Called at the start of each turn. Sync, may use the ORM.
    without_lost: Callable[[ChatSession, Mapping[int, list[ContextItem]]], dict[int, list[ContextItem]]] | None = None
    # Whether a session can have any items: a condition on its row, which is read together with it. None: always.
    may_have: Exists | None = None


# How the ids of calls begin that a person's command has made, and no model.
COMMAND_CALL_PREFIX = "command_"


@dataclass(frozen=True)
class ToolCommand:
    """A command that calls `tool` once, with the text after the command as its only `argument`, and asks no model."""

    tool: str
    argument: str
    # Its description in the list of commands, and the answer after the tool succeeded.
    label: StrOrPromise
    done: StrOrPromise


@dataclass(frozen=True)
class Detail:
    """Something that memory put into a request, for the details page: name, text and URL."""

    name: str
    text: str = ""
    address: str = ""


@dataclass(frozen=True)
class FinishedCall:
    """A tool call of an answer: the name of its tool, its arguments, the result as the model read it, and what the tool
    keeps with its card (`ToolResult.kept` and `ToolResult.made`)."""

    name: str
    input: Mapping[str, Any]
    result: str
    is_error: bool = False
    kept: Mapping[str, Any] = field(default_factory=dict)
    made: int | None = None


@dataclass(frozen=True)
class FinishedAnswer:
    """An answer that has ended, with what memory gave to the model for it.

    `question` is the person's message, `answer` the text of the answer in all its parts, `prompt_items` are memory's
    items in the system text, `message_items` those sent with the message, `calls` the answer's tool calls, and `cited`
    the marks of the passages that it cites.
    """

    question: str
    answer: str
    prompt_items: Sequence[ContextItem] = ()
    message_items: Sequence[ContextItem] = ()
    calls: Sequence[FinishedCall] = ()
    cited: frozenset[str] = frozenset()


class Quote(TypedDict):
    """Hold what is quoted from memory below an answer: one line that the answer rests on, cut at its end if it is long.

    `path` is the address by which it may be lost (Memory.lost_addresses), "" of the own memory. `is_own` says whether
    the owner of the conversation said it, `day` on which day in ISO 8601, or "", and `title` which file it is of, or
    "".
    """

    text: str
    path: str
    is_own: bool
    day: str
    title: str


class AnswerLine(TypedDict, total=False):
    """Hold what is stored for the line under an answer: how many memories and passages of documents it has
    used, how many it has only looked at, how many it saved and what their calls made, and what it rests on most."""

    used: int
    files: int
    looked: int
    saved: int
    made: list[int]
    quote: Quote


@dataclass(frozen=True)
class WordedLine:
    """The quiet line under an answer in the reader's language: a quotation or "", the words after it or instead of it,
    the page that it opens, what was saved or "", and the address that takes that back."""

    quote: str
    words: str
    address: str
    saved: str = ""
    undo: str = ""


@dataclass(frozen=True)
class SearchResult:
    """One result that an app found for a search of the chat: name, snippet as safe HTML, and URL."""

    name: str
    snippet: SafeString
    address: str


@dataclass(frozen=True)
class Mention:
    """Something that a person may name in a message: a sign with a name, such as "$release-notes", and what it is."""

    name: str
    about: str


@dataclass(frozen=True)
class WaitingItems:
    """How many items of memory wait for a person, at least one, and the URL of the page that lists them."""

    count: int
    address: str


@dataclass(frozen=True)
class Remains:
    """What memory keeps of conversations that were deleted: one sentence, and the page that offers to remove it too."""

    reason: Reason
    address: str


@dataclass(frozen=True)
class Pick:
    """A document that may be added to a message: its `key` in memory, its name, a few words about it, and its size in
    bytes."""

    key: str
    name: str
    about: str
    size: int


@dataclass(frozen=True)
class PickingScope:
    """For whom and where a document is picked: in `session`, None before its first message, then in the space with this
    id, if any, in which the conversation is to begin."""

    user: User
    session_id: UUID
    session: ChatSession | None = None
    space_id: int | None = None


@dataclass(frozen=True)
class SpaceTab:
    """One tab of the pages of a space: a page of its own, whose URL takes the space's id."""

    # Tabs stand in this order: conversations are 100, members 900.
    order: int
    # Names the tab to the page that shows it.
    name: str
    label: StrOrPromise
    # The name of the URL pattern, which takes `space_id`.
    url_name: str


@dataclass(frozen=True)
class Extension:
    """Everything that one app brings to the chat. All callables are sync and may use the ORM."""

    # The app's name: the key under which its data is stored, and the sort key of extensions.
    name: str
    tools: Sequence[Tool] = ()
    prompt_sections: Sequence[PromptSection] = ()
    message_context: MessageContext | None = None
    # {word: command}, such as "/remember".
    commands: Mapping[str, ToolCommand] = field(default_factory=dict)
    # Returns results visible to this person that contain every one of the words (lower case, at least one), best first,
    # at most the given number. Called on every keystroke.
    search: Callable[[User, list[str], int], list[SearchResult]] | None = None
    # Returns sentences that are kept with a summary of a session's messages, such as what is still being done.
    open_work: Callable[[ChatSession], Sequence[str]] | None = None
    # Handlers that may change or refuse what the chat does, each under a contract (chat/extensions/hooks.py).
    hooks: Sequence[Hook] = ()
    # Whether the app's sections and context of messages may hold anything of a memory: they are not asked for where the
    # model's server must not be sent that. Of its tools, `Tool.about_memory` says so.
    holds_memory: bool = True
    # Whether the app's sections and context of messages are asked for in conversations that are shared with a space:
    # there they must hold nothing of one person.
    for_spaces: bool = False
