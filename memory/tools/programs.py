"""Save what a program wants remembered. Its text is never the person's own word: it waits for a yes, unless the grant
says that it saves without asking."""

from dataclasses import dataclass
from typing import Literal

from django.db import transaction
from django.utils.translation import gettext

from memory.access.programs import ProgramAccess
from memory.documents.write import Author, Source
from memory.models import MemoryDocument, MemoryRevision, ProgramSave, Proposal, Suggestion
from memory.policy import tombstones
from memory.policy.paths import CURATED
from memory.policy.same_words import occurs_in
from memory.policy.secrets import masked
from memory.policy.suggested import text_hash
from memory.policy.tombstones import LineForgottenError
from memory.tools import proposals
from memory.tools.curated import append_operation, save_entry
from memory.trust import suggestions
from memory.trust.rule import SourceText
from oneclaw.locks import hold
from oneclaw.models import ApiKey, Space
from oneclaw.people.programs.grants import Level
from oneclaw.reasons import Reason
from oneclaw.text import UserFacingError, replace_unstorable

# Unicode code points of one entry.
CONTENT_MAX_CHARS = 5_000
# Texts of programs that may wait in one space.
WAITING_MAX_COUNT = 200
State = Literal["saved", "waiting", "proposed", "declined", "already_known"]


class BadContentError(UserFacingError):
    """The text is empty or too long."""

    @property
    def sentence(self) -> str:
        """Return the sentence for the program."""
        return f"A memory has 1 to {CONTENT_MAX_CHARS} characters."


class TooManyWaitError(UserFacingError):
    """WAITING_MAX_COUNT texts of programs wait in the space."""

    @property
    def sentence(self) -> str:
        """Return the sentence for the program."""
        return f"{WAITING_MAX_COUNT} texts of programs wait already. Ask the person to look through their inbox."


class RequestIdUsedError(UserFacingError):
    """The program has used this request id for another text."""

    @property
    def sentence(self) -> str:
        """Return the sentence for the program."""
        return "This request_id was already used for another text or another space."


@dataclass(frozen=True)
class SaveOutcome:
    """What became of a text that a program saved; `masked` are the kinds of secrets that were left out."""

    state: State
    row: ProgramSave | None = None
    masked: tuple[str, ...] = ()


def program_name(key: ApiKey) -> str:
    """Return the name of a program for its person: of its key or sign-in, with what it called itself and its address.
    Pure."""
    about = " · ".join(part for part in (key.program, key.address or "") if part)
    return f"{key.name} ({about})" if about else key.name


@transaction.atomic
def save(access: ProgramAccess, space: Space, content: str, request_id: str = "") -> SaveOutcome:
    """Save `content`, without its secrets, in the curated memory of `space`, or let it wait there.

    The same `request_id` of a program saves once. Raise ScopeError when the program may only read, LineForgottenError
    for a forgotten line, BadContentError, RequestIdUsedError, and what the write path raises.
    """
    access.check(space, Level.PROPOSE)
    content, secret = masked(replace_unstorable(content).strip())
    request_id = replace_unstorable(request_id)
    if not content or len(content) > CONTENT_MAX_CHARS:
        raise BadContentError
    if tombstones.of_space(space.pk).is_in_text(content):
        raise LineForgottenError(CURATED)
    known = text_hash(space.pk, content)
    hold(f"save of program {access.key.pk}")
    earlier = ProgramSave.objects.filter(key=access.key)
    row = earlier.filter(request_id=request_id).first() if request_id else earlier.filter(text_hash=known).last()
    if row is not None and row.text_hash != known:
        raise RequestIdUsedError
    if row is not None and (request_id or state_of(row) in ("waiting", "proposed", "declined")):
        return SaveOutcome(state_of(row), row, tuple(secret))
    document = MemoryDocument.objects.present().filter(space=space, path=CURATED).first()
    if document is not None and occurs_in(content, document.content):
        return SaveOutcome("already_known", None, tuple(secret))
    made = _made(access, space, content)
    row = ProgramSave.objects.create(key=access.key, request_id=request_id, text_hash=known, **made)
    return SaveOutcome(state_of(row), row, tuple(secret))


def state_of(row: ProgramSave) -> State:
    """Return what became of the text of `row`: once it is answered or gone, the document has it or not."""
    if row.proposal is not None:
        return "proposed" if row.proposal.is_waiting else _answered(row.proposal.state == Proposal.State.ACCEPTED)
    if row.suggestion is not None:
        is_waiting = row.suggestion.is_waiting
        return "waiting" if is_waiting else _answered(row.suggestion.status == Suggestion.Status.ACCEPTED)
    return _answered(row.revision is not None)


def _answered(is_saved: bool) -> State:
    return "saved" if is_saved else "declined"


def _made(
    access: ProgramAccess, space: Space, content: str
) -> dict[str, Suggestion | Proposal | MemoryRevision | None]:
    """Make what `content` becomes: a change, or what waits for a yes: the person's own where it is enough, and that of
    a second person otherwise."""
    # In a shared space others read it: neither what its person calls it, nor where it runs.
    name = program_name(access.key) if space.is_private else access.key.program or gettext("of a member")
    if access.levels[space] == Level.WRITE:
        reason = Reason("change.program_saved", {"name": name})
        # Its lines are foreign: what they say is not the person's own word in what a model is sent.
        author = Author(Source.API, access.user, reason=reason, is_foreign=True)
        # The text as it was is nowhere, so there is nothing to ask about a masked secret.
        return {"revision": save_entry(space, append_operation(access.user, content), author, ask=False)}
    if space.is_private or proposals.writes_directly(access.user, space):
        waiting = Suggestion.objects.waiting().filter(space=space, kind=Suggestion.Kind.PROGRAM)
        if waiting.count() >= WAITING_MAX_COUNT:
            raise TooManyWaitError
        source = SourceText(Suggestion.Kind.PROGRAM, name, "")
        return {"suggestion": suggestions.wait(space, CURATED, content, source)}
    return {"proposal": proposals.propose(space, content, access.user, Proposal.Kind.API, program=name)}
