"""Conversations whose models use the tools for other conversations."""

import json
import uuid

from chat.conversations import agents, transcript
from chat.extensions import ToolCall
from chat.models import Message, SubTask
from tests import scripted as model
from tests.conversations import send, settle

SPAWN = {"task": "Count the birds.", "wait": 20}


SESSION_TOOLS = ["sessions_history", "sessions_list", "sessions_send", "sessions_spawn"]


def turn_on_session_tools(*people):
    """Offer the tools for other conversations in all conversations of these people."""
    for person in people:
        agents.turn_on(person, SESSION_TOOLS)


class Brain:
    """A model that does as `parent` says in conversations, and as `child` says in sub-sessions. Each is a list of
    replies, or of functions of the request, and then `rest`."""

    def __init__(self, scripted, parent=(), child=(), rest="Noted."):
        self.parent, self.child, self.rest = list(parent), list(child), rest
        self.children_asked = []
        scripted.default = self

    def __call__(self, body):
        is_child = is_of_child(body)
        if is_child:
            self.children_asked.append(body)
        script = self.child if is_child else self.parent if body.get("tools") else []
        reply = script.pop(0) if script else model.answer(self.rest)
        return reply(body) if callable(reply) else reply


def is_of_child(body):
    """Whether this request is of a sub-session."""
    return any("<task>" in text for text in texts_of(body["messages"]) if text.startswith("You work in a sub-session"))


def texts_of(messages):
    for message in messages:
        content = message["content"]
        for block in [content] if isinstance(content, str) else content:
            if isinstance(block, str):
                yield block
            elif block["type"] == "text":
                yield block["text"]
            elif block["type"] == "tool_result":
                yield block["content"]


def spawn(**arguments):
    return model.answer(model.tool_use("sessions_spawn", SPAWN | arguments))


def until(is_over, last="Seven birds."):
    """An answer that grows until `is_over()`, and ends with `last`."""

    def words():
        while not is_over():
            yield "More. "
        yield last

    return model.answer(model.text(words(), pace=0.05))


def calling(user, name="sessions_spawn", session_id=None, call_id="toolu_1", said=None, **arguments):
    """A call of a tool in a running answer of the user, as the turn makes it."""
    said = said or send(user, session_id=session_id)
    session = said.turn.session
    return ToolCall(call_id, name, arguments, user, type(session).objects.get(pk=session.pk), said.answer.pk)


def caller(user):
    """The running answer of a conversation, the same for all calls of a test."""
    if "caller" not in vars(user):
        vars(user)["caller"] = send(user, "Caller")
    return vars(user)["caller"]


def written(user, text="Hello", answer="Hi", **fields):
    """A conversation with one exchange, with these columns."""
    said = send(user, text)
    settle(said, answer)
    session = said.message.session
    if fields:
        type(session).objects.filter(pk=session.pk).update(**fields)
        session.refresh_from_db()
    return session


def finish(begun, text="Seven birds.", status="complete", tokens=0):
    """End the turn of a sub-session."""
    usage = {"input_tokens": tokens, "output_tokens": 0}
    content = [{"type": "text", "text": text}] if text else []
    transcript.finish_turn(begun.turn, begun.answer, content, status, usage=usage, stop_reason="end_turn", model="m")


def results(session_id):
    """What the model was given for its calls, as text, in order."""
    rows = Message.objects.filter(session=session_id, role="tool").order_by("seq")
    return [block["content"] for row in rows for block in row.content if block["type"] == "tool_result"]


def value(result):
    return json.loads(result.content) if isinstance(result.content, str) else result.content


def tasks(session_id):
    return list(SubTask.objects.filter(parent=session_id).order_by("pk").select_related("session"))


def unknown():
    return str(uuid.uuid4())
