"""Define the extension with the tools for other conversations and sub-sessions."""

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy as _

from chat.extensions import Extension, MessageContext, Tool
from chat.models import SubTask
from chat.session_tools import cards, history, listing, offered, results, send, spawn

SESSION_TOOLS = Extension(
    name="sessions",
    message_context=MessageContext(
        results.items_for,
        results.items_text,
        may_have=Exists(SubTask.objects.filter(parent=OuterRef("pk"))),
    ),
    open_work=results.open_work,
    tools=(
        Tool(
            "sessions_list",
            "List the person's other conversations, newest first.",
            listing.SCHEMA,
            listing.sessions_list,
            only_reads=True,
            offered=offered.may_read,
            about_memory=True,
            is_optional=True,
            label=_("List other conversations"),
            headings={
                "running": _("Looking for conversations …"),
                "done": _("Looked for conversations"),
                "failed": _("Could not look for conversations"),
            },
        ),
        Tool(
            "sessions_history",
            "Read messages of another conversation of the person.",
            history.SCHEMA,
            history.sessions_history,
            only_reads=True,
            offered=offered.may_read,
            about_memory=True,
            is_optional=True,
            label=_("Read other conversations"),
            headings={
                "running": _("Reading a conversation …"),
                "done": _("Read a conversation"),
                "failed": _("Could not read the conversation"),
            },
        ),
        Tool(
            "sessions_send",
            "Send a message to another conversation of the person, whose model answers it there. Only when the person "
            "asks for that.",
            send.SCHEMA,
            send.sessions_send,
            offered=offered.may_send,
            about_memory=True,
            is_optional=True,
            label=_("Write to other conversations"),
            headings={
                "running": _("Writing to a conversation …"),
                "done": _("Wrote to a conversation"),
                "failed": _("Could not write to the conversation"),
            },
            since=cards.sent_states,
        ),
        Tool(
            "sessions_spawn",
            "Give a task that can be done apart, such as a longer search, to a sub-session, which works on it by "
            "itself and returns its result. Several calls in one answer work at the same time.",
            spawn.SCHEMA,
            spawn.sessions_spawn,
            offered=offered.may_spawn,
            about_memory=True,
            is_optional=True,
            label=_("Begin sub-sessions"),
            headings={
                "running": _("A sub-session is at work"),
                "done": _("A sub-session has finished"),
                "failed": _("A sub-session has failed"),
            },
            since=cards.states,
        ),
    ),
)
