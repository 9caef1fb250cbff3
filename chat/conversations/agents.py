"""A person's own agents: create, update, delete."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from chat import extensions
from chat.conversations import model_choice
from chat.models import Agent, DmScope, Effort
from oneclaw.audit import holds
from oneclaw.models import User
from oneclaw.text import InvalidTextError, validated_text

INSTRUCTIONS_MAX_CHARS = 20_000


@dataclass(frozen=True)
class AgentDraft:
    """The fields of an agent's form; `model` and `effort` "" are the server's, `tools` has the names of those on."""

    name: str
    instructions: str
    model: str
    tools: Collection[str]
    own_memory: bool = False
    effort: str = ""
    # Of DmScope; "" is the server's.
    dm_scope: str = ""


def checked_draft(
    name: object,
    instructions: object,
    model: object,
    tools: Collection[str],
    memory: object,
    effort: object = "",
    dm_scope: object = "",
    *,
    models: Collection[str] | None = None,
) -> AgentDraft:
    """Return the checked fields of a form. `models` are those that the person may use; None: all that are offered.

    Raise InvalidTextError when one is invalid.
    """
    agent_name = " ".join(validated_text(name, max_chars=Agent.NAME_MAX_CHARS, name=_("The name")).split())
    text = str(instructions or "")
    if text.strip():
        text = validated_text(text, max_chars=INSTRUCTIONS_MAX_CHARS, name=_("The text of the instructions"))
    if model and model not in (model_choice.offered_models() if models is None else models):
        raise InvalidTextError("not_offered", _("This model is not available. Choose another one."))
    if effort and effort not in Effort:
        raise InvalidTextError("not_offered", _("This effort is not available. Choose another one."))
    scope = str(dm_scope or "")
    if scope and scope not in DmScope:
        raise InvalidTextError("not_offered", _("This choice is not available. Choose another one."))
    return AgentDraft(agent_name, text.strip(), str(model or ""), tools, memory == "own", str(effort or ""), scope)


def create(user: User, draft: AgentDraft) -> Agent:
    """Create an agent of the person's with the fields of `draft`."""
    slug = f"{slugify(draft.name)[:40] or 'agent'}-{secrets.token_hex(6)}"
    agent = Agent(owner=user, slug=slug, own_memory=draft.own_memory)
    return update(agent, draft)


def update(agent: Agent, draft: AgentDraft) -> Agent:
    """Save the fields of `draft` in `agent`, except `own_memory`, which never changes."""
    agent.name, agent.instructions = draft.name, draft.instructions
    agent.model, agent.effort, agent.dm_scope = draft.model, draft.effort, draft.dm_scope
    unknown = set(agent.tools_off) - set(extensions.tool_labels())
    agent.tools_off = sorted(unknown | (set(extensions.tool_labels()) - set(draft.tools)))
    agent.tools_on = sorted(extensions.optional_tools().keys() & set(draft.tools))
    agent.save()
    return agent


def turn_on(user: User, tools: Collection[str]) -> None:
    """Offer those of `tools` that are off unless they are chosen in all conversations of `user`, and no others."""
    user.tools_on = sorted(extensions.optional_tools().keys() & set(tools))
    user.save(update_fields=["tools_on"])


def is_on(agent: Agent, name: str) -> bool:
    """Return whether the form of `agent` shows the tool `name` as turned on."""
    return name not in agent.tools_off and (name not in extensions.optional_tools() or name in (agent.tools_on or ()))


@transaction.atomic
def delete(agent: Agent) -> None:
    """Delete `agent`, so that it cannot be chosen any more.

    Its conversations stay and can be continued; the row is removed with the last of them, or now when there is none.
    What a legal hold keeps is only marked.
    """
    row = Agent.objects.select_for_update().get(pk=agent.pk)
    if row.sessions.exists() or (row.owner_id is not None and holds.is_held(row.owner_id)):
        row.deleted_at = timezone.now()
        row.save(update_fields=["deleted_at"])
    else:
        row.delete()
