"""Define the tool `schedule`: a model proposes a task at times, which its owner confirms on the card."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.extensions import CallUpdate, Extension, Tool, ToolCall, ToolError, ToolResult
from chat.models import ChatSession, MemoryChoice, Schedule
from chat.schedules import changes
from chat.schedules.planning import next_time
from chat.schedules.when import DAYS, FORMS, WORKING_DAYS, When, WhenError, parsed_when
from chat.schedules.wording import sentence_of
from oneclaw.models import clock
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError


def propose(call: ToolCall) -> ToolResult:
    """Store the task of `call` as a proposal, which does nothing before its owner says yes. Raise ToolError."""
    key = f"{call.message_id}:{call.id}"
    known = Schedule.objects.visible_to(call.user).filter(proposal_key=key).first()
    return _result(known or _stored(call, key))


def _stored(call: ToolCall, key: str) -> Schedule:
    if Schedule.objects.visible_to(call.user).proposed().count() >= changes.MAX_PROPOSALS:
        message = "Too many proposed tasks wait for the person's answer. Ask them to answer those first."
        raise ToolError("too_many", message, Reason("schedule.too_many"))
    try:
        when = when_of(call.input)
        days = [str(DAYS.index(name)) for name in when.days]
        draft = changes.checked_task(call.input["text"], when.repeat, when.time, days, when.day, when.date)
    except WhenError as error:
        reason = Reason("call.parameter_wrong", {"name": "when"})
        raise ToolError("validation_error", f"Parameter 'when': {error}", reason) from error
    except InvalidTextError as error:
        raise ToolError("validation_error", error.sentence) from error
    task = draft.fill(Schedule(owner=call.user, proposal_key=key))
    task.agent = None if call.session.agent.is_default else call.session.agent
    if next_time(task, clock.read_database_time()) is None:
        message = f"This time has passed: it is {call.user.local():%Y-%m-%d %H:%M} for the person."
        raise ToolError("past", message, Reason("schedule.past"))
    task.save()
    return task


def when_of(arguments: Mapping[str, Any]) -> When:
    """Return the times in the arguments of a call, also in the form of EARLIER_SCHEMA. Raise WhenError."""
    if "when" in arguments:
        return parsed_when(arguments["when"])
    repeat = arguments["repeat"]
    if repeat == "weekdays":
        return When("weekly", arguments["time"], WORKING_DAYS)
    return When(
        repeat, arguments["time"], tuple(arguments.get("days", ())), arguments.get("day"), arguments.get("date")
    )


def _result(task: Schedule) -> ToolResult:
    said = {
        "status": "proposed",
        "when": sentence_of(task),
        "note": "Nothing runs before the person confirms it on the card below your answer.",
    }
    return ToolResult(said, "", [task.text], made=task.pk)


def since(made: Sequence[int], csrf_token: str) -> Mapping[int, CallUpdate]:
    """Return for each proposed task what has become of it: a question with buttons, or the answer."""
    tasks = Schedule.objects.in_bulk(made)
    return {pk: _update(task, csrf_token) for pk, task in tasks.items()}


def _update(task: Schedule, csrf_token: str) -> CallUpdate:
    heading = ""
    if task.confirmed_at is not None:
        heading = _("Scheduled a task")
    elif task.declined_at is not None:
        heading = _("Declined a task")
    context = {"task": task, "sentence": sentence_of(task), "csrf_token": csrf_token}
    return {"heading": heading, "html": render_to_string("chat/_proposed_task.html", context), "can_undo": False}


def is_offered(session: ChatSession) -> bool:
    """Return whether the model of `session` may propose tasks: in a person's own conversations that are kept, and not
    in those of another peer behind a bridge."""
    is_of_peer = session.route_id is not None and session.memory == MemoryChoice.NONE
    return not is_of_peer and changes.is_offered() and session.kind == "" and session.mode == ChatSession.Mode.AGENT


TEXT = {"type": "string", "minLength": 1, "maxLength": Schedule.TEXT_MAX_CHARS}
# As heads of earlier releases define it.
EARLIER_SCHEMA = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "repeat": {"enum": ["once", "daily", "weekdays", "weekly", "monthly"]},
        "time": {"type": "string"},
        "days": {"type": "array", "items": {"enum": list(DAYS)}},
        "day": {"type": "integer", "minimum": 1, "maximum": 31},
        "date": {"type": "string"},
    },
    "required": ["text", "repeat", "time"],
    "additionalProperties": False,
}

SCHEDULE = Tool(
    "schedule",
    "Propose a task that you carry out by yourself later, and whose result the person gets as a message. Only when "
    "they ask for something at a time; they confirm it on a card before anything runs.",
    {
        "type": "object",
        "properties": {
            "text": TEXT | {"description": "The task."},
            "when": {"type": "string", "maxLength": 200, "description": f"In the person's local time: {FORMS}."},
        },
        "required": ["text", "when"],
        "additionalProperties": False,
    },
    propose,
    offered=is_offered,
    earlier_schema=EARLIER_SCHEMA,
    since=since,
    label=gettext_lazy("Propose tasks"),
    headings={
        "running": gettext_lazy("Proposing a task …"),
        "done": gettext_lazy("Proposed a task"),
        "failed": gettext_lazy("Could not propose a task"),
    },
)

SCHEDULES = Extension("schedules", tools=[SCHEDULE])
