"""Decide which memory a conversation or a person may read, write and forget.

A conversation reads the own space of its owner (or of its agent) and at most one shared space, as far as the owner's
switches allow.
"""

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject

from chat.models import Agent, ChatSession, MessageQuerySet
from memory.models import AgentSpace, LibraryFile, MemoryDocument
from memory.models.documents import MemoryDocumentQuerySet
from memory.policy import switches
from memory.policy.paths import SKILLS, WORKSPACE_FILES, BadPathError, checked_path, is_in_skill, recent_path
from memory.policy.reading import keep, once
from memory.policy.switches import Switch
from oneclaw.locks import hold
from oneclaw.models import Space, SpaceMember, User

# Whether the library of a space has files.
HAS_FILES = Exists(LibraryFile.objects.filter(space=OuterRef("pk")))


@dataclass(frozen=True)
class Sources:
    """What a search may read: the documents of its spaces (`notes`), the recent conversations (`recent`), and the
    transcripts of one person.

    Of the transcript of `but_session`, the conversation that asks, it reads only the messages up to
    `but_session_after`, which the model is not sent any more; and without `other_transcripts` no other transcript.
    What `asked_by` has said about lines counts in the ranking.
    """

    notes: bool = True
    recent: bool = True
    transcripts_of: User | None = None
    but_session: uuid.UUID | None = None
    but_session_after: int = 0
    other_transcripts: bool = True
    asked_by: User | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.notes or self.recent or self.transcripts_of is not None


def sources_of(session: ChatSession) -> Sources:
    """Return what `session` may search, by the switches of its owner; nothing in a temporary session.

    Of its own messages, these are the ones that a summary replaces in what the model is sent.
    """
    on = frozenset() if session.is_temporary else switches.on_for(session.owner)
    if not _may_read_transcripts(session, on):
        return Sources(Switch.SAVED in on, Switch.RECENT in on, asked_by=session.owner)
    through = session.summarised_seq()
    return Sources(Switch.SAVED in on, Switch.RECENT in on, session.owner, session.pk, through, asked_by=session.owner)


def recall_sources_of(session: ChatSession) -> Sources:
    """Return what is recalled for a message of `session` by itself: documents, and its own messages that a summary
    replaces. Other transcripts are not: their notes say the same in fewer words."""
    found = sources_of(session)
    if found.but_session_after:
        return replace(found, other_transcripts=False)
    return replace(found, transcripts_of=None, but_session=None)


def may_search(session: ChatSession) -> bool:
    """Return whether `session` may search anything."""
    on = frozenset() if session.is_temporary else switches.on_for(session.owner)
    return bool({Switch.SAVED, Switch.RECENT} & on) or _may_read_transcripts(session, on)


def reads_conversations(session: ChatSession) -> bool:
    """Return whether the model of `session` may read other conversations of its owner, by their switches."""
    return not session.is_temporary and Switch.TRANSCRIPTS in switches.on_for(session.owner)


def readable_messages(session: ChatSession, messages: MessageQuerySet) -> MessageQuerySet:
    """Return which of `messages`, of other conversations of its owner, the model of `session` may read."""
    if not reads_conversations(session):
        return messages.none()
    return switches.said_while_on(messages, session.owner, Switch.TRANSCRIPTS)


def _may_read_transcripts(session: ChatSession, on: frozenset[str]) -> bool:
    return Switch.TRANSCRIPTS in on and not session.agent.own_memory


def sources_for(user: User) -> Sources:
    """Return what API clients of `user` may search, by the switches of `user`."""
    on = switches.on_for(user)
    said_by = user if Switch.TRANSCRIPTS in on else None
    return Sources(Switch.SAVED in on, Switch.RECENT in on, said_by, asked_by=user)


def lock_session(session_id: uuid.UUID) -> ChatSession | None:
    """Lock the row of the session and return it; None when it is deleted, or none that notes are made of.

    Must be called in a transaction.
    """
    return next(iter(lock_sessions([session_id])), None)


def lock_sessions(session_ids: Iterable[uuid.UUID]) -> list[ChatSession]:
    """Lock the rows of these sessions and return them, without those that are deleted, that are of a scheduled turn, or
    whose mode does not write memory.

    Must be called in a transaction. All callers lock in the same order, so that none waits for another in a circle.
    """
    kept = ChatSession.objects.filter(pk__in=list(session_ids), mode=ChatSession.Mode.AGENT, deleted_at=None)
    kept = kept.exclude(kind=ChatSession.Kind.BEAT).select_related("owner", "agent")
    return list(kept.select_for_update(of=("self",), no_key=True).order_by("pk"))


def may_read(session: ChatSession) -> bool:
    """Return whether `session` may read memory."""
    return not session.is_temporary


def spaces_of(session: ChatSession) -> list[Space]:
    """Return the spaces whose memory `session` reads, the one that it writes first; none for a temporary session."""
    if session.mode == ChatSession.Mode.TEMPORARY:
        return []
    spaces = [own_space(session)]
    if session.space_id is not None:
        # Former members may not read the space.
        shared = Space.objects.visible_to(session.owner).filter(pk=session.space_id)
        spaces += shared.exclude(pk=spaces[0].pk).annotate(has_files=HAS_FILES)
    return spaces


def libraries_of(session: ChatSession) -> list[Space]:
    """Return those of `spaces_of(session)` whose library has files; an agent's own memory has none."""
    return once(("libraries", session.pk), lambda: _libraries_of(session))


def _libraries_of(session: ChatSession) -> list[Space]:
    found = [space for space in spaces_of(session) if space.kind != Space.Kind.AGENT]
    known = {space.pk: vars(space).get("has_files") for space in found}
    if None in known.values():
        with_files = Space.objects.filter(pk__in=known).filter(HAS_FILES).values_list("pk", flat=True)
        known = dict.fromkeys(with_files, True)
    return [space for space in found if known.get(space.pk)]


def may_search_libraries(session: ChatSession) -> bool:
    """Return whether `session` may search files of libraries, and there are any."""
    return bool(libraries_of(session))


def own_space(session: ChatSession) -> Space:
    """Return the space that `session` writes and reads first.

    That is the own space of its owner or, for an agent with its own memory, the space of that agent and owner.
    """
    if session.agent.own_memory:
        return agent_space(session.agent, session.owner)
    return persons_space(session.owner)


def persons_space(user: User) -> Space:
    """Return the own space of `user`, also for a session whose agent has its own memory."""
    return once(("own space", user.pk), lambda: _persons_space(user))


def _persons_space(user: User) -> Space:
    return _read_own_spaces([user]).get(user.pk) or Space.objects.own_of(user)


def read_own_spaces(users: Collection[User]) -> None:
    """Read the own spaces of `users` and what they chose of the switches by one statement, and keep both until the end
    of `reading`."""
    for user_id, space in _read_own_spaces(users).items():
        keep(("own space", user_id), space)


def _read_own_spaces(users: Collection[User]) -> dict[int, Space]:
    """Return the own spaces of `users` by person, each with `has_notes` (whether it has documents besides the workspace
    files and skills) and `has_skills`. What they chose of the switches is read by the same statement."""
    choices = switches.newest_choices(OuterRef("owner")).values(choice=JSONObject(switch="switch", on="on"))
    documents = MemoryDocument.objects.present().filter(space=OuterRef("pk"))
    skills = documents.filter(path__startswith=f"{SKILLS}/")
    notes = documents.exclude(path__in=WORKSPACE_FILES).exclude(path__startswith=f"{SKILLS}/")
    spaces = Space.objects.filter(owner__in=users, kind=Space.Kind.OWN)
    found: dict[int, Space] = {}
    for space in spaces.annotate(
        choices=ArraySubquery(choices), has_notes=Exists(notes), has_skills=Exists(skills), has_files=HAS_FILES
    ):
        keep(switches.kept_as(space.owner_id), {each["switch"]: each["on"] for each in space.choices})
        found[space.owner_id] = space
    return found


def own_documents(session: ChatSession) -> MemoryDocumentQuerySet:
    """Return the documents of `own_space(session)`, without a query for the space of a person."""
    if session.agent.own_memory:
        return agent_space(session.agent, session.owner).documents.all()
    return MemoryDocument.objects.filter(space__owner=session.owner, space__kind=Space.Kind.OWN)


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


def may_read_path(path: str, on: frozenset[str]) -> bool:
    """Return whether the document at `path` may be read when the switches `on` are on."""
    return (Switch.RECENT if path == recent_path() else Switch.SAVED) in on


def find_document(session: ChatSession, path: str) -> MemoryDocument | None:
    """Return the document at `path` that `session` may read, its own space before a shared one; None without one.

    A skill is read as its person approved it (memory/skills/), and not as a document.
    """
    try:
        path = checked_path(path)
    except BadPathError:
        return None
    if is_in_skill(path) or not may_read_path(path, switches.on_for(session.owner)):
        return None
    for space in spaces_of(session):
        document = space.documents.present().filter(path=path).first()
        if document is not None:
            return document
    return None


def may_write(user: User, space_id: int) -> bool:
    """Return whether `user` may change documents of the space: owners and editors may."""
    return Space.objects.writable_by(user).filter(pk=space_id).exists()


def may_forget(user: User, space: Space) -> bool:
    """Return whether `user` may forget lines in `space`: its owners may, and in a shared space also staff with the
    permission to delete documents."""
    return spaces_to_forget_in(user).filter(pk=space.pk).exists()


def spaces_to_forget_in(user: User) -> QuerySet[Space]:
    """Return the spaces in which `user` may forget lines."""
    owned = Q(roles__user=user, roles__role=SpaceMember.Role.OWNER)
    if user.is_staff and user.has_perm("memory.delete_memorydocument"):
        owned |= ~Q(kind__in=Space.PRIVATE)
    return Space.objects.filter(owned).distinct().order_by("pk")
