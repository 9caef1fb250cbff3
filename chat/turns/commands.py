"""What a person may write instead of a message for the model: /new, /reset or /end alone end the conversation, and an
extension may bring commands that call one of its tools."""

import re
import uuid
from collections.abc import AsyncGenerator

from django.utils import translation
from django.utils.translation import gettext as _

from chat import extensions
from chat.conversations import lifecycle
from chat.extensions import ToolCommand, ToolError
from chat.models import ChatSession, Message, Turn
from oneclaw.llm.events import BlockFinished, BlockStarted, Event, Finished, TextDelta
from oneclaw.models import User

# The command, and the reason with which the conversation ends.
COMMANDS = {"/new": "new", "/reset": "reset", "/end": "end"}
CALL = re.compile(r"(/\S+)\s+(\S.*)", re.DOTALL)


def tool_commands() -> dict[str, ToolCommand]:
    """Return the commands of the extensions, by the word that calls them."""
    return {word: command for extension in extensions.installed() for word, command in extension.commands.items()}


def reason_of(text: str) -> str | None:
    """Return why `text` ends the conversation; None when it is an ordinary message."""
    return COMMANDS.get(text.strip().lower())


def obey(user: User, session_id: uuid.UUID, reason: str) -> None:
    """End the person's conversation; one that does not exist yet has nothing to end. Safe to run twice.

    Raises SessionNotFound for anybody else's.
    """
    session = lifecycle.find(user, session_id)
    if session is not None:
        lifecycle.end(session, reason)


def called_by(text: str) -> tuple[ToolCommand, str] | None:
    """Return the command that `text` is, and its argument; None for everything else, also for an unknown command."""
    found = CALL.fullmatch(text.strip())
    command = tool_commands().get(found[1].lower()) if found else None
    return (command, found[2]) if found and command else None


def is_offered(command: ToolCommand, session: ChatSession) -> bool:
    """Return whether the session may use the command's tool."""
    try:
        extensions.find_tool(session, command.tool)
    except ToolError:
        return False
    return True


def reply_to(turn: Turn) -> list[Event] | None:
    """Return the next answer of a turn whose message is such a command; None when the model is to be asked, also when
    the session may not use the tool. Sync.

    First comes the call, then one sentence: the loop saves, runs and shows both like a model's own, once.
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
    """Yield the reply as the model's stream does."""
    for event in reply:
        yield event
