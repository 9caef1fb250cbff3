"""The agent of a conversation, which its first message decides, and its model and effort, which may change later."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chat.models import Agent, ChatSession, Effort, MemoryChoice, default_agent
from oneclaw import llm
from oneclaw.models import Space, SpaceQuerySet, User
from oneclaw.text import UserFacingError


class NotOfferedError(UserFacingError):
    """The chosen agent, model or effort is not available. `code` is a protocol error code."""

    code = "not_offered"


class NoSuchAgentError(NotOfferedError):
    """The agent does not exist any more."""

    wording = _("This agent no longer exists. Choose another one.")


class NoSuchModelError(NotOfferedError):
    """The model is not offered any more."""

    wording = _("This model is no longer available. Choose another one.")


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


def offered_models() -> dict[str, str]:
    """Return {model: label} of the models that every person may choose, the server's default among them.

    The demo model answers in place of each of them.
    """
    if llm.is_demo():
        return {settings.MODEL: label_of(llm.DEMO_MODEL)}
    own = settings.MODELS if settings.MODEL in settings.MODELS else {settings.MODEL: settings.MODEL, **settings.MODELS}
    if not settings.UPSTREAMS:
        return own
    return {model: label for each in reversed(settings.UPSTREAMS) for model, label in each.labels.items()} | own


def label_of(model: str) -> str:
    """Return the name of `model` that people are shown."""
    return gettext("Demo") if model == llm.DEMO_MODEL else model


def model_of(session: ChatSession) -> str:
    """Return the model that answers in `session`: the chosen one if still offered, else the agent's or the server's."""
    return session.model if session.model in offered_models() else model_of_agent(session.agent)


def model_of_agent(agent: Agent) -> str:
    """Return the model of `agent`, else the server's; a person's own agent may only have an offered one."""
    own = agent.model if agent.owner_id is None or agent.model in offered_models() else ""
    return own or settings.MODEL


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


def checked_model(choice: Choice) -> str:
    """Return the chosen model; "" for none. Raise NoSuchModelError when it is not offered."""
    if choice.model and choice.model not in offered_models():
        raise NoSuchModelError
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


def apply_choice(session: ChatSession, choice: Choice) -> None:
    """Apply `choice` to the locked `session`.

    Raise OtherAgentError when it names another agent, NoSuchModelError when the model is not offered,
    NoSuchEffortError when it is no level of effort, NoSuchMemoryError when it cannot read the memory.
    """
    if choice.agent is not None and choice.agent != session.agent.slug:
        raise OtherAgentError
    if choice.model is not None and choice.model != session.model:
        session.model = checked_model(choice)
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
    return last if last in offered_models() else ""
