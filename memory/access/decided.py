"""Decide what one asker may read and write of memory in one conversation. Pure: made of facts, without a query."""

from dataclasses import dataclass

from chat.models import ChatSession, MemoryChoice
from memory.models import SwitchChoice
from memory.policy.paths import SUB_SESSION_FILES
from oneclaw.models import Space, SpaceMember, User

Switch = SwitchChoice.Switch


@dataclass(frozen=True)
class KnownSpace:
    """A space, and what the statement that loaded it found there: notes (documents besides the workspace files and
    skills), skills, and files in its library."""

    space: Space
    has_notes: bool = False
    has_skills: bool = False
    has_files: bool = False


@dataclass(frozen=True)
class AccessFacts:
    """The rows that a decision depends on: the conversation with its agent, the spaces that it may be about, and the
    switches that are on (those of its owner or, in a shared one, those of every space)."""

    session: ChatSession
    on: frozenset[str]
    # The own space of its owner; not loaded for a shared conversation, which has nothing of a person.
    own: KnownSpace | None = None
    # What its agent remembers of its owner, if the agent has a memory of its own.
    agents: KnownSpace | None = None
    # The shared space that it is in.
    space: KnownSpace | None = None
    # The role there: of the owner of a private conversation, and of the person who asks in a shared one; "": none.
    role: str = ""


@dataclass(frozen=True)
class MemoryAccess:
    """What one asker may read and write of memory in one conversation, by these rules:

    ============================  ============  ===================  =============  =====  =====  ============
    conversation                  reads         files in the head    transcripts    saves  notes  skills
    ============================  ============  ===================  =============  =====  =====  ============
    private                       own           all                  own            own    own    own
    in a space                    own, space    all                  own, space     own    own    own, space
    in a space, memory own        own           all                  own            own    own    own
    in a space, memory space      space         all                  space          own    own    space
    memory none                   -             -                    -              -      own    -
    in a space that was left      own           all                  own            own    own    own
    agent with its own memory     agent         all                  -              agent  agent  own
    such an agent in a space      agent, space  all                  -              agent  agent  own, space
    shared                        space         all                  space          space  space  space
    shared, memory none           -             -                    -              -      space  -
    shared, archived              space         all                  space          -      -      space
    sub-session                   own           AGENTS.md, TOOLS.md  own            own    own    own
    scheduled turn                own           all                  own            own    -      own
    peer who is not the owner     -             -                    -              -      own    -
    mode chat                     own           all                  own            -      -      own
    temporary                     -             -                    -              -      -      -
    ============================  ============  ===================  =============  =====  =====  ============

    `own` is the owner's own space, `agent` the space of what the agent remembers of the owner, `space` the shared space
    that the conversation is in. A switch that is off removes its column: `saved` the saves and the notes, `transcripts`
    the transcripts. Messages that were said without memory are left out of what is noted, so those of a peer always
    are. In a shared conversation, a person who has no role in the space any more is sent nothing of it (`may_ask`), and
    a reader saves nothing (`may_change`).

    A model server that may be sent no memory has no row: chat asks memory for nothing then. A program that is no
    conversation searches by memory/access/sources.py, and writes by the role of its person (memory/access/rights.py).
    """

    session: ChatSession
    on: frozenset[str]
    # The space of its words: it is written, and read first unless another memory was chosen.
    home: KnownSpace
    # The spaces whose documents are read, the one that is written first.
    reads: tuple[KnownSpace, ...]
    # What would be read by another memory choice: an answer from before the choice can still be opened.
    could_read: tuple[Space, ...]
    # Of whom transcripts are read: of the owner, and of the members of the space who shared theirs with it.
    reads_own_transcripts: bool
    reads_shared_transcripts: bool
    # The spaces whose skills may be used, in the order of precedence.
    skills: tuple[KnownSpace, ...]
    # The space that save_memory writes; None: it is not offered.
    saves_to: Space | None
    # The space whose daily log gets the notes; None: nothing is noted.
    notes_to: Space | None
    # The space whose members may search its transcript, and whether it is kept for that at all.
    transcript_space: Space
    keeps_transcript: bool
    # Whether the asker has a role by which the memory of the shared space may be changed.
    may_change: bool
    # Whether a turn of the asker may read the memory of the conversation now.
    may_ask: bool

    @classmethod
    def of(cls, facts: AccessFacts) -> "MemoryAccess":
        """Return the decision for these facts."""
        session, on, space = facts.session, facts.on, facts.space
        is_shared = session.shared_at is not None
        home = space if is_shared else facts.agents or facts.own
        if home is None:
            raise Space.DoesNotExist
        # A former member may not read the space.
        second = space if space and facts.role and not (is_shared or space.space.is_private) else None
        reads = _read(session.memory, session, home, second)
        is_closed = is_shared and home.space.archived_at is not None
        may_write = session.mode == ChatSession.Mode.AGENT and Switch.SAVED in on and not is_closed
        is_talk = session.kind != ChatSession.Kind.BEAT and session.deleted_at is None
        reads_own = not is_shared and home in reads
        has_transcripts = bool(reads) and Switch.TRANSCRIPTS in on and facts.agents is None
        return cls(
            session,
            on,
            home,
            reads,
            could_read=tuple(known.space for known in _read(MemoryChoice.ALL, session, home, second)),
            reads_own_transcripts=has_transcripts and reads_own,
            reads_shared_transcripts=has_transcripts and space in reads,
            skills=tuple(facts.own if known is facts.agents and facts.own else known for known in reads),
            saves_to=home.space if may_write and session.memory != MemoryChoice.NONE else None,
            notes_to=home.space if may_write and is_talk else None,
            # An agent with a memory of its own has the transcripts of its person; others do not read them.
            transcript_space=facts.own.space if facts.own else home.space,
            keeps_transcript=session.mode == ChatSession.Mode.AGENT and is_talk and facts.agents is None,
            may_change=facts.role in SpaceMember.WRITERS and not is_closed,
            may_ask=bool(facts.role) or not is_shared,
        )

    @property
    def is_of_space(self) -> bool:
        """Return whether the members of a space read and continue the conversation, so that nothing of a person is in
        it."""
        return self.session.shared_at is not None

    @property
    def person(self) -> User | None:
        """Return the person whose memory it reads; None for a shared conversation."""
        return None if self.is_of_space else self.session.owner

    @property
    def may_read(self) -> bool:
        """Return whether any memory is read: none in a temporary conversation, and where none was chosen."""
        return not self.session.is_temporary and self.session.memory != MemoryChoice.NONE

    @property
    def reads_home(self) -> bool:
        """Return whether the space that is written is also read."""
        return self.home in self.reads

    @property
    def second(self) -> KnownSpace | None:
        """Return the shared space that a private conversation reads besides its own memory, or in place of it."""
        return next((known for known in self.reads if known != self.home), None)

    @property
    def after_seq(self) -> int:
        """Return the number of the last message from before it was shared, which is its owner's alone; 0: none."""
        return self.session.shared_seq if self.is_of_space else 0

    @property
    def spaces(self) -> list[Space]:
        """Return the spaces whose documents are read, the one that is written first."""
        return [known.space for known in self.reads]

    @property
    def libraries(self) -> list[Space]:
        """Return those of `spaces` whose library has files; an agent's own memory has none."""
        return [each.space for each in self.reads if each.has_files and each.space.kind != Space.Kind.AGENT]

    @property
    def head_files(self) -> tuple[str, ...] | None:
        """Return the paths of the only documents that the system text holds; None: of all that it may hold."""
        return SUB_SESSION_FILES if self.session.kind == ChatSession.Kind.SUB_SESSION else None

    @property
    def may_search(self) -> bool:
        """Return whether there may be anything to search."""
        reads_documents = self.may_read and bool({Switch.SAVED, Switch.RECENT} & self.on)
        return reads_documents or self.reads_transcripts

    @property
    def reads_transcripts(self) -> bool:
        """Return whether any transcripts are read."""
        return self.reads_own_transcripts or self.reads_shared_transcripts

    @property
    def reads_its_own_transcript(self) -> bool:
        """Return whether its own messages that left the view are found: they are its owner's, or those of its space."""
        return self.reads_shared_transcripts if self.is_of_space else self.reads_own_transcripts

    @property
    def reads_conversations(self) -> bool:
        """Return whether the model may read other conversations of the owner."""
        return not self.is_of_space and self.reads_home and Switch.TRANSCRIPTS in self.on


def _read(memory: str, session: ChatSession, home: KnownSpace, second: KnownSpace | None) -> tuple[KnownSpace, ...]:
    """Return the spaces that are read where `memory` is chosen; `second` is the space of a private conversation."""
    if session.is_temporary or memory == MemoryChoice.NONE:
        return ()
    if session.shared_at is not None:
        return (home,)
    first = () if memory == MemoryChoice.SPACE else (home,)
    return first if second is None or memory == MemoryChoice.OWN else (*first, second)
