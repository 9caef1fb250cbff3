"""What the cards of waiting proposals show to those who decide about them, on the inbox and on the page of a space."""

from collections.abc import Iterable
from dataclasses import dataclass

from memory.access.rights import editable_of
from memory.models import MemoryDocument, Proposal
from memory.policy.paths import AGENTS, CURATED
from memory.tools.proposals import path_of
from oneclaw.models import User


@dataclass(frozen=True)
class ProposalCard:
    """A proposal, whether its reader may edit it, and of proposed instructions those that they would replace."""

    proposal: Proposal
    may_edit: bool
    current: str = ""
    # Of `current`; None: it proposes no instructions.
    version: int | None = None

    @property
    def is_outdated(self) -> bool:
        """Return whether the instructions are not those any more that the author saw."""
        return None not in (self.version, self.proposal.base_version) and self.version != self.proposal.base_version


def cards_of(rows: Iterable[Proposal], user: User) -> list[ProposalCard]:
    """Return the cards of `rows`, loaded with their spaces, as `user` is shown them."""
    shown = list(rows)
    editable = {
        path: editable_of(user, [row.space for row in shown if path_of(row) == path], path)
        for path in (CURATED, AGENTS)
    }
    spaces = {row.space_id for row in shown if path_of(row) == AGENTS}
    documents = MemoryDocument.objects.filter(space__in=spaces, path=AGENTS)
    current = {document.space_id: (document.content, document.version) for document in documents}
    return [
        ProposalCard(
            row,
            row.space_id in editable[path_of(row)],
            *(current.get(row.space_id, ("", 0)) if path_of(row) == AGENTS else ()),
        )
        for row in shown
    ]
