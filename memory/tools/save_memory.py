"""Define the tool save_memory, which adds one entry to MEMORY.md: deduplicated and with secrets masked. A worker
compares it with older lines afterwards."""

import logging
from typing import Any

from django.db import Error as DatabaseFailure
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from chat.extensions import Tool, ToolCall, ToolError, ToolResult
from chat.turns.tools import is_lock_timeout, parameter_missing
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.documents import write
from memory.documents.calls import Made, operation_key
from memory.documents.write import Author, Source
from memory.models import MemoryDocument, MemoryRevision, Proposal, Suggestion
from memory.policy import tombstones
from memory.policy.paths import CURATED
from memory.policy.same_words import occurs_in
from memory.policy.secrets import are_asked, masked
from memory.policy.tombstones import LineForgottenError
from memory.prompt.items import name_in_prompt
from memory.tools import proposals, saved
from memory.tools.curated import append_operation, save_entry
from memory.trust import suggestions
from memory.trust.rule import source_of
from memory.trust.sources import sent_in_turn
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError

logger = logging.getLogger(__name__)

# Unicode code points of one entry.
CONTENT_MAX_CHARS = 5000
# Bytes of JSON that a call may have, so that an entry that is too long gets an error about its length.
ARGUMENTS_MAX_BYTES = 8 * 1024 * 1024
# The code of the summary of a call that saved nothing, because the words are there.
ALREADY_KNOWN = "memory.already_known"
# The code of the summary of a call whose text waits for the person's yes.
WAITS = "memory.waits"
# The code of the summary of a call whose text waits for the yes of another member of the space.
PROPOSED = "memory.proposed"
# The error for the model when it tries to save a forgotten line.
FORGOTTEN = (
    "Nothing was saved: the person has had this forgotten. If they want it remembered again, they can write it into "
    "MEMORY.md themselves, on the memory page."
)


def save_memory(call: ToolCall) -> ToolResult:
    """Append the content of `call` to MEMORY.md of the session's own space, with secrets masked.

    Idempotent for the same call and for the same words. Raise ToolError when nothing can be saved.
    """
    content = call.input["content"]
    if not content.strip():
        raise parameter_missing("content")
    if len(content) > CONTENT_MAX_CHARS:
        reason = Reason("memory.too_long", {"most": CONTENT_MAX_CHARS})
        raise ToolError("validation_error", "Parameter 'content' must be 5,000 characters or less.", reason)
    content, secret = masked(content)
    author = Author(
        Source.TOOL,
        call.user,
        message_id=call.message_id,
        reason=Reason("change.saved"),
        operation_key=operation_key(call.message_id, call.id),
    )
    try:
        access = access_of(call.session, call.user)
        space = access.home.space
        if access.is_of_space:
            return save_to_space(call, access, content, author, secret)
        if tombstones.of_space(space.pk).is_in_text(content):
            raise LineForgottenError(CURATED)
        if suggestion := suggested(call, access, content):
            return waiting(suggestion, content)
        revision = save_entry(space, append_operation(call.user, content), author, ask=are_asked(secret))
    except LineForgottenError as error:
        raise ToolError("forgotten", FORGOTTEN, Reason("memory.line_forgotten")) from error
    except (write.DocumentError, InvalidTextError) as error:
        with translation.override("en"):
            raise ToolError("save_failed", f"Failed to save memory: {error}", refusal_of(error)) from error
    except (DatabaseFailure, OSError) as error:
        if is_lock_timeout(error):
            message = "Failed to save memory: something else is being written there. Call it again."
            raise ToolError("save_failed", message, Reason("call.busy")) from error
        logger.exception("A memory could not be saved.")
        message = "Failed to save memory: the database did not take it."
        raise ToolError("save_failed", message, Reason("memory.not_stored")) from error
    if revision is None:
        return already_known(content)
    return saved_result(revision, content, secret)


def saved_result(revision: MemoryRevision, content: str, secret: list[str], space: Space | None = None) -> ToolResult:
    """Return the result of a call that has made `revision`, in a shared `space` if there is one; `secret` are the kinds
    of what was masked."""
    result: dict[str, Any] = {"saved": True, "path": CURATED}
    lines: list[str | Reason] = [content]
    if secret:
        kinds = " and ".join(secret)
        asked = ", and ask whether it was meant to be kept" if are_asked(secret) else ""
        result["masked"] = f"A {kinds} was left out. Tell the person{asked}."
        lines.append(Reason("memory.secret_left_out", {"kinds": secret}))
    if space is not None:
        result["memory"] = name_in_prompt(space.name)
        lines.append(Reason("memory.saved_to_space", {"space": space.name}))
    return ToolResult(
        result,
        CURATED,
        lines,
        undo=reverse("memory_undo", args=[revision.pk]),
        made=Made("revision", revision.pk).on_card,
    )


def save_to_space(call: ToolCall, access: MemoryAccess, content: str, author: Author, secret: list[str]) -> ToolResult:
    """Save `content` to the memory of the space with which the session is shared, or propose it for that when a second
    person is needed there. Raise ToolError when the person whose turn it is may only read it."""
    space = access.home.space
    if not access.may_change:
        said = "Nothing was saved: this person may read the memory of the space, and not change it."
        raise ToolError("read_only", said, Reason("memory.read_only_space", {"space": space.name}))
    if tombstones.of_space(space.pk).is_in_text(content):
        raise LineForgottenError(CURATED)
    if proposals.writes_directly(call.user, space):
        if suggestion := suggested(call, access, content):
            return waiting(suggestion, content)
        revision = save_entry(space, append_operation(call.user, content), author, ask=are_asked(secret))
        return saved_result(revision, content, secret, space) if revision is not None else already_known(content)
    whose, others = words_of_members(call, access, content)
    try:
        row = proposals.propose(
            space, content, whose, Proposal.Kind.ASSISTANT, message_id=call.message_id, writers=others
        )
    except proposals.AlreadyKnownError:
        return already_known(content)
    except proposals.ProposalError as error:
        raise ToolError("save_failed", f"Nothing was proposed: {error}", Reason("memory.not_stored")) from error
    said = "Another owner or editor of the space has to approve it. Tell the person."
    result = {"saved": False, "proposed": True, "memory": name_in_prompt(space.name), "because": said}
    return ToolResult(result, Reason(PROPOSED, {"space": space.name}), [content], kept={"proposal": row.pk})


def words_of_members(call: ToolCall, access: MemoryAccess, content: str) -> tuple[User, list[int]]:
    """Return the member whose words `content` holds, and the ids of all others whose words, files or lines it may hold:
    encoded text does not show whose it is."""
    sent = sent_in_turn(access, call.user, call.message_id)
    source = source_of(content, sent)
    if source is None:
        return call.user, []
    others = {each.writer for each in sent.foreign if each.writer is not None} - {call.user.pk}
    return User.objects.filter(pk=source.writer or 0).first() or call.user, sorted(others)


def suggested(call: ToolCall, access: MemoryAccess, content: str) -> Suggestion | None:
    """Return the suggestion of `content` when it did not come from the person; None when it may be saved."""
    space = access.home.space
    document = MemoryDocument.objects.present().filter(space=space, path=CURATED).first()
    if document is not None and occurs_in(content, document.content):
        return None
    source = source_of(content, sent_in_turn(access, call.user, call.message_id))
    if source is None:
        return None
    return suggestions.wait(space, CURATED, content, source, call.session, call.message_id)


def waiting(suggestion: Suggestion, content: str) -> ToolResult:
    """Return the result of a call whose text waits for the person's yes, or was declined before."""
    if suggestion.status == Suggestion.Status.DECLINED:
        result = {"saved": False, "declined": "The person has declined this before. Do not save it again."}
        return ToolResult(result, Reason("memory.declined"), [content])
    said = "It did not come from the person, so it waits in their inbox for a yes. Tell them."
    result = {"saved": False, "waiting": True, "source": suggestion.get_kind_display(), "because": said}
    reason = Reason(WAITS, {"kind": suggestion.kind, "name": suggestion.name})
    return ToolResult(result, reason, [content], made=Made("suggestion", suggestion.pk).on_card)


def already_known(content: str) -> ToolResult:
    """Return the result of a call that saves nothing, because MEMORY.md already has the words.

    Daily logs do not count: a line that the person wants kept belongs into the curated memory, too.
    """
    summary = Reason(ALREADY_KNOWN, {"path": CURATED})
    return ToolResult({"saved": False, "already_known": True, "path": CURATED}, summary, [content])


def refusal_of(error: write.DocumentError | InvalidTextError) -> Reason:
    """Return the reason that the card shows when MEMORY.md cannot take an entry."""
    if isinstance(error, write.DocumentTooLargeError):
        return Reason("memory.document_too_large", error.named)
    if isinstance(error, InvalidTextError):
        return Reason("memory.unstorable", {"path": CURATED})
    return Reason("memory.not_stored")


SAVE = Tool(
    "save_memory",
    "Save important information to long-term memory (MEMORY.md). Use this when the user asks you to remember "
    "something, or when you identify critical information that should persist across conversations. Write one "
    "self-contained sentence in their language, with names and full dates, and without secrets.",
    {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
    save_memory,
    offered=lambda session: access_of(session).saves_to is not None,
    for_spaces=True,
    about_memory=True,
    label=_("Save to memory"),
    headings={
        "running": _("Saving to memory …"),
        "done": _("Saved to memory"),
        ALREADY_KNOWN: _("Nothing new to save"),
        WAITS: _("Waiting for your yes"),
        PROPOSED: _("Proposed to the space"),
        "memory.declined": _("Not saved"),
        "failed": _("Could not save to memory"),
    },
    input_max_bytes=ARGUMENTS_MAX_BYTES,
    since=saved.since,
    field_labels={"content": _("What to remember")},
    shows_first_line=True,
)
