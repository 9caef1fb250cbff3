"""Show on the card of a call how its sub-session is now, with its result, and a way to open and to stop it; or what has
become of its message to another conversation."""

from collections.abc import Mapping, Sequence

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from chat.extensions import CallUpdate
from chat.library.excerpts import plain
from chat.models import RelayedMessage, SubTask
from chat.session_tools.results import text_of
from chat.turns.admission import tokens_of_session

# How much of the result the card shows.
SHOWN_MAX_CHARS = 600


def states(made: Sequence[int], csrf_token: str = "") -> Mapping[int, CallUpdate]:
    """Return the present state of each sub-task, by its id."""
    headings = {
        SubTask.State.RUNNING: _("A sub-session is at work"),
        SubTask.State.DONE: _("A sub-session has finished"),
        SubTask.State.STOPPED: _("A sub-session was stopped"),
        SubTask.State.FAILED: _("A sub-session has failed"),
    }
    found: dict[int, CallUpdate] = {}
    for task in SubTask.objects.filter(pk__in=made).select_related("session"):
        text = "" if task.is_running else plain(text_of(task))
        context = {
            "task": task,
            "tokens": tokens_of_session(task.session) if task.is_running else task.tokens,
            "text": text if len(text) <= SHOWN_MAX_CHARS else text[: SHOWN_MAX_CHARS - 1] + "…",
            "csrf_token": csrf_token,
        }
        html = render_to_string("chat/_sub_task.html", context).strip()
        found[task.pk] = CallUpdate(heading=headings[SubTask.State(task.state)], html=html, can_undo=False)
    return found


def sent_states(made: Sequence[int], csrf_token: str = "") -> Mapping[int, CallUpdate]:
    """Return the present state of each relayed message, by its id."""
    headings = {
        RelayedMessage.State.QUEUED: _("A message waits for a conversation"),
        RelayedMessage.State.DELIVERED: "",
        RelayedMessage.State.FAILED: _("A message was not delivered"),
    }
    found: dict[int, CallUpdate] = {}
    for relayed in RelayedMessage.objects.filter(pk__in=made).select_related("target", "message"):
        html = render_to_string("chat/_sent_message.html", {"relayed": relayed}).strip()
        heading = headings[RelayedMessage.State(relayed.state)]
        found[relayed.pk] = CallUpdate(heading=heading, html=html, can_undo=False)
    return found
