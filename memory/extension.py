"""Define the chat extension of memory: tools, prompt sections, command, the line under answers, details of answers,
search, what is stored before a summary, and the walk of a demo."""

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chat.extensions import (
    AnswerLine,
    Extension,
    MessageContext,
    PromptSection,
    ScheduledContext,
    SpaceTab,
    ToolCommand,
)
from memory.access import former
from memory.access.load import access_of
from memory.access.reading import reading as reading_once
from memory.access.transcripts import readable_messages
from memory.library import picking
from memory.notes import compaction
from memory.overview import remains
from memory.policy import secrets, tombstones
from memory.prompt import added_documents, message_context, recall, scheduled
from memory.prompt.items import NAME
from memory.provenance import cited, details, used
from memory.skills import offering
from memory.tools import citing, get, library, reading, save_memory, skill_read
from memory.views import conversations, inbox, palette
from memory.walk import card

MEMORY = Extension(
    name=NAME,
    for_spaces=True,
    reading=reading_once,
    tools=(save_memory.SAVE, reading.SEARCH, get.GET, skill_read.READ, library.SEARCH, library.GET),
    prompt_sections=(
        PromptSection("memory", 200, recall.workspace_section, recall.workspace_items),
        PromptSection("skills", 250, offering.skills_section, offering.skill_items),
        PromptSection("recall", 300, recall.guidelines_section),
    ),
    prepare_prompt=recall.prepare_prompt,
    prompt_condition=recall.prompt_condition,
    message_context=MessageContext(
        message_context.message_items,
        message_context.message_text,
        citing.sent_with_message,
        added_documents.without_lost,
    ),
    picker=picking.PICKER,
    scheduled=ScheduledContext(scheduled.checklist, scheduled.scheduled_items, recall.workspace_section),
    commands={"/remember": ToolCommand("save_memory", "content", _("Save to memory"), _("I will remember that."))},
    answer_line=AnswerLine(used.count, used.sentence, lambda id: reverse("message_memories", args=[id])),
    source_address=cited.source_address,
    details=details.details,
    search=palette.search,
    related=conversations.related,
    waiting=inbox.waiting_items,
    forgetter=lambda session: tombstones.of_space(access_of(session).home.space.pk).without_forgotten_words,
    mask=lambda text: secrets.masked(text)[0],
    prepare_compaction=compaction.prepare,
    lookup_hint=get.lookup_hint,
    reads_conversations=lambda session: access_of(session).reads_conversations,
    readable_messages=readable_messages,
    lost_addresses=former.lost_addresses,
    addresses_in=former.addresses_in,
    remains=remains.of_conversations,
    summary_notes=lambda session, through: [
        *skill_read.read_notes(session, through),
        *get.file_notes(session, through),
    ],
    mentions=offering.mentions,
    introduction=card.card,
    space_tabs=(
        SpaceTab(200, "memory", _("Memory"), "space_memory"),
        SpaceTab(800, "instructions", _("Instructions"), "space_instructions"),
    ),
)
