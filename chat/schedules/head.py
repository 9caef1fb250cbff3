"""The request of a beat: its own head, and one message by the schedule. Both keep their size from beat to beat."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.template.loader import get_template
from django.utils import timezone, translation

from chat import extensions
from chat.answering import answers_without_memory
from chat.context.heads import WITHOUT_MEMORY, agent_section, holds_memory, tool_definition
from chat.conversations import statements
from chat.extensions import MEMORY_NAME, ContextItem, Tool
from chat.models import Beat, ChatSession, Head, Schedule
from chat.models.heads import SECTION_BREAK
from chat.schedules import grants, news
from chat.schedules.respond import RESPOND
from oneclaw.llm.quoting import quoted

# The notes of earlier beats take at most this share of the characters of a request without them, so that a beat never
# has more than 1.05 times the tokens of the first one.
NOTES_SHARE = 0.04


@dataclass(frozen=True)
class BeatContext:
    """What a beat is asked with, apart from its message."""

    checklist: str
    # What memory quotes from documents, and its text.
    items: Sequence[ContextItem] = ()
    text: str = ""
    # Whether it may hold anything of a memory, as everything that the beat is asked with may then.
    holds_memory: bool = True


def context_of(schedule: Schedule, session: ChatSession) -> BeatContext:
    """Return what memory gives to a beat of `schedule` in its hidden `session`, which need not be stored."""
    is_away = answers_without_memory(session)
    memory = extensions.memory_for(session, is_away=is_away)
    memory.prepare_prompt(session)
    checklist = memory.checklist(session) if schedule.is_heartbeat else ""
    items = memory.scheduled_items(session, schedule.is_heartbeat)
    text = memory.scheduled_text(session, items).strip()
    return BeatContext(checklist, items, text, holds_memory=not is_away)


def tools_of(schedule: Schedule, session: ChatSession, *, holds_memory: bool = True) -> list[Tool]:
    """Return the tools that a beat is offered, in the order of their names."""
    granted = [tool for tool in grants.tools_of(schedule, session) if holds_memory or not tool.about_memory]
    return sorted([*granted, RESPOND], key=lambda tool: tool.name)


@transaction.atomic
@translation.override("en")
def make_head(schedule: Schedule, session: ChatSession, context: BeatContext) -> Head:
    """Store the head of the hidden `session` of a beat."""
    may_write = ", ".join(tool.name for tool in grants.tools_of(schedule, session) if tool.name in schedule.tools)
    said = {"person": session.owner, "is_heartbeat": schedule.is_heartbeat, "may_write": may_write}
    rules = get_template("beat.txt", using="prompts").render(said).strip()
    of_memory = [(MEMORY_NAME, context.text)] if context.text else []
    texts = [("agent", agent_section(session, ()).strip()), *of_memory, ("schedule", rules)]
    head = Head(
        session=session,
        system=SECTION_BREAK.join(text for _, text in texts),
        sections=[[name, len(text)] for name, text in texts],
        context={MEMORY_NAME: list(context.items)} if context.items else {},
        tools=[tool_definition(tool) for tool in tools_of(schedule, session, holds_memory=context.holds_memory)],
        condition="" if context.holds_memory else WITHOUT_MEMORY,
    )
    statements.add_head(session, head)
    session.head = head
    return head


@translation.override("en")
def message_text(beat: Beat, session: ChatSession, head: Head) -> str:
    """Return the message by the schedule with which `beat` is asked."""
    schedule, owner = beat.schedule, session.owner
    # Titles and earlier notes are words of models that may have known a memory.
    titles = news.titles_since(session, news.last_asked_at(beat)) if holds_memory(head) else []
    context = {
        "now": owner.local(session.created_at),
        "zone": owner.timezone,
        "person": owner,
        "task": "" if schedule.is_heartbeat else schedule.text,
        "titles": quoted("titles", "\n".join(f"- {title}" for title in titles)) if titles else "",
    }
    template = get_template("beat_message.txt", using="prompts")
    # A template formats times in the active time zone.
    with timezone.override(owner.zone):
        room = int(NOTES_SHARE * (len(head.system) + len(str(head.tools)) + len(template.render(context))))
        earlier = news.notes_before(beat, session) if holds_memory(head) else []
        notes = [note[: room // news.MAX_NOTES] for note in earlier]
        context["notes"] = quoted("notes", "\n".join(f"- {note}" for note in notes)) if notes else ""
        return template.render(context).strip()
