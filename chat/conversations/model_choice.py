"""Who answers in a conversation: the agent, which its first message decides, and the model, which may be changed."""

from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from chat.models import Agent, ChatSession, default_agent
from oneclaw.models import User
from oneclaw.text import Told


class NotOffered(Told):
    """What was chosen cannot be had. `code` is a protocol error code."""

    code = "not_offered"


class NoSuchAgent(NotOffered):
    """The agent is not there any more."""

    words = _("This agent no longer exists. Choose another one.")


class NoSuchModel(NotOffered):
    """The model is not offered any more."""

    words = _("This model is no longer available. Choose another one.")


class OtherAgent(NotOffered):
    """The conversation began with another agent."""

    code = "other_agent"
    words = _("This conversation was started with another agent. Start a new one for this.")


@dataclass(frozen=True)
class Choice:
    """What a message may name. None: whatever the conversation has; `model` "": the agent's, or the server's."""

    agent: str | None = None
    model: str | None = None


NO_CHOICE = Choice()


def offered() -> dict[str, str]:
    """The models that everybody may choose, with their labels; the server's default is among them."""
    return settings.MODELS if settings.MODEL in settings.MODELS else {settings.MODEL: settings.MODEL, **settings.MODELS}


def model_of(session: ChatSession) -> str:
    """Which model answers in the session: one chosen that is still offered, else the agent's, else the server's."""
    return session.model if session.model in offered() else model_of_agent(session.agent)


def model_of_agent(agent: Agent) -> str:
    """The agent's own model; what a person gave theirs only as long as it is offered."""
    own = agent.model if agent.owner_id is None or agent.model in offered() else ""
    return own or settings.MODEL


def agent_for(user: User, choice: Choice) -> Agent:
    """With whom a new conversation of this person begins. Raises NoSuchAgent."""
    if choice.agent is None:
        return default_agent()
    agent = Agent.objects.visible_to(user).filter(slug=choice.agent).first()
    if agent is None:
        raise NoSuchAgent
    return agent


def checked_model(choice: Choice) -> str:
    """The model that is chosen; "" for none. Raises NoSuchModel."""
    if choice.model and choice.model not in offered():
        raise NoSuchModel
    return choice.model or ""


def settle(session: ChatSession, choice: Choice) -> None:
    """Take up what is chosen for a locked session. Raises OtherAgent, NoSuchModel."""
    if choice.agent is not None and choice.agent != session.agent.slug:
        raise OtherAgent
    if choice.model is not None and choice.model != session.model:
        session.model = checked_model(choice)
        session.save(update_fields=["model"])


def last_model(user: User) -> str:
    """The model of the conversation in which the person wrote last, which a new one begins with; "" when it is not
    offered any more."""
    written = ChatSession.objects.filter(owner=user, last_seq__gt=0).order_by("-active_at")
    last = written.values_list("model", flat=True).first() or ""
    return last if last in offered() else ""
