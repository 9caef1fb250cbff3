"""Which model answers in a conversation: the chosen one, its agent's, or the server's, as its person may use them."""

from django.conf import settings
from django.utils.translation import gettext

from chat.models.agents import Agent
from chat.models.conversations import ChatSession
from oneclaw import llm

# The key in Message.meta of an answer whose request held nothing of anybody's memory; missing: it may have held some.
WITHOUT_MEMORY_KEY = "without_memory"
# The key of an answer to a conversation that was sent as text alone.
PLAIN_KEY = "plain"
# The key of the label of the chosen model in whose place another one has answered.
INSTEAD_OF_KEY = "instead_of"


def offered_models() -> dict[str, str]:
    """Return {model: label} of the models that people may choose, the server's default among them.

    Without a first server, the demo model answers in place of its models.
    """
    if llm.is_demo():
        own = {settings.MODEL: label_of(llm.DEMO_MODEL)}
    elif settings.MODEL in settings.MODELS:
        own = settings.MODELS
    else:
        own = {settings.MODEL: settings.MODEL, **settings.MODELS}
    further = llm.further_labels()
    return further | own if further else own


def models_for(user_id: int) -> dict[str, str]:
    """Return {model: label} of the models that this person may choose."""
    return {model: label for model, label in offered_models().items() if llm.may_use(user_id, model)}


def label_of(model: str) -> str:
    """Return the name of `model` that people are shown."""
    return gettext("Demo") if model == llm.DEMO_MODEL else model


def model_of(session: ChatSession, asker_id: int | None = None) -> str:
    """Return the model that answers the person `asker_id` in `session`: the chosen one if it is still offered to them,
    else the agent's or the server's. None: the owner of the session."""
    person_id = asker_id or session.owner_id
    if session.model and session.model in offered_models() and llm.may_use(person_id, session.model):
        return session.model
    return model_of_agent(session.agent, person_id)


def model_of_agent(agent: Agent, user_id: int | None = None) -> str:
    """Return the model of `agent`, else the server's; a person's own agent may only have an offered one, and `user_id`
    only one that this person may use. None: the owner of the agent."""
    own = agent.model if agent.owner_id is None or agent.model in offered_models() else ""
    person_id = user_id or agent.owner_id
    return own if own and (person_id is None or llm.may_use(person_id, own)) else settings.MODEL


def wanted_model(session: ChatSession, asker_id: int | None = None) -> str:
    """Return the model that was chosen for `session` or its agent, if another one answers `asker_id` in its place;
    else ""."""
    wanted = session.model or session.agent.model
    return wanted if wanted and not llm.is_demo() and wanted != model_of(session, asker_id) else ""


def answers_without_memory(session: ChatSession, asker_id: int | None = None) -> bool:
    """Return whether the model that answers `asker_id` in `session` is sent nothing of anybody's memory."""
    return llm.answers_without_memory(model_of(session, asker_id))
