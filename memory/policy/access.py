"""Decide which memory a conversation or a person may read, write and forget.

A private conversation reads the own space of its owner (or of its agent) and at most one shared space, as far as the
owner's switches allow, and writes the own one. A conversation that is shared with the members of a space reads and
writes that space alone, for every member: nothing of a person. Of these, a conversation reads what was chosen for it
(`ChatSession.memory`); one without memory also writes nothing.
"""

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject

from chat.models import Agent, ChatSession, MemoryChoice, MessageQuerySet
from memory.models import AgentSpace, MemoryDocument, SwitchChoice
from memory.models.documents import MemoryDocumentQuerySet
from memory.policy import curation, switches
from memory.policy.addresses import located
from memory.policy.contents import HAS_FILES, HAS_NOTES, HAS_SKILLS, SpaceContents, contents_of, keep_contents
from memory.policy.paths import (
    AGENTS,
    CURATED,
    CURATED_ALTERNATIVE,
    RECENT_NAME,
    BadPathError,
    checked_path,
    is_in_skill,
)
from memory.policy.reading import keep, once
from memory.policy.switches import Switch
from oneclaw.locks import hold
from oneclaw.models import Space, SpaceMember, User


@dataclass(frozen=True)
class Sources:
    """What a search may read: the documents of its spaces (`notes`), the recent conversations (`recent`), the
    transcripts of one person, and those that are shared with its spaces (`shared_transcripts`).

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
    shared_transcripts: bool = False
    asked_by: User | None = field(default=None, compare=False)
    # By whose clock the times of messages are shown; None: that of `transcripts_of`.
    clock_of: User | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.notes or self.recent or self.reads_transcripts

    @property
    def read_for(self) -> User | None:
        """Return by whose clock the times of messages are shown."""
        return self.clock_of or self.transcripts_of

    @property
    def reads_transcripts(self) -> bool:
        """Return whether any transcripts are read."""
        return self.transcripts_of is not None or self.shared_transcripts


def is_shared(session: ChatSession) -> bool:
    """Return whether the members of a space read and continue `session`, so that nothing of a person is in it."""
    return session.shared_at is not None


def reads_own(session: ChatSession) -> bool:
    """Return whether `session` reads what is its owner's: only a private one, unless another memory was chosen."""
    return not is_shared(session) and reads_written(session)


def reads_written(session: ChatSession) -> bool:
    """Return whether `session` reads the space that it writes (`own_space`)."""
    return may_read(session) and (is_shared(session) or session.memory != MemoryChoice.SPACE)


def switches_of(session: ChatSession) -> frozenset[str]:
    """Return the switches that are on in `session`: those of its owner or, in a shared one, those of every space."""
    return switches.of_spaces() if is_shared(session) else switches.on_for(session.owner)


def said_while_on(session: ChatSession, messages: MessageQuerySet, switch: SwitchChoice.Switch) -> MessageQuerySet:
    """Return those of `messages` of `session` that may be in memory: said while `switch` was on for its owner, and not
    by another person. In a shared session that is what everybody said. What was said without memory never may."""
    messages = messages.exclude(is_apart=True)
    if is_shared(session):
        return messages if switch in switches.of_spaces() else messages.none()
    own = messages.filter(Q(author=None) | Q(author=session.owner_id))
    return switches.said_while_on(own, session.owner, switch)


def sources_of(session: ChatSession, summarised_seq: int | None = None) -> Sources:
    """Return what `session` may search, by its switches; nothing in a session without memory.

    Of its own messages, these are the ones that a summary replaces in what the model is sent: those up to
    `summarised_seq`, if that is known.
    """
    on = switches_of(session) if may_read(session) else frozenset()
    documents = Switch.SAVED in on, Switch.RECENT in on
    asked_by = None if is_shared(session) else session.owner
    if not _may_read_transcripts(session, on):
        return Sources(*documents, asked_by=asked_by)
    return Sources(
        *documents,
        transcripts_of=session.owner if reads_own(session) else None,
        shared_transcripts=session.space_id is not None and session.memory != MemoryChoice.OWN,
        but_session=session.pk,
        but_session_after=session.summarised_seq() if summarised_seq is None else summarised_seq,
        asked_by=asked_by,
        clock_of=session.owner,
    )


def recall_sources_of(session: ChatSession) -> Sources:
    """Return what is recalled for a message of `session`, which was read for it, by itself: documents, and its own
    messages that a summary replaces. Other transcripts are not: their notes say the same in fewer words."""
    found = sources_of(session, None if session.used_rounds else 0)
    if found.but_session_after:
        return replace(found, other_transcripts=False)
    return replace(found, transcripts_of=None, shared_transcripts=False, but_session=None)


def may_search(session: ChatSession) -> bool:
    """Return whether `session` may search anything."""
    on = switches_of(session) if may_read(session) else frozenset()
    return bool({Switch.SAVED, Switch.RECENT} & on) or _may_read_transcripts(session, on)


def reads_conversations(session: ChatSession) -> bool:
    """Return whether the model of `session` may read other conversations of its owner, by their switches; never in a
    shared one, and in one that reads only the memory of its space."""
    if not reads_own(session):
        return False
    return Switch.TRANSCRIPTS in switches.on_for(session.owner)


def readable_messages(session: ChatSession, messages: MessageQuerySet) -> MessageQuerySet:
    """Return which of `messages`, of other conversations of its owner, the model of `session` may read."""
    if not reads_conversations(session):
        return messages.none()
    return switches.said_while_on(messages.exclude(is_apart=True), session.owner, Switch.TRANSCRIPTS)


def readable_transcripts(session: ChatSession) -> QuerySet[ChatSession]:
    """Return the conversations whose transcripts `session` may read, when the switch is on: in a private one those of
    its owner, and those that are shared with its space; in a shared one only the latter."""
    own = Q(owner=session.owner, shared_at=None) if reads_own(session) else Q(pk=None)
    shared = [space.pk for space in spaces_of(session) if not space.is_private]
    return ChatSession.objects.filter(own | Q(space__in=shared, shared_at__isnull=False), deleted_at=None)


def _may_read_transcripts(session: ChatSession, on: frozenset[str]) -> bool:
    return Switch.TRANSCRIPTS in on and (is_shared(session) or not session.agent.own_memory)


def sources_for(user: User) -> Sources:
    """Return what API clients of `user` may search, by the switches of `user`."""
    on = switches.on_for(user)
    said_by = user if Switch.TRANSCRIPTS in on else None
    return Sources(
        Switch.SAVED in on, Switch.RECENT in on, said_by, shared_transcripts=said_by is not None, asked_by=user
    )


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
    kept = kept.exclude(kind=ChatSession.Kind.BEAT).select_related("owner", "agent", "space")
    return list(kept.select_for_update(of=("self",), no_key=True).order_by("pk"))


def may_read(session: ChatSession) -> bool:
    """Return whether `session` may read memory: not a temporary one, and not one for which none was chosen."""
    return not session.is_temporary and session.memory != MemoryChoice.NONE


def spaces_of(session: ChatSession) -> list[Space]:
    """Return the spaces whose memory `session` reads, the own one of its owner first; none for one without memory.

    A shared session reads its space alone; who may ask in it is checked for each call (`may_ask`).
    """
    return _spaces_of(session, session.memory)


def possible_spaces_of(session: ChatSession) -> list[Space]:
    """Return the spaces whose memory `session` may have read, whatever was chosen since: what an answer was made from
    can still be opened."""
    return _spaces_of(session, MemoryChoice.ALL)


def _spaces_of(session: ChatSession, memory: str) -> list[Space]:
    if session.is_temporary or memory == MemoryChoice.NONE:
        return []
    if is_shared(session):
        return [own_space(session)]
    spaces = [own_space(session)] if memory != MemoryChoice.SPACE else []
    if session.space_id is not None and memory != MemoryChoice.OWN:
        # Former members may not read the space.
        shared = Space.objects.visible_to(session.owner).filter(pk=session.space_id)
        spaces += shared.exclude(pk__in=[space.pk for space in spaces])
    return spaces


def libraries_of(session: ChatSession) -> list[Space]:
    """Return those of `spaces_of(session)` whose library has files; an agent's own memory has none."""
    return once(("libraries", session.pk), lambda: _libraries_of(session))


def _libraries_of(session: ChatSession) -> list[Space]:
    found = [space for space in spaces_of(session) if space.kind != Space.Kind.AGENT]
    contents = contents_of(found)
    return [space for space in found if contents[space.pk].has_files]


def may_search_libraries(session: ChatSession) -> bool:
    """Return whether `session` may search files of libraries, and there are any."""
    return bool(libraries_of(session))


def own_space(session: ChatSession) -> Space:
    """Return the space that `session` writes, and reads first unless another memory was chosen for it.

    That is the own space of its owner or, for an agent with its own memory, the space of that agent and owner. A
    session that is shared with the members of a space has that space.
    """
    if is_shared(session):
        # A session is shared only with a space: without one, nothing may be read or written.
        return once(("shared space", session.space_id), lambda: Space.objects.get(pk=session.space_id or 0))
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
    """Return the own spaces of `users` by person. Their contents, and what these people chose of the switches, are read
    by the same statement."""
    choices = switches.newest_choices(OuterRef("owner")).values(choice=JSONObject(switch="switch", on="on"))
    spaces = Space.objects.filter(owner__in=users, kind=Space.Kind.OWN)
    found: dict[int, Space] = {}
    for space in spaces.annotate(
        choices=ArraySubquery(choices), has_notes=HAS_NOTES, has_skills=HAS_SKILLS, has_files=HAS_FILES
    ):
        keep_contents(space.pk, SpaceContents(space.has_notes, space.has_skills, space.has_files))
        keep(switches.kept_as(space.owner_id), {each["switch"]: each["on"] for each in space.choices})
        found[space.owner_id] = space
    return found


def shared_space(session: ChatSession) -> Space | None:
    """Return the shared space that a private `session` reads besides its own one; None without one, for a shared
    session, and for a former member."""
    if is_shared(session) or session.space_id is None:
        return None
    return next((space for space in spaces_of(session) if space.pk == session.space_id), None)


def may_ask(user: User, session: ChatSession) -> bool:
    """Return whether a turn of `user` in `session` may read its memory now: in a shared one, members may."""
    if not is_shared(session):
        return True
    return Space.objects.visible_to(user).filter(pk=session.space_id or 0).exists()


def own_documents(session: ChatSession) -> MemoryDocumentQuerySet:
    """Return the documents of `own_space(session)`, without a query for the space of a person."""
    if is_shared(session):
        return MemoryDocument.objects.filter(space=session.space_id)
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
    return (Switch.RECENT if path == RECENT_NAME else Switch.SAVED) in on


def find_document(session: ChatSession, path: str) -> MemoryDocument | None:
    """Return the document at `path` that `session` may read; None without one.

    A path alone is of the space that the session writes. A document of the shared space that a private session reads
    besides has the path that memory/policy/addresses.py gives it. A skill is read as its person approved it
    (memory/skills/), and not as a document.
    """
    space_id, path = located(path)
    try:
        path = checked_path(path)
    except BadPathError:
        return None
    if is_in_skill(path) or not may_read_path(path, switches_of(session)):
        return None
    spaces = [space for space in spaces_of(session) if space_id in (None, space.pk)]
    # A path without a space is also found in the shared one, as earlier conversations know it.
    found = (space.documents.present().filter(path=path).first() for space in spaces)
    return next((document for document in found if document is not None), None)


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
