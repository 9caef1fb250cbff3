"""Propose lines for the curated memory of a shared space, and accept them: then they stand there with both names.

A line of an owner or editor needs no second person where the space does not ask for one, or has no other owner or
editor. Everybody else's line waits.
"""

from collections.abc import Sequence

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from memory.access.rights import may_edit, may_write
from memory.documents import write
from memory.documents.write import Author, Replace, Source
from memory.models import MemoryDocument, MemoryRevision, Proposal
from memory.policy import tombstones
from memory.policy.paths import AGENTS, CURATED
from memory.policy.same_words import occurs_in
from memory.policy.secrets import masked
from memory.policy.tombstones import LineForgottenError
from memory.prompt.context import FILE_MAX_CHARS
from memory.tools.curated import append_operation, save_entry
from memory.trust import proposals
from oneclaw.models import Space, SpaceMember, SpaceRole, User, clock
from oneclaw.reasons import Reason
from oneclaw.text import UserFacingError, replace_unstorable

# Unicode code points of one proposal, and how many of one person may wait in a space.
TEXT_MAX_CHARS = 5_000
WAITING_MAX_COUNT = 200
# Unicode code points of proposed instructions.
INSTRUCTIONS_MAX_CHARS = FILE_MAX_CHARS


class ProposalError(UserFacingError):
    """Nothing was proposed or accepted."""


class NotYoursToDecideError(ProposalError):
    """The person may not accept this proposal, for example as its author."""

    wording = _("Another owner or editor of the space has to decide this.")


class RoleEndedError(NotYoursToDecideError):
    """The person may not change the memory of the space any more."""

    wording = _("You cannot change the memory of “%(space)s” any more. Its owners and editors decide this.")


class AlreadyKnownError(ProposalError):
    """The curated memory of the space has these words."""

    wording = _("The memory of “%(space)s” has this already.")


class TooManyProposalsError(ProposalError):
    """WAITING_MAX_COUNT proposals of the person wait in the space."""

    wording = _("%(most)s of your proposals wait in this space. Wait until some are answered.")


class InstructionsChangedError(ProposalError):
    """The instructions of the space are not those that were seen when these were accepted."""

    wording = _("The instructions of “%(space)s” were changed in the meantime. Read them, then accept or decline.")


class BadProposalError(ProposalError):
    """The text is empty or too long."""

    wording = _("A proposal has 1 to %(most)s characters.")


@transaction.atomic
def propose(
    space: Space,
    text: str,
    author: User,
    kind: Proposal.Kind,
    source: MemoryRevision | None = None,
    message_id: int | None = None,
    writers: Sequence[int] = (),
    program: str = "",
) -> Proposal:
    """Return the proposal of `text` by `author`, a member of the shared `space`: waiting, or accepted at once when no
    second person is needed. `writers` are the ids of others whose words it may hold, who cannot accept it either;
    `program` is the name of the one that proposes it. Secrets are masked. Idempotent while it waits.

    Raise ProposalError when it is not possible, and LineForgottenError for a line that was forgotten in the space.
    """
    text, _secrets = masked(replace_unstorable(text).strip())
    if not text or len(text) > TEXT_MAX_CHARS:
        raise BadProposalError(most=TEXT_MAX_CHARS)
    refuse_forgotten(space, text)
    document = MemoryDocument.objects.present().filter(space=space, path=CURATED).first()
    if document is not None and occurs_in(text, document.content):
        raise AlreadyKnownError(space=space.name)
    if Proposal.objects.waiting().filter(space=space, author=author).count() >= WAITING_MAX_COUNT:
        raise TooManyProposalsError(most=WAITING_MAX_COUNT)
    row = proposals.wait(space, text, author, kind, source, message_id, writers, program=program)
    if row.author_id == author.pk and writes_directly(author, space):
        return _accepted(row, author, row.text, approved_by=None)
    return row


@transaction.atomic
def propose_instructions(space: Space, text: str, author: User, base_version: int) -> Proposal:
    """Return the waiting proposal that `text` replaces `base_version` of the instructions of the shared `space`, 0 when
    there are none. Secrets are masked. Idempotent while it waits.

    Raise ProposalError when it is not possible, and LineForgottenError for a line that was forgotten in the space.
    """
    text, _secrets = masked(replace_unstorable(text).replace("\r\n", "\n").strip())
    if not text or len(text) > INSTRUCTIONS_MAX_CHARS:
        raise BadProposalError(most=INSTRUCTIONS_MAX_CHARS)
    refuse_forgotten(space, text)
    if Proposal.objects.waiting().filter(space=space, author=author).count() >= WAITING_MAX_COUNT:
        raise TooManyProposalsError(most=WAITING_MAX_COUNT)
    return proposals.wait(space, text, author, Proposal.Kind.INSTRUCTIONS, base_version=base_version)


def writes_directly(user: User, space: Space) -> bool:
    """Return whether a line of `user` needs no second person in `space`: an owner or editor where the space
    does not ask for one, or where no other person could approve it."""
    if not may_write(user, space.pk):
        return False
    if not space.needs_second_person:
        return True
    others = SpaceRole.objects.filter(space=space, role__in=SpaceMember.WRITERS).exclude(user=user)
    return not others.filter(user__is_active=True).exists()


@transaction.atomic
def accept(proposal: Proposal, user: User, text: str | None = None, seen_version: int | None = None) -> Proposal:
    """Write the proposal into the space's MEMORY.md, as `text` if it was edited, and return the accepted row.
    Instructions replace `seen_version`, which `user` has seen; None: the version that their author saw.

    Idempotent: of several answers the first counts, and the row says which. Raise NotYoursToDecideError unless `user`
    may decide at this moment, also when a person who may not write the text directly has edited it, for that is theirs;
    another ProposalError, DocumentError or InvalidTextError when the text cannot be written, and LineForgottenError; it
    then still waits.
    """
    row = Proposal.objects.select_for_update(of=("self",)).select_related("space", "author").get(pk=proposal.pk)
    if not row.is_waiting:
        return row
    check_decides(user, row)
    wanted, _secrets = masked((row.text if text is None else text.replace("\r\n", "\n")).strip())
    # Browsers send a text of several lines with other line ends.
    is_edited = text is not None and text.strip().splitlines() != row.text.strip().splitlines()
    if is_edited and not may_edit(user, row.space, path_of(row)):
        raise NotYoursToDecideError
    most = INSTRUCTIONS_MAX_CHARS if row.kind == Proposal.Kind.INSTRUCTIONS else TEXT_MAX_CHARS
    if not wanted or len(wanted) > most:
        raise BadProposalError(most=most)
    refuse_forgotten(row.space, wanted)
    seen = row.base_version if seen_version is None else seen_version
    return _accepted(row, user, wanted, approved_by=None if user == row.author else user, seen_version=seen)


def check_decides(user: User, row: Proposal) -> None:
    """Raise NotYoursToDecideError unless `user` may answer the proposal, which waits."""
    if Proposal.objects.to_decide_by(user).filter(pk=row.pk).exists():
        return
    raise NotYoursToDecideError if may_write(user, row.space_id) else RoleEndedError(space=row.space.name)


def path_of(row: Proposal) -> str:
    """Return the path of the document that the proposal changes. Pure."""
    return AGENTS if row.kind == Proposal.Kind.INSTRUCTIONS else CURATED


def refuse_forgotten(space: Space, text: str) -> None:
    """Raise LineForgottenError when `text` holds a line that was forgotten in `space`."""
    if tombstones.of_space(space.pk).is_in_text(text):
        raise LineForgottenError(CURATED)


def _accepted(
    row: Proposal, user: User, text: str, approved_by: User | None, seen_version: int | None = None
) -> Proposal:
    """Write `text` and store the answer. The first transaction that holds the row does it."""
    author = Author(
        Source.PROPOSAL,
        row.author or user,
        message_id=row.message_id,
        reason=Reason("change.proposed", {"kind": row.kind}),
        operation_key=f"proposal:{row.pk}",
        approved_by=approved_by,
    )
    if row.kind == Proposal.Kind.INSTRUCTIONS:
        row.outcome = _instructions_replaced(row, text, author, seen_version)
    else:
        row.outcome = save_entry(row.space, append_operation(user, text), author, ask=False)
    row.state, row.accepted_text = Proposal.State.ACCEPTED, text
    row.decided_by, row.decided_at = user, clock.read_database_time()
    row.save(update_fields=["state", "accepted_text", "decided_by", "decided_at", "outcome"])
    return row


def _instructions_replaced(row: Proposal, text: str, author: Author, seen_version: int | None) -> MemoryRevision | None:
    """Replace `seen_version` of the space's instructions by `text`. Raise InstructionsChangedError at another one."""
    document = MemoryDocument.objects.select_for_update().filter(space=row.space, path=AGENTS).first()
    version = document.version if document else 0
    if version != seen_version:
        raise InstructionsChangedError(space=row.space.name)
    return write.apply(row.space, AGENTS, Replace(f"{text}\n", version), author)
