"""Load by one statement what decides which memory conversations may read and write, and return the decisions."""

import uuid
from collections.abc import Iterable, Sequence

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject

from chat.models import ChatSession
from memory.access.decided import AccessFacts, KnownSpace, MemoryAccess
from memory.access.reading import once
from memory.access.rights import agent_space
from memory.models import LibraryFile, MemoryDocument
from memory.policy import switches
from memory.policy.paths import SKILLS, WORKSPACE_FILES
from oneclaw.models import Space, SpaceRole, User

# Whether the library of a space has files.
HAS_FILES = Exists(LibraryFile.objects.filter(space=OuterRef("pk")))


def access_of(session: ChatSession, asker: User | None = None) -> MemoryAccess:
    """Return what `asker` may read and write of memory in `session`; None: its owner.

    A space of a person or agent that is missing is made.
    """
    key = session.pk, _decisive(session, asker)
    return once(key, lambda: accesses_of([session], asker)[session.pk])


def accesses_of(sessions: Sequence[ChatSession], asker: User | None = None) -> dict[uuid.UUID, MemoryAccess]:
    """Return what access_of says of each of `sessions`, by their ids. The number of statements does not grow with
    theirs."""
    loaded = _Loaded(sessions, {_decisive(session, asker) for session in sessions}) if sessions else None
    return {session.pk: MemoryAccess.of(loaded.facts(session, asker)) for session in sessions} if loaded else {}


def locked_accesses(session_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, MemoryAccess]:
    """Lock the rows of these sessions and return their accesses, without those that are deleted, that are of a
    scheduled turn, or whose mode does not write memory.

    Must be called in a transaction. All callers lock in the same order, so that none waits for another in a circle.
    """
    kept = talks().filter(pk__in=list(session_ids)).select_related("owner", "agent", "space").order_by("pk")
    return accesses_of(list(kept.select_for_update(of=("self",), no_key=True)))


def talks() -> QuerySet[ChatSession]:
    """Return the conversations of which anything may be kept in memory: not the deleted ones and scheduled turns."""
    kept = ChatSession.objects.filter(mode=ChatSession.Mode.AGENT, deleted_at=None)
    return kept.exclude(kind=ChatSession.Kind.BEAT)


def _decisive(session: ChatSession, asker: User | None) -> int:
    """Return the id of the person whose role counts in `session`: in a private one, it is always its owner."""
    return asker.pk if asker and session.shared_at is not None else session.owner_id


class _Loaded:
    """The spaces that some conversations may be about, with the roles of `people` in those that are shared, and which
    switches the owners of the private ones chose."""

    def __init__(self, sessions: Sequence[ChatSession], people: Iterable[int]):
        in_spaces = {session.space_id for session in sessions if session.space_id is not None}
        private = [session for session in sessions if session.shared_at is None]
        kinds = Space.PRIVATE if any(session.agent.own_memory for session in private) else [Space.Kind.OWN]
        wanted = Q(pk__in=in_spaces) | Q(owner__in={session.owner_id for session in private}, kind__in=kinds)
        choices = switches.newest_choices(OuterRef("owner")).values(choice=JSONObject(switch="switch", on="on"))
        roles = SpaceRole.objects.filter(space=OuterRef("pk"), user__in=people if in_spaces else ())
        documents = MemoryDocument.objects.present().filter(space=OuterRef("pk"))
        skills = documents.filter(path__startswith=f"{SKILLS}/")
        notes = documents.exclude(path__in=WORKSPACE_FILES).exclude(path__startswith=f"{SKILLS}/")
        self.spaces: dict[int, KnownSpace] = {}
        self.own: dict[int, tuple[KnownSpace, frozenset[str]]] = {}
        self.agents: dict[tuple[int, int], KnownSpace] = {}
        self.roles: dict[tuple[int, int], str] = {}
        for space in Space.objects.filter(wanted).annotate(
            choices=ArraySubquery(choices),
            of_people=ArraySubquery(roles.values(found=JSONObject(user="user_id", role="role"))),
            agent=F("of_agent__agent"),
            has_notes=Exists(notes),
            has_skills=Exists(skills),
            has_files=HAS_FILES,
        ):
            known = KnownSpace(space, space.has_notes, space.has_skills, space.has_files)
            self.spaces[space.pk] = known
            self.roles |= {(space.pk, each["user"]): each["role"] for each in space.of_people or ()}
            if space.kind == Space.Kind.OWN:
                chosen = {each["switch"]: each["on"] for each in space.choices}
                self.own[space.owner_id] = known, switches.on_with(chosen)
            elif space.agent is not None:
                self.agents[space.agent, space.owner_id] = known

    def facts(self, session: ChatSession, asker: User | None) -> AccessFacts:
        """Return the facts about `session` that count for `asker`."""
        space = self.spaces.get(session.space_id or 0)
        role = self.roles.get((session.space_id or 0, _decisive(session, asker)), "")
        if session.shared_at is not None:
            return AccessFacts(session, switches.of_spaces(), space=space, role=role)
        if session.owner_id not in self.own:
            made = KnownSpace(Space.objects.own_of(session.owner))
            self.own[session.owner_id] = made, switches.on_for(session.owner)
        own, on = self.own[session.owner_id]
        if not session.agent.own_memory:
            return AccessFacts(session, on, own, None, space, role)
        agents = self.agents.get((session.agent_id, session.owner_id))
        return AccessFacts(
            session, on, own, agents or KnownSpace(agent_space(session.agent, session.owner)), space, role
        )
