"""Decide which spaces a person may write, edit and forget in, and keep the space of an agent with a memory of its own.

What a conversation may read and write is `MemoryAccess` (memory/access/decided.py).
"""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q, QuerySet

from chat.models import Agent, ChatSession
from memory.models import AgentSpace
from memory.policy import curation
from memory.policy.paths import AGENTS, CURATED, CURATED_ALTERNATIVE
from oneclaw.locks import hold
from oneclaw.models import Space, SpaceMember, User


def agent_space(agent: Agent, user: User) -> Space:
    """Return the space of what `agent` remembers of `user`; it is created on first use."""
    spaces = Space.objects.filter(of_agent__agent=agent, of_agent__owner=user)
    return spaces.first() or _make_agent_space(agent, user)


@transaction.atomic
def _make_agent_space(agent: Agent, user: User) -> Space:
    hold(f"space of agent {agent.pk} for {user.pk}")
    made = AgentSpace.objects.filter(agent=agent, owner=user).select_related("space").first()
    if made is not None:
        return made.space
    space = Space.objects.create(owner=user, kind=Space.Kind.AGENT, name=agent.name)
    SpaceMember.objects.create(space=space, user=user, role=SpaceMember.Role.OWNER)
    AgentSpace.objects.create(space=space, agent=agent, owner=user)
    return space


def rename_agent_spaces(agent: Agent) -> None:
    """Rename the memory spaces of `agent` to its present name."""
    Space.objects.filter(of_agent__agent=agent).exclude(name=agent.name).update(name=agent.name)


def may_write(user: User, space_id: int) -> bool:
    """Return whether `user` may change documents of the space: owners and editors may, unless it is archived."""
    return Space.objects.writable_by(user).filter(pk=space_id, archived_at=None).exists()


def may_edit(user: User, space: Space, path: str) -> bool:
    """Return whether `user` may change the document at `path` of `space` directly.

    Where a second person has to approve what becomes curated memory or instructions, only owners change these without
    one; editors propose (memory/tools/proposals.py).
    """
    return space.pk in editable_of(user, [space], path)


def editable_of(user: User, spaces: Iterable[Space], path: str) -> frozenset[int]:
    """Return the ids of those of `spaces` whose document at `path` `user` may change directly, as `may_edit` says."""
    asked = {space.pk: space for space in spaces}
    writable = Space.objects.writable_by(user).filter(pk__in=asked, archived_at=None)
    found = frozenset(writable.values_list("pk", flat=True))
    if path not in (AGENTS, CURATED, CURATED_ALTERNATIVE):
        return found
    guarded = {pk for pk in found if asked[pk].needs_second_person and not asked[pk].is_private}
    if not guarded:
        return found
    return found - guarded | set(Space.objects.owned_by(user).filter(pk__in=guarded).values_list("pk", flat=True))


def space_to_propose_to(session: ChatSession) -> Space | None:
    """Return the space to which lines from a private `session` may be proposed: that which it is in."""
    return session.space if session.space and not (session.is_shared or session.space.archived_at) else None


def may_forget(user: User, space: Space) -> bool:
    """Return whether `user` may forget lines in `space`: its owners may, and in a shared space also staff with the
    permission to delete documents, to whom its memory is open."""
    return spaces_to_forget_in(user).filter(pk=space.pk).exists()


def spaces_to_forget_in(user: User) -> QuerySet[Space]:
    """Return the spaces in which `user` may forget lines."""
    owned = Q(roles__user=user, roles__role=SpaceMember.Role.OWNER)
    if user.is_staff and user.has_perm("memory.delete_memorydocument"):
        owned |= ~Q(kind__in=Space.PRIVATE) & curation.open_to(user)
    return Space.objects.filter(owned).distinct().order_by("pk")
