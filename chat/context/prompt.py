"""What the model is sent: the stable sections first, then the conversation."""

from typing import Any

from django.conf import settings
from django.template.loader import get_template
from django.utils import timezone, translation

from chat import extensions
from chat.context import per_message
from chat.context.files import Attached
from chat.conversations import model_choice
from chat.extensions import PromptSection
from chat.models import ChatSession, Message, Turn
from oneclaw.llm import Request

# What a stopped answer is told when the person asks for more of it.
CONTINUE = "Your last answer was cut off. Continue exactly where it ended, without repeating anything."


def system_prompt(session: ChatSession) -> str:
    """Return the stable sections of the chat and of the extensions, in order. Sync."""
    brought = [section for extension in extensions.installed() for section in extension.prompt_sections]
    ordered = sorted([AGENT, *brought], key=lambda section: (section.order, section.name))
    built = (section.build(session).strip() for section in ordered)
    return "\n\n".join(text for text in built if text)


def agent_section(session: ChatSession) -> str:
    """Return what the agent is told of itself, the person and the day."""
    context = {"agent": session.agent, "person": session.owner, "today": session.created_at}
    # A template writes times on the clock of whoever runs it: here the person's, wherever this runs.
    with timezone.override(session.owner.zone):
        return get_template("agent.txt", using="prompts").render(context)


AGENT = PromptSection("agent", 100, agent_section)


def condition(session: ChatSession) -> str:
    """Return what the system prompt depends on beside the session itself."""
    asked = (extension.prompt_condition for extension in extensions.installed())
    return " ".join(each(session) for each in asked if each)[:200]


@translation.override("en")
def build_request(turn: Turn, *, tools: bool = True) -> Request:
    """Build the request for the next answer of `turn`. Sync.

    The system prompt is built once a session and kept, so that its bytes, and the provider's cache, stay the same; it
    is built anew when its condition has changed.
    Without `tools` the model sees the tools but must answer in words. The prompt is English, whoever asks.
    """
    session = ChatSession.objects.select_related("agent", "owner").get(pk=turn.session_id)
    made_for = condition(session)
    if session.system_prompt is None or session.system_prompt_for != made_for:
        session.system_prompt, session.system_prompt_for = system_prompt(session), made_for
        session.save(update_fields=["system_prompt", "system_prompt_for"])
    offered = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)}
        for tool in extensions.tools_for(session)
    ]
    per_message.add_context(session, turn.prompt)
    messages = conversation(session)
    if turn.kind == Turn.Kind.CONTINUE and messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": [{"type": "text", "text": CONTINUE}]})
    return Request(
        model=model_choice.model_of(session),
        system=[{"type": "text", "text": session.system_prompt, "cache_control": {"type": "ephemeral"}}],
        messages=with_cache_mark(messages),
        tools=offered,
        tool_choice=None if tools or not offered else {"type": "none"},
        thinking=settings.THINKING,
    )


def conversation(session: ChatSession) -> list[dict[str, Any]]:
    """Return the shown and finished messages as the API wants them: roles in turn, no empty block."""
    messages: list[dict[str, Any]] = []
    rows = list(session.messages.shown().settled().values_list("role", "content", "meta"))
    attached = Attached(session, [content for _, content, _ in rows])
    for place, (role, _, meta) in enumerate(rows):
        role = "assistant" if role == Message.Role.ASSISTANT else "user"
        content = attached.blocks(place)
        if text := meta.get(per_message.KEY):
            content = [{"type": "text", "text": text}, *content]
        blocks = [block for block in content if is_said(block)]
        # Thinking alone is no answer.
        if all(block["type"] == "thinking" for block in blocks):
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return messages


def is_said(block: dict[str, Any]) -> bool:
    """Return whether a block can be sent back: no empty text, and no thinking that was cut off before it was signed."""
    if block["type"] == "thinking":
        return bool(block.get("signature"))
    return block["type"] != "text" or bool(block["text"].strip())


def with_cache_mark(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the newest message, so that the provider may cache everything up to it."""
    last = messages[-1]["content"]
    last[-1] = {**last[-1], "cache_control": {"type": "ephemeral"}}
    return messages
