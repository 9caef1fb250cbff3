"""The hook points of the chat: what a handler is given, and the contract that its answer must fulfil.

Each point has one frozen dataclass. A handler is given one and returns one, made with `dataclasses.replace`; which
fields may differ is declared by its Hook, and `check` says which values they may have. run_hooks.py asks the handlers.
"""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self
from uuid import UUID

from jsonschema import Draft202012Validator

from oneclaw.text import UNSTORABLE

# How long one handler may take: usually, and at a point that does not go on without its answer.
HANDLER_SECONDS, POLICY_SECONDS = 2.0, 5.0
# The sizes of what handlers return.
CONTEXT_MAX_FILES, CONTEXT_FILE_MAX_CHARS, PATH_MAX_CHARS = 40, 1024 * 1024, 200
ADDED_TEXT_MAX_CHARS, SENTENCE_MAX_CHARS = 10_000, 500
RESULT_MAX_BYTES = 1024 * 1024
FOCUS_MAX_CHARS, KEPT_MAX_STRINGS, KEPT_STRING_MAX_CHARS = 2_000, 60, 400
# A path stands in quotation marks in a tag of the prompt.
PATH = re.compile(r'[^\x00-\x1f<>"]+')

Verdict = Literal["go", "wait", "veto"]
# From the loosest to the strictest.
VERDICTS: tuple[Verdict, ...] = ("go", "wait", "veto")


class ContractError(Exception):
    """The answer of a handler does not fulfil the contract: `field` ("" for all of it) and the broken rule."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}" if field else rule)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class HookValue:
    """What a handler is given and returns: plain data with ids. A handler that needs a row reads it."""

    POINT: ClassVar[str] = ""
    # The fields that handlers may declare to change.
    CHANGEABLE: ClassVar[frozenset[str]] = frozenset()
    SECONDS: ClassVar[float] = HANDLER_SECONDS
    # Whether the point goes on as if refused when a handler has no valid answer.
    FAILS_CLOSED: ClassVar[bool] = False
    # Whether a handler may be registered with `must`.
    MAY_BE_MUST: ClassVar[bool] = False
    ON_FAILURE: ClassVar[str] = "skipped"

    user_id: int
    session_id: UUID

    @property
    def is_final(self) -> bool:
        """Return whether no further handler is asked."""
        return False

    def check(self, before: Self) -> None:
        """Check the fields that a handler changed since `before`. Raise ContractError."""


@dataclass(frozen=True)
class ContextFile:
    """One file of a system prompt."""

    path: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ContextFiles(HookValue):
    """The files that the system text of a conversation will hold, in order, when it is made.

    A file of a document keeps its link to it as long as path and text stay as they are.
    """

    POINT: ClassVar[str] = "context_files"
    CHANGEABLE: ClassVar[frozenset[str]] = frozenset({"files"})

    files: tuple[ContextFile, ...]

    def check(self, before: Self) -> None:
        """Check that the files have different paths, and text that fits."""
        check_type("files", self.files, tuple)
        if len(self.files) > CONTEXT_MAX_FILES:
            raise ContractError("files", f"there are more than {CONTEXT_MAX_FILES}")
        for file in self.files:
            check_type("files", file, ContextFile)
            check_text("files", file.path, PATH_MAX_CHARS)
            check_text("files", file.text, CONTEXT_FILE_MAX_CHARS)
            if not PATH.fullmatch(file.path):
                raise ContractError("files", "a path is empty, or has a character that a path may not have")
        if len({file.path for file in self.files}) < len(self.files):
            raise ContractError("files", "two have the same path")


@dataclass(frozen=True, kw_only=True)
class BeforeAgentStart(HookValue):
    """A turn before its first request to the model.

    `text` is sent before the person's message, in this and in every later request. Once a request was made with the
    message it stays as it was, also when the message is answered again. `model` is for this turn only, one of `models`.
    `refusal` is a sentence for the person; with one, the turn fails.
    """

    POINT: ClassVar[str] = "before_agent_start"
    CHANGEABLE: ClassVar[frozenset[str]] = frozenset({"text", "model", "refusal"})

    turn_id: int
    message_id: int
    message_text: str
    # The slug of the agent.
    agent: str
    models: tuple[str, ...]
    model: str
    text: str = ""
    refusal: str = ""

    @property
    def is_final(self) -> bool:
        """Return whether the turn is refused."""
        return bool(self.refusal)

    def check(self, before: Self) -> None:
        """Check that text was only appended, and that the model is one of those offered."""
        check_text("text", self.text, ADDED_TEXT_MAX_CHARS)
        if not self.text.startswith(before.text):
            raise ContractError("text", "text of an earlier handler was removed or changed")
        if self.model != before.model and self.model not in self.models:
            raise ContractError("model", "it is not one of `models`")
        check_sentence("refusal", self.refusal)


@dataclass(frozen=True, kw_only=True)
class BeforeToolCall(HookValue):
    """A tool call of the model, whose arguments are valid, before the tool runs.

    `refusal` is an English sentence for the model, which also the person is shown; with one, the tool does not run.
    """

    POINT: ClassVar[str] = "before_tool_call"
    CHANGEABLE: ClassVar[frozenset[str]] = frozenset({"arguments", "refusal"})
    SECONDS: ClassVar[float] = POLICY_SECONDS
    FAILS_CLOSED: ClassVar[bool] = True
    ON_FAILURE: ClassVar[str] = "the call is refused"

    # The answer that calls the tool, and the API's id of the call.
    message_id: int
    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    # The JSON Schema of the arguments, and the most bytes of their JSON.
    input_schema: Mapping[str, Any] = field(repr=False)
    input_max_bytes: int
    refusal: str = ""

    @property
    def is_final(self) -> bool:
        """Return whether the call is refused."""
        return bool(self.refusal)

    def check(self, before: Self) -> None:
        """Check that the arguments are JSON that fits the tool's schema and size limit."""
        check_type("arguments", self.arguments, dict)
        if len(json_bytes("arguments", self.arguments)) > self.input_max_bytes:
            raise ContractError("arguments", f"they have more than {self.input_max_bytes:,} bytes")
        for error in Draft202012Validator(self.input_schema).iter_errors(self.arguments):
            # Without the values, which may be private.
            where = ".".join(map(str, error.absolute_path)) or "all"
            raise ContractError("arguments", f"the schema of the tool refuses them: “{error.validator}” at {where}")
        check_sentence("refusal", self.refusal)


@dataclass(frozen=True, kw_only=True)
class ToolResultPersist(HookValue):
    """The result of a tool call, as it will be stored and sent to the model.

    `is_untrusted` marks it as text of others, which is quoted, so that the model follows no instructions in it.
    """

    POINT: ClassVar[str] = "tool_result_persist"
    CHANGEABLE: ClassVar[frozenset[str]] = frozenset({"content", "is_untrusted"})
    MAY_BE_MUST: ClassVar[bool] = True
    ON_FAILURE: ClassVar[str] = "the result is kept as it was, or withheld if the hook is `must`"

    message_id: int
    call_id: str
    tool: str
    is_error: bool
    content: str
    is_untrusted: bool = False

    def check(self, before: Self) -> None:
        """Check that the content is text of at most RESULT_MAX_BYTES, and that an untrusted result stays one."""
        if self.content != before.content:
            check_text("content", self.content, RESULT_MAX_BYTES)
            if len(self.content.encode()) > RESULT_MAX_BYTES:
                raise ContractError("content", f"it has more than {RESULT_MAX_BYTES:,} bytes")
        check_type("is_untrusted", self.is_untrusted, bool)
        if before.is_untrusted and not self.is_untrusted:
            raise ContractError("is_untrusted", "an earlier handler has set it")


@dataclass(frozen=True, kw_only=True)
class BeforeCompaction(HookValue):
    """Messages of a conversation, up to `through_seq`, before a summary of them is made for the model.

    `verdict` is go, wait (to be asked again) or veto, with an `explanation` for the person. `focus` is what the summary
    should keep especially, `must_keep` what it must hold word for word.
    """

    POINT: ClassVar[str] = "before_compaction"
    CHANGEABLE: ClassVar[frozenset[str]] = frozenset({"verdict", "explanation", "focus", "must_keep"})
    SECONDS: ClassVar[float] = POLICY_SECONDS
    FAILS_CLOSED: ClassVar[bool] = True
    ON_FAILURE: ClassVar[str] = "the summary waits, then it is not made; made all the same if the window is full"

    through_seq: int
    # A ContextRound.Reason.
    reason: str
    verdict: Verdict = "go"
    explanation: str = ""
    focus: str = ""
    must_keep: tuple[str, ...] = ()

    @property
    def is_final(self) -> bool:
        """Return whether the summary is not made."""
        return self.verdict == "veto"

    def check(self, before: Self) -> None:
        """Check that the verdict was not loosened, and that focus and strings were only added."""
        if self.verdict not in VERDICTS:
            raise ContractError("verdict", f"it is none of {', '.join(VERDICTS)}")
        if VERDICTS.index(self.verdict) < VERDICTS.index(before.verdict):
            raise ContractError("verdict", "an earlier handler was stricter")
        check_sentence("explanation", self.explanation)
        if self.verdict == "veto" and not self.explanation:
            raise ContractError("explanation", "a veto needs one")
        check_text("focus", self.focus, FOCUS_MAX_CHARS)
        if not self.focus.startswith(before.focus):
            raise ContractError("focus", "text of an earlier handler was removed or changed")
        check_type("must_keep", self.must_keep, tuple)
        if self.must_keep[: len(before.must_keep)] != before.must_keep:
            raise ContractError("must_keep", "strings of an earlier handler were removed or changed")
        if len(self.must_keep) > KEPT_MAX_STRINGS:
            raise ContractError("must_keep", f"there are more than {KEPT_MAX_STRINGS}")
        for kept in self.must_keep:
            check_text("must_keep", kept, KEPT_STRING_MAX_CHARS)
            if not kept.strip():
                raise ContractError("must_keep", "one is blank")


@dataclass(frozen=True, kw_only=True)
class AfterCompaction(HookValue):
    """A summary that has replaced the messages up to `through_seq` for the model. Handlers return None."""

    POINT: ClassVar[str] = "after_compaction"
    ON_FAILURE: ClassVar[str] = "logged"

    through_seq: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class TurnFinished(HookValue):
    """A turn that has ended as `status` (complete, stopped, interrupted, failed). Handlers return None."""

    POINT: ClassVar[str] = "turn_finished"
    ON_FAILURE: ClassVar[str] = "logged"

    turn_id: int
    # Its last answer.
    message_id: int
    status: str
    # The protocol code of the failure, or "".
    error_code: str


# In the order in which a conversation meets them.
POINTS: Mapping[str, type[HookValue]] = {
    kind.POINT: kind
    for kind in (
        ContextFiles,
        BeforeAgentStart,
        BeforeToolCall,
        ToolResultPersist,
        TurnFinished,
        BeforeCompaction,
        AfterCompaction,
    )
}


@dataclass(frozen=True)
class Hook:
    """One handler at one point, and the fields that it changes.

    `handler` is sync, is given the dataclass of the point, and returns another one; at a point without changeable
    fields it returns None. It runs in a thread of its own and may use the ORM. Handlers are asked in the order of
    `order`, then of `name`, which is unique at its point.
    """

    point: str
    handler: Callable[[Any], Any]
    name: str
    order: int = 100
    changes: Set[str] = frozenset()
    # At tool_result_persist: whether a result is withheld when the handler has no valid answer.
    must: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError when the hook can never work."""
        kind = POINTS.get(self.point)
        if kind is None:
            raise ValueError(f"The hook {self.name} is at “{self.point}”, which is none of {', '.join(POINTS)}.")
        if not self.name or inspect.iscoroutinefunction(self.handler):
            raise ValueError(f"A hook at {self.point} needs a name and a sync handler.")
        if isinstance(self.changes, str) or not set(self.changes) <= kind.CHANGEABLE:
            known = ", ".join(sorted(kind.CHANGEABLE)) or "nothing"
            raise ValueError(f"The hook {self.name} at {self.point} may declare a set of: {known}.")
        if self.must and not kind.MAY_BE_MUST:
            raise ValueError(f"The hook {self.name}: there is no `must` at {self.point}.")

    @property
    def kind(self) -> type[HookValue]:
        """Return the dataclass of its point."""
        return POINTS[self.point]

    @property
    def fails_closed(self) -> bool:
        """Return whether its point goes on as if refused when the handler has no valid answer."""
        return self.must or self.kind.FAILS_CLOSED


def check_type(name: str, value: object, kind: type) -> None:
    """Raise ContractError unless `value` is of the type `kind` itself."""
    if type(value) is not kind:
        raise ContractError(name, f"it is of the type {type(value).__name__}, not {kind.__name__}")


def check_text(name: str, text: object, max_chars: int) -> None:
    """Raise ContractError unless `text` is text that can be stored, of at most `max_chars` characters."""
    if type(text) is not str:
        raise ContractError(name, f"it is of the type {type(text).__name__}, not str")
    if len(text) > max_chars:
        raise ContractError(name, f"it has more than {max_chars:,} characters")
    if UNSTORABLE.search(text):
        raise ContractError(name, "it has characters that cannot be stored")


def check_sentence(name: str, text: object) -> None:
    """Raise ContractError unless `text` is "" or a sentence in one line."""
    check_text(name, text, SENTENCE_MAX_CHARS)
    if text and not str(text).strip():
        raise ContractError(name, "it is blank")


def json_bytes(name: str, value: object) -> bytes:
    """Return `value` as JSON. Raise ContractError when it is something else than JSON."""
    try:
        text = json.dumps(value, allow_nan=False)
        if json.loads(text) != value:
            raise ContractError(name, "it changes when it is written as JSON")
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(name, "it is not JSON") from error
    return text.encode()
