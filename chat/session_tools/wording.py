"""What models are sent of tasks, results and relayed messages, as quoted data. Pure but for the templates."""

import re

from django.template.loader import get_template

from chat.models import SubTask
from chat.session_tools.limits import RESULT_MAX_CHARS
from oneclaw.llm.quoting import quoted, shortened

NAME_MAX_CHARS = 120


def task_text(person: str, task: str) -> str:
    """Return the first message of a sub-session."""
    return rendered("sub_session_task.txt", person=person, most=f"{RESULT_MAX_CHARS:,}", task=quoted("task", task))


def relayed_text(person: str, path: str, text: str) -> str:
    """Return a message that the conversation at `path` sent to another one."""
    return rendered("relayed_message.txt", person=person, path=path, message=quoted("session_message", text))


def result_text(path: str, title: str, state: str, error: str, result: str) -> str:
    """Return what has become of a sub-session; the same values always give the same bytes."""
    inside = quoted("sub_session_result", result) if result else ""
    return rendered(
        "sub_session_result.txt", path=path, title=one_line(title), state=state, error=error.rstrip("."), result=inside
    )


def running_text(task: SubTask) -> str:
    """Return the result of a call whose sub-session still runs."""
    return (
        f"The sub-session {task.session.get_absolute_url()} is working. Its result comes with a later message of the "
        "person. Do not begin it again, and do not guess what it finds."
    )


def shortened_result(text: str) -> str:
    """Return a result within RESULT_MAX_CHARS."""
    return shortened(text, RESULT_MAX_CHARS, "the person can open the sub-session")


def one_line(title: str) -> str:
    """Return a title without line breaks and marks of quotations."""
    return re.sub(r'[<>"“”\s]+', " ", title).strip()[:NAME_MAX_CHARS]


def rendered(template: str, **context: object) -> str:
    return get_template(template, using="prompts").render(context).strip()
