"""What a person may write instead of a message for the model: /new, /reset or /end alone end the conversation, and an
app may bring commands that call one of its tools.

    tool_commands["/remember"] = ToolCommand("save_memory", "content", _("Save to memory"), _("I will remember that."))
"""

import re
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from django.utils import translation
from django.utils.translation import gettext as _

from chat import sessions
from chat.models import ChatSession, Message, Turn
from chat.tools import ToolError, registry
from oneclaw.events import BlockFinished, BlockStarted, Event, Finished, TextDelta
from oneclaw.models import User
from oneclaw.text import Words

# The command, and the reason with which the conversation ends.
COMMANDS = {"/new": "new", "/reset": "reset", "/end": "end"}
CALL = re.compile(r"(/\S+)\s+(\S.*)", re.DOTALL)


@dataclass(frozen=True)
class ToolCommand:
    """A command that calls `tool` once, with all that follows it as the tool's one `argument`. No model is asked."""

    tool: str
    argument: str
    # What a list of commands says about it, and the answer when the tool has done it.
    label: Words
    done: Words


# Of the installed apps, by the word that calls it.
tool_commands: dict[str, ToolCommand] = {}


def reason_of(text: str) -> str | None:
    """Why `text` ends the conversation; None when it is an ordinary message."""
    return COMMANDS.get(text.strip().lower())


def obey(user: User, session_id: uuid.UUID, reason: str) -> None:
    """End the person's conversation; one that does not exist yet has nothing to end. Safe to run twice.

    Raises SessionNotFound for anybody else's.
    """
    session = sessions.find(user, session_id)
    if session is not None:
        sessions.end(session, reason)


def called_by(text: str) -> tuple[ToolCommand, str] | None:
    """The command that `text` is, and what it is called with; None for everything else, an unknown command among it."""
    found = CALL.fullmatch(text.strip())
    command = tool_commands.get(found[1].lower()) if found else None
    return (command, found[2]) if found and command else None


def is_offered(command: ToolCommand, session: ChatSession) -> bool:
    try:
        registry.find(session, command.tool)
    except ToolError:
        return False
    return True


def reply_to(turn: Turn) -> list[Event] | None:
    """The next answer of a turn whose message is such a command, in place of a model's; None when a model is to be
    asked, also because the session may not use the tool. Sync.

    First the call, then one sentence: the loop saves, runs and shows it like a model's own, once.
    """
    called = called_by(turn.prompt.text)
    if called is None:
        return None
    command, argument = called
    session = ChatSession.objects.select_related("agent", "owner").get(pk=turn.session_id)
    if not is_offered(command, session):
        return None
    results = turn.messages.filter(role=Message.Role.TOOL).order_by("seq").last()
    if results is None:
        call = {"id": f"command_{turn.pk}", "name": command.tool, "input": {command.argument: argument}}
        block = {"type": "tool_use", **call}
        return [BlockStarted(0, block), BlockFinished(0, block), Finished("tool_use", {}, "")]
    with translation.override(session.owner.language or translation.get_language()):
        failed = any(block.get("is_error") for block in results.content)
        text = _("That did not work.") if failed else str(command.done)
    return [TextDelta(0, text), BlockFinished(0, {"type": "text", "text": text}), Finished("end_turn", {}, "")]


async def events(reply: list[Event]) -> AsyncGenerator[Event]:
    for event in reply:
        yield event
