"""The head of a conversation's requests: when it is made, and when it is replaced.

The provider's models check that nothing before their signed thinking has changed, so a head stays as it was sent first.
What must leave it (a switch or a tool that was turned off, a forgotten line) makes a new head; from then on, earlier
thinking is not sent, because it is bound to the old head and may repeat what left.
"""

import datetime as dt
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.template.loader import get_template
from django.utils import timezone

from chat import extensions
from chat.answering import answers_without_memory
from chat.conversations import statements
from chat.extensions import ContextItem, PromptSection, Tool
from chat.models import ChatSession, Head
from chat.models.heads import SECTION_BREAK
from oneclaw.llm import ToolDefinition

# How the condition of a head begins that holds nothing of anybody's memory.
WITHOUT_MEMORY = "without memory;"


def holds_memory(head: Head) -> bool:
    """Return whether anything of a memory may be in `head`."""
    return not head.condition.startswith(WITHOUT_MEMORY)


def head_of(session: ChatSession, asker_id: int | None = None) -> Head:
    """Return the head for the next request of `session`, which answers the person `asker_id`; None: its owner. Sync.

    It is the one of the last request, unless something must leave it.
    """
    head = session.head
    if head is None or head.tools is None:
        return make_head(session, asker_id)
    is_away = answers_without_memory(session, asker_id)
    # The condition first: it reads the person's switches together with their space, which the tools then find read.
    is_current = head.condition == condition_of(session, is_away)
    return head if is_current and not has_lost_a_tool(head, session, is_away) else make_head(session, asker_id)


@transaction.atomic
def make_head(session: ChatSession, asker_id: int | None = None) -> Head:
    """Store a new head of `session` as memory and tools are now, and withhold earlier thinking."""
    # Locked, so that a line that is forgotten at the same time is in no head afterwards.
    ChatSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    # Asked once for all parts of the head: the rules about models are read again every few seconds.
    is_away = answers_without_memory(session, asker_id)
    texts, context = section_texts(session, is_away)
    head = Head(
        session=session,
        reason=Head.Reason.SWITCHED,
        system=SECTION_BREAK.join(text for _, text in texts),
        sections=[[name, len(text)] for name, text in texts],
        context=context,
        tools=tool_definitions(session, is_away),
        condition=condition_of(session, is_away),
    )
    if is_away != answers_without_memory(session, asker_id):
        # Who may use which model has changed meanwhile.
        return make_head(session, asker_id)
    statements.add_head(session, head)
    session.head = head
    if head.number > 1:
        withhold_thinking(session, session.last_complete_seq())
    return head


def withhold_thinking(session: ChatSession, through_seq: int) -> None:
    """Do not send the thinking of messages up to `through_seq` any more, because something before it has changed."""
    raised = Greatest(F("thinking_after_seq"), through_seq)
    ChatSession.objects.filter(pk=session.pk).update(thinking_after_seq=raised)
    session.thinking_after_seq = max(session.thinking_after_seq, through_seq)


def section_texts(session: ChatSession, is_away: bool) -> tuple[list[tuple[str, str]], dict[str, list[ContextItem]]]:
    """Return (name, text) of each prompt section that is not empty, in order, and the items that each extension quotes
    in them; `is_away`: without any of a memory. Sync."""
    sections = [("", AGENT_SECTION)]
    asked = extensions.installed_for(session, is_away=is_away)
    sections += [(each.name, section) for each in asked for section in each.prompt_sections]
    texts: list[tuple[str, str]] = []
    quoted: dict[str, list[ContextItem]] = {}
    for name, section in sorted(sections, key=lambda each: (each[1].order, each[1].name)):
        if items := section.items(session):
            quoted.setdefault(name, []).extend(items)
        if text := section.render(session, items).strip():
            texts.append((section.name, text))
    return texts, quoted


def agent_section(session: ChatSession, items: Sequence[ContextItem]) -> str:
    """Return the section about the agent, the person and the day; in a shared conversation about its people."""
    if session.is_shared:
        about = {"agent": session.agent, "space": session.space, "since": session.shared_at}
        with timezone.override(dt.UTC):
            return get_template("shared_agent.txt", using="prompts").render(about)
    context = {"agent": session.agent, "person": session.owner, "today": session.created_at}
    # A template formats times in the active time zone: use the person's, also in a worker.
    with timezone.override(session.owner.zone):
        return get_template("agent.txt", using="prompts").render(context)


AGENT_SECTION = PromptSection("agent", 100, agent_section)


def tool_definitions(session: ChatSession, is_away: bool) -> list[ToolDefinition]:
    """Return the tools that `session` may use, in the API's form; `is_away`: without those of a memory."""
    return [tool_definition(tool) for tool in extensions.tools_for(session, is_away=is_away)]


def tool_definition(tool: Tool) -> ToolDefinition:
    """Return `tool` in the API's form."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)}


def condition_of(session: ChatSession, is_away: bool) -> str:
    """Return a text that identifies what the head depends on apart from the session: switches and tools, and whether it
    is for a model that is sent no memory (`is_away`)."""
    found = [WITHOUT_MEMORY] if is_away else []
    if session.shared_at is not None:
        # What is of one person leaves when it is shared, and comes back when it is private again.
        found.append(f"shared with {session.space_id} since {session.shared_at.timestamp()}")
    found.append(extensions.memory_for(session, is_away=is_away).prompt_condition(session))
    return " ".join(filter(None, found))


def has_lost_a_tool(head: Head, session: ChatSession, is_away: bool) -> bool:
    """Return whether the head defines a tool that `session` may not use any more; `is_away`: also one of a memory.

    A tool that no extension brings any more stays defined: a call of it is answered with an error.
    """
    known, kept = extensions.tool_labels(), extensions.tools_to_keep(session, is_away=is_away)
    return any(tool["name"] in known and tool["name"] not in kept for tool in head.tools or ())
