"""How a sub-session ended, and how its result reaches the conversation that began it.

The result is that of the call, if this waited for it; else it is sent to the model with the next message. It is there
once: `SubTask.brought_with` says with which message.
"""

from collections.abc import Sequence

from django.db import transaction

from chat.conversations.message_pages import notify_updated
from chat.extensions import ContextItem, ToolResult
from chat.models import ChatSession, Message, SubTask, Turn
from chat.session_tools import wording
from chat.turns.admission import tokens_of_session
from oneclaw.models import clock
from oneclaw.reasons import Reason

State = SubTask.State
STATES = {Turn.Status.COMPLETE: State.DONE, Turn.Status.STOPPED: State.STOPPED}
# The kinds of the items with results: what the state of a sub-session follows.
KIND_PREFIX = "sub_session_"


@transaction.atomic
def record_end(task: SubTask) -> bool:
    """Record how the sub-session ended, if its turn has ended; return whether that was news. Idempotent."""
    turn = task.session.turns.order_by("-pk").first()
    if turn is None or turn.status == Turn.Status.RUNNING:
        return False
    state, error = STATES.get(Turn.Status(turn.status), State.FAILED), turn.error
    if turn.status == Turn.Status.INTERRUPTED:
        error = Reason("sub_session.interrupted")
    elif state == State.DONE and not text_of(task):
        # Nothing is no success.
        state, error = State.FAILED, Reason("sub_session.empty")
    elif state == State.STOPPED and task.deadline < clock.read_database_time():
        state, error = State.FAILED, Reason("sub_session.late")
    ended = {"state": state, "error": error, "tokens": tokens_of_session(task.session)}
    running = SubTask.objects.running().filter(pk=task.pk)
    if not running.update(**ended, finished_at=clock.database_now()):
        return False
    notify_updated(task.answer)
    return True


def text_of(task: SubTask) -> str:
    """Return what the sub-session wrote last."""
    said = task.session.messages.shown().finished().filter(role=Message.Role.ASSISTANT)
    said = said.filter(seq__gt=task.session.copied_seq).exclude(text="")
    last = said.values_list("text", flat=True).last()
    return (last or "").strip()


def of_call(task_id: int) -> ToolResult:
    """Return the result of the call that began the sub-task, as it is now. Sync."""
    task = SubTask.objects.select_related("session", "answer").get(pk=task_id)
    record_end(task)
    task.refresh_from_db()
    if task.is_running:
        return ToolResult(wording.running_text(task), "", made=task.pk)
    SubTask.objects.filter(pk=task_id).update(brought_with=task.answer)
    text = rendered(item_of(task))
    # The card says how it is now (chat/session_tools/cards.py).
    return ToolResult(text, "", is_error=task.state == State.FAILED, made=task.pk)


def items_for(session: ChatSession, message: Message) -> list[ContextItem]:
    """Return the results that are sent to the model of `session` with `message`, and record that."""
    unread = list(session.sub_tasks.unread().select_related("session"))
    SubTask.objects.filter(pk__in=[task.pk for task in unread]).update(brought_with=message)
    return [item_of(task) for task in unread]


def item_of(task: SubTask) -> ContextItem:
    """Return the result of a sub-task that has ended, as data."""
    item = ContextItem(
        kind=f"{KIND_PREFIX}{task.state}",
        path=task.session.get_absolute_url(),
        revision=None,
        lines=[],
        text=wording.shortened_result(text_of(task)),
    )
    heading = task.session.name
    if task.error:
        heading += f"\n{task.error.in_english}"
    item["heading"] = heading
    return item


def rendered(item: ContextItem) -> str:
    """Return the text of the result in `item`."""
    title, _line_break, error = item.get("heading", "").partition("\n")
    return wording.result_text(item["path"], title, item["kind"].removeprefix(KIND_PREFIX), error, item["text"])


def items_text(found: Sequence[ContextItem]) -> str:
    """Return the text of the results that were stored with a message."""
    return "\n\n".join(rendered(item) for item in found)


def open_work(session: ChatSession) -> list[str]:
    """Return a sentence for each sub-session that runs, or whose result the model of `session` has not got yet."""
    unread = set(session.sub_tasks.unread().values_list("pk", flat=True))
    shown = session.sub_tasks.shown().select_related("session")
    return [
        f"The sub-session {task.session.get_absolute_url()} (“{wording.one_line(task.session.name)}”) is at work, and "
        "its result comes with a later message. Do not begin it again."
        for task in shown
        if task.is_running or task.pk in unread
    ]
