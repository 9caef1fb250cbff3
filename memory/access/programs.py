"""Decide what a program may read and write of memory: its grant, the roles of its person now, and their switches."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from memory.access.sources import Sources
from memory.models import MemoryDocument, SwitchChoice
from memory.policy import switches
from memory.policy.paths import RECENT_NAME, SKILLS
from oneclaw.models import ApiKey, Space, SpaceMember, SpaceRole, User
from oneclaw.people.programs.grants import Grant, Level, ScopeError

Switch = SwitchChoice.Switch


class UnreadableSpaceError(Exception):
    """The program may not read the space, or there is none with this id."""


@dataclass(frozen=True)
class ProgramAccess:
    """The memory that one call of a program may read and write.

    `levels` has the spaces that it may read, the person's own first, each with what the program may do there; `on` are
    the switches of the person that are on. A switch that is off removes what it is about, as on the pages for programs:
    `saved` the documents and every save, `transcripts` the conversations.
    """

    key: ApiKey
    levels: Mapping[Space, Level]
    on: frozenset[str]
    reads_conversations: bool

    @classmethod
    def of(cls, grant: Grant) -> "ProgramAccess":
        """Return the access of the program with `grant`, with three statements."""
        user, own = grant.user, Space.objects.own_of(grant.user)
        on = switches.on_for(user)
        roles = SpaceRole.objects.filter(user=user).select_related("space").order_by("space")
        levels: dict[Space, Level] = {}
        for role in sorted(roles, key=lambda role: role.space_id != own.pk):
            if (level := _level_in(grant, role)) is not None:
                levels[role.space] = level if Switch.SAVED in on else min(level, Level.READ)
        # What was said is a person's own: a grant for spaces alone does not have it.
        said = grant.conversations and grant.own is not None and Switch.TRANSCRIPTS in on
        return cls(grant.key, levels, on, said)

    @property
    def user(self) -> User:
        """Return the person for whom the program acts."""
        return self.key.user

    @property
    def spaces(self) -> list[Space]:
        """Return the spaces that may be read."""
        return list(self.levels)

    def space(self, space_id: int | None) -> Space:
        """Return the space with this id, or the person's own for None. Raise UnreadableSpaceError when the program may
        not read it."""
        for space in self.levels:
            if space.pk == space_id or (space_id is None and self.is_own(space)):
                return space
        raise UnreadableSpaceError

    def is_own(self, space: Space) -> bool:
        """Return whether `space` is the person's own, and not what one of their agents remembers. Pure."""
        return space.kind == Space.Kind.OWN and space.owner_id == self.user.pk

    def path_of(self, space: Space, path: str) -> str:
        """Return by what the program names the document at `path` of `space`: a path alone is of the person's own.
        Pure."""
        return path if self.is_own(space) else f"spaces/{space.pk}/{path}"

    def sources(self, spaces: list[Space]) -> Sources:
        """Return what a search of `spaces` reads: conversations of the person only together with their own memory."""
        reads_own = any(space.is_private for space in spaces)
        return Sources(
            notes=Switch.SAVED in self.on,
            recent=Switch.RECENT in self.on and reads_own,
            transcripts_of=self.user if self.reads_conversations and reads_own else None,
            shared_transcripts=self.reads_conversations,
            asked_by=self.user,
            clock_of=self.user,
        )

    def check(self, space: Space, level: Level) -> None:
        """Raise ScopeError unless the program may do `level` in `space`."""
        if space not in self.levels:
            raise UnreadableSpaceError
        if self.levels[space] < level:
            raise ScopeError(level.scope)

    @property
    def documents(self) -> QuerySet[MemoryDocument]:
        """Return the documents that may be read; a skill is none of them (memory/skills/)."""
        rows = MemoryDocument.objects.present().filter(space__in=self.spaces).select_related("space")
        if Switch.SAVED not in self.on:
            rows = rows.filter(path=RECENT_NAME)
        if Switch.RECENT not in self.on:
            rows = rows.exclude(path=RECENT_NAME)
        return rows.exclude(path__startswith=f"{SKILLS}/")


def _level_in(grant: Grant, role: SpaceRole) -> Level | None:
    """Return what the program may do in the space of `role`; None: nothing."""
    level, space = grant.level_in(role.space), role.space
    if level is None:
        return None
    if role.role not in SpaceMember.WRITERS or space.archived_at is not None:
        return Level.READ
    # Nobody has chosen that the program saves without asking: it has a key from before there was this choice.
    is_chosen = grant.key.access is not None
    return level if is_chosen and not asks_second_person(space) else min(level, Level.PROPOSE)


def asks_second_person(space: Space) -> bool:
    """Return whether what becomes curated memory of `space` needs a second person. Pure."""
    return space.needs_second_person and not space.is_private
