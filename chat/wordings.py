"""The sentences for the reason codes of conversations (oneclaw/reasons.py)."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from oneclaw.reasons import Wording


def folder_name(template: Any) -> Wording:
    """Return a wording about the name of a folder; `template` is a sentence of oneclaw.text.validated_text."""
    return lambda params: str(template) % {**params, "name": gettext("The folder's name")}


WORDINGS: Mapping[str, Wording] = {
    # On the card of a tool call.
    "call.interrupted": _("Interrupted."),
    "call.lost": _("This result is of a memory that you cannot read any more."),
    "call.unknown_tool": _("There is no tool named “%(name)s” in this conversation."),
    "call.arguments_broken": _("The arguments of the tool call are damaged."),
    "call.arguments_too_large": _("The arguments of the tool call have %(size)s bytes; at most %(most)s are accepted."),
    "call.arguments_wrong": _("The arguments of the tool call are not valid."),
    "call.parameter_missing": _("“%(name)s” is missing or empty."),
    "call.parameter_wrong": _("“%(name)s” is not valid."),
    "call.too_many": _("Not run: of one answer, at most %(most)s calls are."),
    "call.unknown_result": _("There is no such result in this conversation."),
    "call.read_result": _("%(size)s characters read"),
    "call.busy": _("Another process is writing at the moment, so nothing was done."),
    "call.refused_by_rule": _("A rule of this server refused the call: %(sentence)s"),
    "call.check_failed": _("A check of this server failed (%(name)s), so the call was not run."),
    "call.arguments_changed": _("A rule of this server changed the arguments (%(names)s)."),
    "call.result_changed": _("A rule of this server changed the result (%(names)s)."),
    "call.result_withheld": _("A check of this server failed (%(name)s), so the result was withheld."),
    "call.not_a_member": _("Who asked may not write in this conversation any more, so nothing was done."),
    "call.failed": _("The tool %(name)s failed (%(error)s)."),
    # Why a turn was refused before its first request.
    "turn.refused_by_rule": _("A rule of this server refused this message: %(sentence)s"),
    # Why older messages were not replaced by a summary, or why that waits.
    "compaction.vetoed": _("A rule of this server prevented the summary (%(name)s): %(sentence)s"),
    "compaction.check_failed": _("A check of this server failed (%(name)s)."),
    "compaction.waited": _("A rule of this server needs more time."),
    # Why the provider read an answer's conversation anew instead of from its cache.
    "cache.first": _("This was the first request of the conversation."),
    "cache.off": _("The cache is turned off on this server."),
    "cache.other_model": _("Another model answered before."),
    "cache.other_effort": _("The effort had changed."),
    "cache.new_head": _("Memory, tools or switches had changed."),
    "cache.pause": _("The pause of %(minutes)s minutes was longer than the cache lasts."),
    "cache.changed": _("Something that was sent before had to change."),
    "cache.evicted": _("The provider no longer had it, or it was too short to be cached."),
    # After a command or an action about what the model is sent.
    "rounds.planned": _(
        "A summary of earlier messages is being written. The model reads it from your next message on."
    ),
    "rounds.ready": _("A summary is ready. The model reads it from your next message on."),
    "rounds.nothing": _("There is too little to summarise: the newest messages are always sent word for word."),
    "rounds.undone": _("From your next message on, the model is sent the messages again instead of their summary."),
    "rounds.stopped": _("The summary is no longer being written."),
    "rounds.none": _("There is no summary that could be undone."),
    "rounds.focus_refused": _("What to keep is too long, or contains characters that cannot be stored."),
    "rounds.edited": _("Saved. The model reads your text from your next message on."),
    "context.used": _("The conversation takes %(used)s of %(window)s tokens (%(percent)s %%)."),
    "context.empty": _("Nothing was sent to the model yet."),
    # Why a schedule told nothing, or why no model was asked.
    "beat.off": _("Schedules are switched off."),
    "beat.no_checklist": _("There is no HEARTBEAT.md."),
    "beat.empty_checklist": _("HEARTBEAT.md holds no tasks."),
    "beat.hours": _("It was outside of the hours."),
    "beat.unchanged": _("Nothing had changed since the last time."),
    "beat.busy": _("You were in a conversation."),
    "beat.beats_used": _("The model was already asked %(most)s times on that day."),
    "beat.tokens_used": _("The %(most)s tokens of the day were used up."),
    "beat.quiet": _("The model had nothing to tell."),
    "beat.no_answer": _("The model had not finished after three steps."),
    "beat.interrupted": _("The server stopped. What was written is not written again."),
    # On the card of a proposed task.
    "schedule.too_many": _("Too many proposed tasks wait for your answer."),
    "schedule.past": _("This time has passed. Choose a later one."),
    # What came of a call about other conversations.
    "sessions.unknown": _("There is no such conversation."),
    "sessions.listed": ngettext_lazy("%(number)d conversation", "%(number)d conversations", "number"),
    "sessions.read": ngettext_lazy("%(number)d message", "%(number)d messages", "number"),
    "sessions.sent": _("Sent"),
    "sessions.answered": _("Sent and answered"),
    "sessions.not_delivered": _("Not delivered: the conversation was busy for too long, or was deleted."),
    "sessions.takes_none": _("A sub-session takes no messages."),
    "sessions.without_memory": _("The model of that conversation answers without memory."),
    "sessions.too_many_hops": _("The message has passed too many conversations."),
    "sessions.too_many_messages": _("Too many messages between conversations in one minute."),
    "sub_session.empty": _("It ended without a result."),
    "sub_session.interrupted": _("The server stopped while it was at work."),
    "sub_session.late": _("It took too long."),
    "sub_session.too_many_running": _("Too many sub-sessions run at once."),
    "sub_session.too_many_turn": _("This answer has begun as many sub-sessions as it may."),
    "sub_session.too_many_day": _("There were as many sub-sessions today as there may be."),
    "sub_session.too_many_tokens": _("The sub-sessions of this answer have used the tokens that they may use."),
    "sub_session.unknown_agent": _("There is no such agent for a sub-session."),
    "sub_session.unknown_model": _("There is no such model."),
    # Why a sub-session failed.
    "turn.tokens_used_up": _("The sub-sessions of this answer have used the %(tokens)s tokens that they may use."),
    # After an action on conversations, folders or links.
    "conversation.shared": _("Shared with %(space)s."),
    "conversation.private": _("The conversation is private again."),
    "conversation.busy": _("An answer is still running. Wait for it, or stop it."),
    "conversation.read_only": _("You can read this conversation, and not write in it. Fork it to go on from here."),
    "conversation.not_last": _(
        "Only the last answer of a conversation can be regenerated, and this is no longer the last one."
    ),
    "ended.agent": _("The conversation was ended. Notes of it are being saved to memory."),
    "ended.chat": _("The conversation was ended. Nothing of it is saved to memory."),
    "ended.temporary": _("The temporary conversation was deleted."),
    "ended.archive": _("The conversation was ended and archived."),
    "conversations.unchanged": _("Nothing was changed."),
    "conversations.pin": ngettext_lazy("Pinned.", "%(number)d conversations pinned.", "number"),
    "conversations.unpin": ngettext_lazy("Unpinned.", "%(number)d conversations unpinned.", "number"),
    "conversations.move": ngettext_lazy("Moved.", "%(number)d conversations moved.", "number"),
    "conversations.archive": ngettext_lazy("Archived.", "%(number)d conversations archived.", "number"),
    "conversations.reset": ngettext_lazy(
        "Ended. Its channel, if it has one, starts a new conversation.", "%(number)d conversations ended.", "number"
    ),
    "conversations.unarchive": ngettext_lazy("Unarchived.", "%(number)d conversations unarchived.", "number"),
    "conversations.delete": ngettext_lazy("Deleted.", "%(number)d conversations deleted.", "number"),
    "conversations.restore": ngettext_lazy("Restored.", "%(number)d conversations restored.", "number"),
    "conversations.read": ngettext_lazy("Marked as read.", "%(number)d conversations marked as read.", "number"),
    "folder.deleted": _("Folder deleted. Its conversations were kept."),
    "folder.exists": _("A folder with this name already exists."),
    "folder.too_many": _("You have reached the maximum number of folders. Delete one first."),
    "folder.name_bad_frame": folder_name(_("%(name)s must be text.")),
    "folder.name_bad_text": folder_name(
        _("%(name)s contains characters that cannot be stored (NUL or half a surrogate pair).")
    ),
    "folder.name_empty": folder_name(_("%(name)s is empty: write something first.")),
    "folder.name_too_long": folder_name(
        _("%(name)s has %(length)s characters; at most %(longest)s can be sent at once.")
    ),
    "links.revoked": ngettext_lazy("Link revoked.", "%(number)d links revoked.", "number"),
    # Why a file of conversations was not imported.
    "import_file.none": _("Choose a file first."),
    "import_file.open": _("Another import is still running: wait until it is done."),
    "import_file.too_large": _(
        "The file is larger than %(file)s MB. Try the conversations.json that is in the zip file."
    ),
    "import_file.unpacked": _("The file is larger than %(unpacked)s MB when it is unpacked."),
    "import_file.not_json": _("This is neither a zip file nor JSON. Choose the export file as you received it."),
    "import_file.several": _("Only JSON files can be imported together. Choose a zip file by itself."),
    "import_file.cut": _("The file is incomplete or not valid JSON. Download the export again."),
    "import_file.bad_zip": _("The zip file is damaged. Download the export again."),
    "import_file.zip_in_zip": _(
        "There are no conversations in the zip file itself, but other zip files: unpack it and choose one of those."
    ),
    "import_file.packed": _(
        "The compression of the zip file is not supported. Unpack it first and choose its conversations.json."
    ),
    "import_file.encrypted": _(
        "The zip file is protected by a password. Unpack it first and choose its conversations.json."
    ),
    "import_file.crowded": _(
        "The zip file contains too many files. Unpack it first and choose its conversations.json."
    ),
    "import_file.many": _("The file contains more than %(conversations)s conversations."),
    "import_file.empty": _("There are no conversations in this file."),
    "import_file.missing": _("The file was lost on the server. Choose it again."),
    "import_file.faulty": _("The file could not be read after three attempts. The server log has the reason."),
    # Why one conversation of a file was skipped.
    "import_conversation.unknown": _("its format is unknown"),
    "import_conversation.newer": _("it was written by a newer OneClaw"),
    "import_conversation.broken": _("it is not JSON"),
    "import_conversation.empty": _("it has no messages"),
    "import_conversation.too_large": _("it is larger than %(largest)s MB"),
    "import_conversation.too_deep": _("it is nested too deeply"),
    "import_conversation.too_many": _("it has more than %(messages)s messages"),
    "import_conversation.deleted": _("you deleted it; you can restore it on the page of all conversations"),
    "import_conversation.faulty": _("it could not be stored"),
    # What goes with a space that is deleted, or what becomes of it.
    "space.goes.shared_conversations": ngettext_lazy(
        "%(number)s shared conversation", "%(number)s shared conversations", "number"
    ),
    "space.goes.private_conversations": ngettext_lazy(
        "%(number)s private conversation stays with its author, without the space",
        "%(number)s private conversations stay with their authors, without the space",
        "number",
    ),
    "space.goes.files": ngettext_lazy(
        "%(number)s file in shared conversations", "%(number)s files in shared conversations", "number"
    ),
    "space.goes.links": ngettext_lazy(
        "%(number)s public link to a shared conversation",
        "%(number)s public links to shared conversations",
        "number",
    ),
    # Why somebody can see a conversation.
    "viewer.author": _("Started the conversation"),
    "viewer.link": ngettext_lazy(
        "Everybody who has the link to a copy", "Everybody who has one of the %(number)s links to a copy", "number"
    ),
    "viewer.link_signed_in": ngettext_lazy(
        "Signed-in people who have the link to a copy",
        "Signed-in people who have one of the %(number)s links to a copy",
        "number",
    ),
    "viewer.link_space": ngettext_lazy(
        "Members of “%(space)s” who have the link to a copy",
        "Members of “%(space)s” who have one of the %(number)s links to a copy",
        "number",
    ),
}
