"""Commands in place of a message for the model: /new, /reset and /end end the conversation, /compact, /undo-compact and
/context are about what the model is sent of it, and extensions may add commands that call one of their tools."""

import re
import uuid
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from chat import extensions
from chat.compaction import changes, planning
from chat.context.meter import meter_of
from chat.conversations import lifecycle, transcript
from chat.conversations.model_choice import Choice
from chat.conversations.pasted import Ranges
from chat.extensions import COMMAND_CALL_PREFIX, ToolCommand, ToolError
from chat.models import ChatSession, ContextRound, Message, Turn
from oneclaw.llm.blocks import Block
from oneclaw.llm.events import BlockFinished, BlockStarted, Event, Finished, TextDelta
from oneclaw.models import User
from oneclaw.reasons import Reason

# {command: reason with which the conversation ends}.
COMMANDS = {"/new": "new", "/reset": "reset", "/end": "end"}
# Those about what the model is sent. What follows /compact is what the summary is to keep especially.
CONTEXT_COMMANDS = ("/compact", "/undo-compact", "/context")
CALL = re.compile(r"(/\S+)\s+(\S.*)", re.DOTALL)


def tool_commands() -> dict[str, ToolCommand]:
    """Return {word: command} of the extensions, such as "/remember"."""
    return {word: command for extension in extensions.installed() for word, command in extension.commands.items()}


@dataclass(frozen=True)
class EndCommand:
    """One of COMMANDS: why it ends the conversation, and the first message of the next one, if any."""

    reason: str
    text: str = ""
    # Where that begins in what the person wrote.
    start: int = 0


def ending_in(text: str) -> EndCommand | None:
    """Return the command in `text` that ends the conversation; None when it is none. Only /end takes no text."""
    word, rest = parted(text)
    reason = COMMANDS.get(word)
    start = len(text.rstrip()) - len(rest)
    return EndCommand(reason, rest, start) if reason and not (rest and reason == "end") else None


def end_conversation(user: User, session_id: uuid.UUID, reason: str) -> uuid.UUID | None:
    """End the person's conversation, if it exists. Idempotent.

    Return the conversation with which its route goes on; None when it is of none. Raise SessionNotFoundError when it
    belongs to another person or is deleted.
    """
    session = lifecycle.find(user, session_id)
    # The others go on with a shared one.
    follower = lifecycle.end(session, reason) if session is not None and not session.is_shared else None
    return follower.pk if follower else None


@transaction.atomic
def begin_anew(
    user: User,
    session_id: uuid.UUID,
    follower_id: uuid.UUID,
    ending: EndCommand,
    client_id: uuid.UUID,
    holder: uuid.UUID | None,
    mode: str | None,
    choice: Choice,
    files: Sequence[uuid.UUID],
    *,
    pasted: Ranges = (),
) -> transcript.AcceptedMessage:
    """Store the text of `ending` as the first message of a new conversation like `session_id`, which it ends.

    Idempotent by `follower_id`, the id of the new one. `mode` and the agent of `choice` are for a person who has no
    such conversation yet. Raise the errors of `transcript.accept`.
    """
    session = lifecycle.find(user, session_id)
    if session is not None and session.is_shared:
        session, mode, choice = None, None, replace(choice, agent=None)
    if session is not None:
        follower = lifecycle.successor(session, follower_id)
        follower.route_id = None
        ChatSession.objects.bulk_create([follower], ignore_conflicts=True)
        mode, choice = None, replace(choice, agent=None)
    message = (user, follower_id, client_id, ending.text, holder)
    accepted = transcript.accept(*message, mode, choice, files, pasted=pasted)
    if session is not None and not accepted.duplicate:
        lifecycle.end(session, ending.reason, follower=accepted.message.session)
    return accepted


@dataclass(frozen=True)
class ContextCommand:
    """One of CONTEXT_COMMANDS, and what follows it."""

    word: str
    focus: str = ""


def context_command_in(text: str) -> ContextCommand | None:
    """Return the command about what the model is sent in `text`; None when it is none."""
    command = ContextCommand(*parted(text))
    is_command = command.word in CONTEXT_COMMANDS and (command.word == "/compact" or not command.focus)
    return command if is_command else None


def parted(text: str) -> tuple[str, str]:
    """Return the first word of `text` in lower case, and what follows it as it is."""
    word, _separator, rest = re.sub(r"\s+", " ", text.strip(), count=1).partition(" ")
    return word.lower(), rest


def carry_out(user: User, session_id: uuid.UUID, key: uuid.UUID, command: ContextCommand) -> Reason:
    """Do what `command` says with the person's conversation, and return what to tell them. `key` makes it idempotent.

    Raise SessionNotFoundError when it belongs to another person or is deleted, oneclaw.text.InvalidTextError.
    """
    session = lifecycle.find(user, session_id)
    if session is not None and command.word != "/context":
        lifecycle.refuse_unless_writer(user, session)
    match command.word:
        case "/compact":
            return compact(session, command.focus)
        case "/undo-compact":
            return reason_of_undo(changes.undo_newest(user, session_id, key))
    meter = meter_of(session) if session else None
    if meter is None:
        return Reason("context.empty")
    return Reason("context.used", {"used": meter.used_tokens, "window": meter.window_tokens, "percent": meter.percent})


def compact(session: ChatSession | None, focus: str) -> Reason:
    """Ask for a summary of the conversation's older messages, and return what to tell the person.

    Raise oneclaw.text.InvalidTextError.
    """
    try:
        asked = planning.ask(session, focus) if session else None
    except planning.NothingToCompactError:
        asked = None
    if asked is None:
        return Reason("rounds.nothing")
    return Reason("rounds.planned" if asked.is_open else "rounds.ready")


def reason_of_undo(undone: ContextRound | None) -> Reason:
    """Return what to tell the person whose round was undone or stopped; None: there was none."""
    if undone is None:
        return Reason("rounds.none")
    return Reason("rounds.stopped" if undone.state == ContextRound.State.STOPPED else "rounds.undone")


def call_in(prompt: Message) -> tuple[ToolCommand, str] | None:
    """Return the tool command in a message and its argument; None when there is none, or when not the person wrote
    it."""
    return parse_call(prompt.text) if prompt.is_by_person else None


def parse_call(text: str) -> tuple[ToolCommand, str] | None:
    """Return the tool command in `text`, and its argument; None when there is none, also for an unknown command."""
    found = CALL.fullmatch(text.strip())
    command = tool_commands().get(found[1].lower()) if found else None
    return (command, found[2]) if found and command else None


def is_offered(command: ToolCommand, session: ChatSession) -> bool:
    """Return whether the session may use the command's tool."""
    try:
        extensions.find_tool(session, command.tool, by_command=True)
    except ToolError:
        return False
    return True


def reply_to(turn: Turn) -> list[Event] | None:
    """Return the events of the next answer of a turn whose message is a tool command; None for a message to the model,
    also when the session may not use the tool. Sync.

    The first answer is the tool call, the second one a sentence; the loop saves, runs and shows both like the model's.
    """
    called = call_in(turn.prompt)
    if called is None:
        return None
    command, argument = called
    session = ChatSession.objects.select_related("agent", "owner").get(pk=turn.session_id)
    if not is_offered(command, session):
        return None
    results = turn.messages.filter(role=Message.Role.TOOL).order_by("seq").last()
    if results is None:
        arguments = {command.argument: argument}
        id = f"{COMMAND_CALL_PREFIX}{turn.pk}"
        block: Block = {"type": "tool_use", "id": id, "name": command.tool, "input": arguments}
        return [BlockStarted(0, block), BlockFinished(0, block), Finished("tool_use", {}, "")]
    with translation.override(turn.person.language or translation.get_language()):
        failed = any(block.get("is_error") for block in results.content)
        text = _("That did not work.") if failed else str(command.done)
    return [TextDelta(0, text), BlockFinished(0, {"type": "text", "text": text}), Finished("end_turn", {}, "")]


async def stream_reply(reply: list[Event]) -> AsyncGenerator[Event]:
    """Yield the events of `reply` as the model's stream does."""
    for event in reply:
        yield event
