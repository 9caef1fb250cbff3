"""Say which messages and transcripts of conversations are memory, and for whom."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q, QuerySet

from chat.models import ChatSession, MessageQuerySet
from memory.access.decided import MemoryAccess, Switch
from memory.access.load import access_of, talks
from memory.access.programs import ProgramAccess
from memory.models import SwitchChoice
from memory.policy import switches
from oneclaw.models import Space

# The conversations that are shared with their space, as a condition.
SHARED = Q(shared_at__isnull=False)


def said_while_on(access: MemoryAccess, messages: MessageQuerySet, switch: SwitchChoice.Switch) -> MessageQuerySet:
    """Return those of the `messages` of a conversation that may be in memory: said while `switch` was on for its owner,
    and not by another person. In a shared one that is what everybody said. What was said without memory never may."""
    messages = messages.exclude(is_apart=True)
    if access.person is None:
        return messages if switch in access.on else messages.none()
    own = messages.filter(Q(author=None) | Q(author=access.person))
    return switches.said_while_on(own, access.person, switch)


def of_notes() -> QuerySet[ChatSession]:
    """Return the conversations of which notes are made, as `MemoryAccess.notes_to` says of one."""
    return _while_on(Switch.SAVED).exclude(SHARED, space__archived_at__isnull=False)


def of_transcripts() -> QuerySet[ChatSession]:
    """Return the conversations whose transcripts are searched, as `MemoryAccess.keeps_transcript` says of one, while
    the switch is on."""
    return _while_on(Switch.TRANSCRIPTS).exclude(~SHARED, agent__own_memory=True)


def _while_on(switch: SwitchChoice.Switch) -> QuerySet[ChatSession]:
    kept = talks().exclude(~SHARED, owner__in=switches.people_without(switch))
    return kept if switch in switches.of_spaces() else kept.exclude(SHARED)


def readable_messages(session: ChatSession, messages: MessageQuerySet) -> MessageQuerySet:
    """Return which of `messages`, of other conversations of its owner, the model of `session` may read."""
    if not access_of(session).reads_conversations:
        return messages.none()
    return switches.said_while_on(messages.exclude(is_apart=True), session.owner, Switch.TRANSCRIPTS)


def readable_transcripts(access: MemoryAccess) -> QuerySet[ChatSession]:
    """Return the conversations whose transcripts may be read, when the switch is on: in a private one those of its
    owner, and those that are shared with its space; in a shared one only the latter."""
    own = Q(~SHARED, owner=access.person) if access.person and access.reads_home else Q(pk=None)
    shared = [space.pk for space in access.spaces if not space.is_private]
    return ChatSession.objects.filter(own | Q(SHARED, space__in=shared), deleted_at=None)


def conversations_for_program(access: ProgramAccess) -> QuerySet[ChatSession]:
    """Return the conversations whose transcripts a program may read when it reads any: those of its person together
    with their own memory, and those that are shared with a space that it reads."""
    own = Q(~SHARED, owner=access.user) if any(space.is_private for space in access.spaces) else Q(pk=None)
    shared = [space.pk for space in access.spaces if not space.is_private]
    return ChatSession.objects.filter(own | Q(SHARED, space__in=shared), deleted_at=None)


def shared_conversations(session_ids: Iterable[str | UUID]) -> dict[UUID, Space]:
    """Return the spaces of those of these conversations that are shared with one, by their ids."""
    shared = ChatSession.objects.filter(SHARED, pk__in=list(session_ids)).select_related("space")
    return {session.pk: session.space for session in shared.only("space") if session.space}
