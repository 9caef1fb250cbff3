"""The request to the model: the stable sections first, then the conversation."""

from collections.abc import Sequence

from django.conf import settings
from django.template.loader import get_template
from django.utils import timezone, translation

from chat import extensions
from chat.context import per_message
from chat.context.files import AttachedFiles
from chat.conversations import model_choice
from chat.extensions import ContextItem, PromptSection
from chat.models import ChatSession, Message, Turn
from oneclaw.llm import ApiMessage, Block, Request, ToolDefinition

# Sent after a stopped answer when the person asks to continue it.
CONTINUE_REQUEST = "Your last answer was cut off. Continue exactly where it ended, without repeating anything."


def system_prompt(session: ChatSession) -> tuple[str, dict[str, list[ContextItem]]]:
    """Return the text of all prompt sections, in order, and the items that each extension quotes in them. Sync."""
    sections = [("", AGENT_SECTION)]
    sections += [(each.name, section) for each in extensions.installed() for section in each.prompt_sections]
    texts: list[str] = []
    quoted: dict[str, list[ContextItem]] = {}
    for name, section in sorted(sections, key=lambda each: (each[1].order, each[1].name)):
        if items := section.items(session):
            quoted.setdefault(name, []).extend(items)
        texts.append(section.render(session, items).strip())
    return "\n\n".join(text for text in texts if text), quoted


def agent_section(session: ChatSession, items: Sequence[ContextItem]) -> str:
    """Return the section about the agent, the person and the date."""
    context = {"agent": session.agent, "person": session.owner, "today": session.created_at}
    # A template formats times in the active time zone: use the person's, also in a worker.
    with timezone.override(session.owner.zone):
        return get_template("agent.txt", using="prompts").render(context)


AGENT_SECTION = PromptSection("agent", 100, agent_section)


def prompt_condition(session: ChatSession) -> str:
    """Return at most 200 characters that identify what the system prompt depends on apart from the session."""
    asked = (extension.prompt_condition for extension in extensions.installed())
    return " ".join(each(session) for each in asked if each)[:200]


@translation.override("en")
def build_request(turn: Turn, *, tools: bool = True) -> Request:
    """Build the request for the next answer of `turn`. Sync.

    The system prompt is built once per session and stored, so that its bytes stay the same and the provider's cache
    stays valid; it is rebuilt when `prompt_condition` has changed. Without `tools` the model sees the tools but must
    answer with text. The prompt is in English for every user.
    """
    session = ChatSession.objects.select_related("agent", "owner").get(pk=turn.session_id)
    made_for = prompt_condition(session)
    if session.system_prompt is None or session.system_prompt_for != made_for:
        session.system_prompt, session.system_context = system_prompt(session)
        session.system_prompt_for = made_for
        session.save(update_fields=["system_prompt", "system_context", "system_prompt_for"])
    offered: list[ToolDefinition] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)}
        for tool in extensions.tools_for(session)
    ]
    per_message.add_context(session, turn.prompt)
    messages = api_messages(session)
    if turn.kind == Turn.Kind.CONTINUE and messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": [{"type": "text", "text": CONTINUE_REQUEST}]})
    return Request(
        model=model_choice.model_of(session),
        system=[{"type": "text", "text": session.system_prompt, "cache_control": {"type": "ephemeral"}}],
        messages=with_cache_breakpoint(messages),
        tools=offered,
        tool_choice=None if tools or not offered else {"type": "none"},
        thinking=settings.THINKING,
    )


def api_messages(session: ChatSession) -> list[ApiMessage]:
    """Return the shown and finished messages in the form of the API: alternating roles, no empty block."""
    messages: list[ApiMessage] = []
    rows = list(session.messages.shown().finished().values_list("role", "content", "meta"))
    attached = AttachedFiles(session, [content for _, content, _ in rows])
    for index, (role, _, meta) in enumerate(rows):
        role = "assistant" if role == Message.Role.ASSISTANT else "user"
        content = attached.blocks(index)
        if text := per_message.text_of(meta):
            content = [{"type": "text", "text": text}, *content]
        blocks = [block for block in content if is_sendable(block)]
        # A message with only thinking is omitted.
        if all(block["type"] == "thinking" for block in blocks):
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return messages


def is_sendable(block: Block) -> bool:
    """Return whether `block` can be sent back: no empty text, and no thinking that was cut off before its signature."""
    if block["type"] == "thinking":
        return bool(block.get("signature"))
    return block["type"] != "text" or bool(block["text"].strip())


def with_cache_breakpoint(messages: list[ApiMessage]) -> list[ApiMessage]:
    """Return `messages` with a cache breakpoint on the newest one, so that the provider caches everything up to it."""
    last = messages[-1]["content"]
    last[-1] = {**last[-1], "cache_control": {"type": "ephemeral"}}
    return messages
