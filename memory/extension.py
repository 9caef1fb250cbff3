"""Define what memory has for the chat: its part in a conversation, and its extension with tools, prompt sections,
context of messages, command and search."""

from collections.abc import Callable, Sequence

from django.utils.translation import gettext_lazy as _

from chat.extensions import Extension, MessageContext, PromptSection, SpaceTab, ToolCommand
from chat.models import ChatSession
from memory.access import former, transcripts
from memory.access import reading as reading_once
from memory.access.load import access_of
from memory.library import picking
from memory.notes import compaction
from memory.overview import remains
from memory.policy import secrets, tombstones
from memory.prompt import added_documents, message_context, recall, scheduled
from memory.prompt.items import NAME
from memory.provenance import cited, details, quoted
from memory.skills import offering
from memory.tools import citing, get, library, reading, save_memory, skill_read
from memory.views import conversations, inbox, palette, space_pages
from memory.walk import card


class ConversationMemory:
    """Memory's part in a conversation: the methods of chat.extensions.Memory, most of them functions of memory."""

    reading = staticmethod(reading_once.reading)
    prepare_prompt = staticmethod(recall.prepare_prompt)
    prompt_condition = staticmethod(recall.prompt_condition)
    checklist = staticmethod(scheduled.checklist)
    scheduled_items = staticmethod(scheduled.scheduled_items)
    scheduled_text = staticmethod(recall.workspace_section)
    waiting_for = staticmethod(inbox.waiting_items)
    introduction = staticmethod(card.card)
    details = staticmethod(details.details)
    answer_line = staticmethod(quoted.line_of_answer)
    worded_line = staticmethod(quoted.worded_line)
    source_address = staticmethod(cited.source_address)
    related = staticmethod(conversations.related)
    space_overview = staticmethod(space_pages.overview_html)
    remains = staticmethod(remains.of_conversations)
    mentions = staticmethod(offering.mentions)
    documents = staticmethod(picking.found)
    document = staticmethod(picking.pick)
    document_address = staticmethod(picking.address)
    library_link = staticmethod(picking.library_link)
    prepare_compaction = staticmethod(compaction.prepare)
    lookup_hint = staticmethod(get.lookup_hint)
    readable_messages = staticmethod(transcripts.readable_messages)
    lost_addresses = staticmethod(former.lost_addresses)
    addresses_in = staticmethod(former.addresses_in)

    def space_tabs(self) -> Sequence[SpaceTab]:
        return (
            SpaceTab(200, "memory", _("Memory"), "space_memory"),
            SpaceTab(800, "instructions", _("Instructions"), "space_instructions"),
        )

    def summary_notes(self, session: ChatSession, through_seq: int) -> list[str]:
        return [*skill_read.read_notes(session, through_seq), *get.file_notes(session, through_seq)]

    def cleaner(self, session: ChatSession) -> Callable[[str], str]:
        forgotten = tombstones.of_space(access_of(session).home.space.pk)
        return lambda text: self.masked(forgotten.without_forgotten_words(text))

    def masked(self, text: str) -> str:
        return secrets.masked(text)[0]

    def reads_conversations(self, session: ChatSession) -> bool:
        return access_of(session).reads_conversations


MEMORY = Extension(
    name=NAME,
    for_spaces=True,
    tools=(save_memory.SAVE, reading.SEARCH, get.GET, skill_read.READ, library.SEARCH, library.GET),
    prompt_sections=(
        PromptSection("memory", 200, recall.workspace_section, recall.workspace_items),
        PromptSection("skills", 250, offering.skills_section, offering.skill_items),
        PromptSection("recall", 300, recall.guidelines_section),
    ),
    message_context=MessageContext(
        message_context.message_items,
        message_context.message_text,
        citing.sent_with_message,
        added_documents.without_lost,
    ),
    commands={"/remember": ToolCommand("save_memory", "content", _("Save to memory"), _("I will remember that."))},
    search=palette.search,
)
