"""The agent of a conversation, which its first message decides, and its model and effort, which may change later."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chat.answering import (
    answers_without_memory,
    label_of,
    model_of,
    model_of_agent,
    models_for,
    offered_models,
    wanted_model,
)
from chat.models import Agent, ChatSession, Effort, MemoryChoice, default_agent
from oneclaw import llm
from oneclaw.models import Space, SpaceQuerySet, User
from oneclaw.text import UserFacingError

__all__ = [
    "NO_CHOICE",
    "Choice",
    "agent_for",
    "answers_without_memory",
    "apply_choice",
    "label_of",
    "labelled",
    "last_model",
    "model_of",
    "model_of_agent",
    "models_for",
    "offered_models",
    "wanted_model",
]


class NotOfferedError(UserFacingError):
    """The chosen agent, model or effort is not available. `code` is a protocol error code."""

    code = "not_offered"


class NoSuchAgentError(NotOfferedError):
    """The agent does not exist any more."""

    wording = _("This agent no longer exists. Choose another one.")


class NoSuchModelError(NotOfferedError):
    """The model is not offered any more."""

    wording = _("This model is no longer available. Choose another one.")


class MayNotUseModelError(NotOfferedError):
    """The model is offered, but to other people."""

    wording = _("You may not use this model. Choose another one.")


class NoSuchEffortError(NotOfferedError):
    """There is no such level of effort."""

    wording = _("This effort is not available. Choose another one.")


class NoSuchSpaceError(NotOfferedError):
    """The space does not exist any more, is archived, or the person is not in it any more."""

    wording = _("This space is no longer open to you. Choose another one, or none.")


class NoSuchMemoryError(NotOfferedError):
    """The conversation cannot read this memory."""

    wording = _("This conversation cannot read that memory. Choose another one.")


class OtherAgentError(NotOfferedError):
    """The conversation began with another agent."""

    code = "other_agent"
    wording = _("This conversation was started with another agent. Start a new one for this.")


@dataclass(frozen=True)
class Choice:
    """The agent, model, effort and memory that a message names; None keeps those of the conversation.

    `model` and `effort` "" are those of the agent, or the server's. `space` is the id of the shared space in which a
    new conversation begins, private to its owner; None: in none. `memory` is one of MemoryChoice.
    """

    agent: str | None = None
    model: str | None = None
    effort: str | None = None
    space: int | None = None
    memory: str | None = None


NO_CHOICE = Choice()


def labelled(models: Mapping[str, str]) -> dict[str, str]:
    """Return {model: label} for a person who chooses: the label says when a model answers without memory."""
    return {model: _labelled(model, label) for model, label in models.items()}


def _labelled(model: str, label: str) -> str:
    without = gettext("%(model)s (without memory)")
    return without % {"model": label} if llm.answers_without_memory(model) else label


def effort_of(session: ChatSession) -> str:
    """Return the effort of answers in `session`: the chosen one, else the agent's; "" for the server's."""
    return session.effort or session.agent.effort


def offered_efforts(models: Iterable[str], chosen: str) -> list[tuple[str, str]]:
    """Return (level, label) of each level of effort and of "", when one of `models` accepts any or one is `chosen`.

    The demo model has none.
    """
    if llm.is_demo():
        return []
    if not chosen and not any(llm.cached_facts(model).efforts for model in models):
        return []
    return [(level or "", str(label)) for level, label in Effort.choices]


def agent_for(user: User, choice: Choice) -> Agent:
    """Return the agent for a new conversation of `user`. Raise NoSuchAgentError when the chosen one does not exist."""
    if choice.agent is None:
        return default_agent()
    agent = Agent.objects.visible_to(user).filter(slug=choice.agent).first()
    if agent is None:
        raise NoSuchAgentError
    return agent


def checked_space(user: User, choice: Choice) -> int | None:
    """Return the id of the chosen space; None for none. Raise NoSuchSpaceError unless `user` may begin in it."""
    if choice.space is not None and not open_spaces(user).filter(pk=choice.space).exists():
        raise NoSuchSpaceError
    return choice.space


def open_spaces(user: User) -> SpaceQuerySet:
    """Return the shared spaces in which `user` may begin conversations, by name: those that are not archived."""
    return Space.objects.visible_to(user).shared().filter(archived_at=None).order_by("name", "pk")


def checked_model(user_id: int, choice: Choice) -> str:
    """Return the chosen model; "" for none. Raise NoSuchModelError, or MayNotUseModelError when it is not offered to
    this person."""
    if choice.model and choice.model not in offered_models():
        raise NoSuchModelError
    if choice.model and not llm.may_use(user_id, choice.model):
        raise MayNotUseModelError
    return choice.model or ""


def checked_effort(choice: Choice) -> str:
    """Return the chosen effort; "" for none. Raise NoSuchEffortError when it is no level of effort."""
    if choice.effort and choice.effort not in Effort:
        raise NoSuchEffortError
    return choice.effort or ""


def checked_memory(choice: Choice, *, space_id: int | None, is_shared: bool = False) -> str:
    """Return which memory a conversation is to read that is in this space, or in none.

    Raise NoSuchMemoryError when it cannot: a shared one reads nothing of a person, and one outside of every space has
    only its owner's memory.
    """
    wanted = choice.memory or MemoryChoice.ALL
    refused = {MemoryChoice.OWN} if is_shared else set() if space_id is not None else {MemoryChoice.SPACE}
    if wanted not in MemoryChoice or wanted in refused:
        raise NoSuchMemoryError
    return wanted


@dataclass(frozen=True)
class MemoryUse:
    """One way in which a conversation uses memory, as the field below a message offers it: whether memory is written
    (`mode`, a ChatSession.Mode), and which is read (`memory`, a MemoryChoice)."""

    mode: str
    memory: str
    label: str

    @property
    def value(self) -> str:
        """Return the value of the option."""
        return f"{self.mode}:{self.memory}"


def offered_uses(*, in_space: bool, is_shared: bool = False, mode: str = "") -> list[MemoryUse]:
    """Return the ways in which a conversation may use memory, the usual one first: of every mode for a new one, later
    those of its `mode`."""
    agent, chat, temporary = ChatSession.Mode.AGENT, ChatSession.Mode.CHAT, ChatSession.Mode.TEMPORARY
    everything, none = MemoryChoice.ALL, MemoryChoice.NONE
    uses = [MemoryUse(agent, everything, gettext("Memory on"))]
    reads_only = [MemoryUse(chat, everything, gettext("Memory: read only"))]
    if in_space and not is_shared:
        own, space = MemoryChoice.OWN, MemoryChoice.SPACE
        uses += [
            MemoryUse(agent, own, gettext("Memory on: only mine")),
            MemoryUse(agent, space, gettext("Memory on: only the space’s")),
        ]
        if mode:
            reads_only += [
                MemoryUse(chat, own, gettext("Read only: only mine")),
                MemoryUse(chat, space, gettext("Read only: only the space’s")),
            ]
    uses += reads_only
    uses.append(MemoryUse(mode or agent, none, gettext("Memory off")))
    uses.append(MemoryUse(temporary, everything, gettext("Temporary: nothing is kept")))
    return [use for use in uses if not mode or use.mode == mode]


def offered_memories(*, in_space: bool, is_shared: bool = False) -> list[tuple[str, str]]:
    """Return (choice, label) of each memory that a conversation may read, in a space or outside of every one."""
    none = (MemoryChoice.NONE.value, gettext("No memory"))
    if is_shared:
        return [(MemoryChoice.ALL.value, gettext("The space’s memory")), none]
    if not in_space:
        return [(MemoryChoice.ALL.value, gettext("My memory")), none]
    return [
        (MemoryChoice.ALL.value, gettext("My memory and the space’s")),
        (MemoryChoice.OWN.value, gettext("Only my memory")),
        (MemoryChoice.SPACE.value, gettext("Only the space’s memory")),
        none,
    ]


def memory_label(session: ChatSession) -> str:
    """Return the label of the memory that `session` reads."""
    if session.is_temporary:
        return gettext("No memory")
    offered = offered_memories(in_space=session.space_id is not None, is_shared=session.is_shared)
    return dict(offered).get(session.memory, offered[0][1])


def apply_choice(user_id: int, session: ChatSession, choice: Choice) -> None:
    """Apply the `choice` of this person to the locked `session`.

    Raise OtherAgentError when it names another agent, NoSuchModelError or MayNotUseModelError when the model is not
    offered to them, NoSuchEffortError when it is no level of effort, NoSuchMemoryError when it cannot read the memory.
    """
    if choice.agent is not None and choice.agent != session.agent.slug:
        raise OtherAgentError
    if choice.model is not None and choice.model != session.model:
        session.model = checked_model(user_id, choice)
        session.save(update_fields=["model"])
    if choice.effort is not None and choice.effort != session.effort:
        session.effort = checked_effort(choice)
        session.save(update_fields=["effort"])
    if choice.memory is not None and choice.memory != session.memory and not session.is_temporary:
        memory = checked_memory(choice, space_id=session.space_id, is_shared=session.is_shared)
        if session.memory == MemoryChoice.NONE and session.titled_by != session.Titled.PERSON:
            # A title that was made of what was said without memory would be found; the next message gives another one.
            begun = session.messages.filter(seq=1, is_apart=True)
            session.title = "" if begun.exists() else session.title
        session.memory = memory
        session.save(update_fields=["memory", "title"])


def last_model(user: User) -> str:
    """Return the model of the person's last active conversation, the default for a new one; "" when not offered."""
    written = ChatSession.objects.filter(owner=user, kind="", last_seq__gt=0).order_by("-active_at")
    last = written.values_list("model", flat=True).first() or ""
    return last if last and last in models_for(user.pk) else ""
