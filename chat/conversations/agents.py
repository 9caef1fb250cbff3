"""A person's own agents: made, changed, deleted."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from chat.conversations import model_choice
from chat.models import Agent
from chat.turns.tools import registry
from oneclaw.models import User
from oneclaw.text import BadText, checked

LONGEST_INSTRUCTIONS = 20_000


@dataclass(frozen=True)
class Draft:
    """What a person wants an agent to be; `model` "": the server's, `tools` the names of those that are on."""

    name: str
    instructions: str
    model: str
    tools: Collection[str]
    own_memory: bool = False


def checked_draft(name: object, instructions: object, model: object, tools: Collection[str], memory: object) -> Draft:
    """What a form brought; BadText says what is wrong with it."""
    word = " ".join(checked(name, longest=Agent.LONGEST_NAME, name=_("The name")).split())
    text = str(instructions or "")
    if text.strip():
        text = checked(text, longest=LONGEST_INSTRUCTIONS, name=_("The text of the instructions"))
    if model and model not in model_choice.offered():
        raise BadText("not_offered", _("This model is not available. Choose another one."))
    return Draft(word, text.strip(), str(model or ""), tools, memory == "own")


def make(user: User, draft: Draft) -> Agent:
    slug = f"{slugify(draft.name)[:40] or 'agent'}-{secrets.token_hex(6)}"
    agent = Agent(owner=user, slug=slug, own_memory=draft.own_memory)
    return write(agent, draft)


def write(agent: Agent, draft: Draft) -> Agent:
    """Change the agent, for conversations that begin from now on; whose memory it has stays as it was made."""
    agent.name, agent.instructions, agent.model = draft.name, draft.instructions, draft.model
    unknown = set(agent.tools_off) - set(registry.labels())
    agent.tools_off = sorted(unknown | (set(registry.labels()) - set(draft.tools)))
    agent.save()
    return agent


@transaction.atomic
def delete(agent: Agent) -> None:
    """Nobody can choose it any more. Its conversations stay as they are and can go on; its row goes with the last one,
    or at once when there is none."""
    row = Agent.objects.select_for_update().get(pk=agent.pk)
    if row.sessions.exists():
        row.deleted_at = timezone.now()
        row.save(update_fields=["deleted_at"])
    else:
        row.delete()
