"""Define the chat extension of memory: tools, prompt sections, command, details of answers, search, and what is stored
before a summary."""

from django.utils.translation import gettext_lazy as _

from chat.extensions import Extension, MessageContext, PromptSection, ToolCommand
from memory.notes import compaction
from memory.policy import access, secrets, tombstones
from memory.policy.access import own_space
from memory.policy.reading import reading as reading_once
from memory.prompt import message_context, provenance, recall
from memory.prompt.items import NAME
from memory.tools import reading, save_memory
from memory.views import inbox, palette, remains

MEMORY = Extension(
    name=NAME,
    reading=reading_once,
    tools=(save_memory.SAVE, reading.SEARCH, reading.GET),
    prompt_sections=(
        PromptSection("memory", 200, recall.workspace_section, recall.workspace_items),
        PromptSection("recall", 300, recall.guidelines_section),
    ),
    prepare_prompt=recall.prepare_prompt,
    prompt_condition=recall.prompt_condition,
    message_context=MessageContext(message_context.message_items, message_context.message_text),
    commands={"/remember": ToolCommand("save_memory", "content", _("Save to memory"), _("I will remember that."))},
    details=provenance.details,
    search=palette.search,
    waiting=inbox.waiting_items,
    forgetter=lambda session: tombstones.of_space(own_space(session).pk).without_forgotten_words,
    mask=lambda text: secrets.masked(text)[0],
    prepare_compaction=compaction.prepare,
    lookup_hint=reading.lookup_hint,
    reads_conversations=access.reads_conversations,
    readable_messages=access.readable_messages,
    remains=remains.of_conversations,
)
