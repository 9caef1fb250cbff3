"""What the codes of conversations mean in a sentence: see oneclaw/reasons.py."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from oneclaw.reasons import Wording


def folder_name(template: Any) -> Wording:
    """Return a wording about the name of a folder; `template` is one of oneclaw.text.checked."""
    return lambda params: str(template) % {**params, "name": gettext("The folder's name")}


WORDINGS: Mapping[str, Wording] = {
    # Of a call of a tool, on its card.
    "call.interrupted": _("Interrupted."),
    "call.unknown_tool": _("There is no tool named “%(name)s” in this conversation."),
    "call.arguments_broken": _("What the tool was called with arrived broken."),
    "call.arguments_too_large": _("What the tool was called with has %(size)s bytes; at most %(most)s are taken."),
    "call.arguments_wrong": _("What the tool was called with does not fit."),
    "call.parameter_missing": _("“%(name)s” is missing or empty."),
    "call.parameter_wrong": _("“%(name)s” does not fit."),
    "call.busy": _("Somebody else is writing there, so this was given up."),
    "call.failed": _("The tool %(name)s failed (%(error)s)."),
    # Of what was just done to conversations, folders and links.
    "conversation.busy": _("An answer is still being written here. Wait for it, or stop it."),
    "conversation.not_last": _("Only the last answer of a conversation can be repeated, and this is not it any more."),
    "conversations.unchanged": _("Nothing was left to do."),
    "conversations.pin": ngettext_lazy("Pinned.", "%(number)d conversations pinned.", "number"),
    "conversations.unpin": ngettext_lazy(
        "Not pinned any more.", "%(number)d conversations are not pinned any more.", "number"
    ),
    "conversations.move": ngettext_lazy("Moved.", "%(number)d conversations moved.", "number"),
    "conversations.archive": ngettext_lazy("Archived.", "%(number)d conversations archived.", "number"),
    "conversations.unarchive": ngettext_lazy(
        "Back in the list.", "%(number)d conversations are back in the list.", "number"
    ),
    "conversations.delete": ngettext_lazy("Deleted.", "%(number)d conversations deleted.", "number"),
    "conversations.restore": ngettext_lazy("Restored.", "%(number)d conversations restored.", "number"),
    "conversations.read": ngettext_lazy("Marked as read.", "%(number)d conversations marked as read.", "number"),
    "folder.deleted": _("The folder is gone; its conversations are in the list."),
    "folder.exists": _("There is a folder of this name already."),
    "folder.too_many": _("You have as many folders as there can be: delete one first."),
    "folder.name_bad_frame": folder_name(_("%(name)s must be text.")),
    "folder.name_bad_text": folder_name(
        _("%(name)s contains characters that cannot be stored (NUL or half a surrogate pair).")
    ),
    "folder.name_empty": folder_name(_("%(name)s is empty: write something first.")),
    "folder.name_too_long": folder_name(
        _("%(name)s has %(length)s characters; at most %(longest)s can be sent at once.")
    ),
    "links.revoked": ngettext_lazy(
        "The link opens nothing any more.", "%(number)d links open nothing any more.", "number"
    ),
    # Of a file of conversations that was not imported.
    "import_file.none": _("Choose a file first."),
    "import_file.open": _("Another import is still running: wait until it is done."),
    "import_file.too_large": _(
        "The file is larger than %(file)s MB. Try the conversations.json that is in the zip file."
    ),
    "import_file.unpacked": _("What is in the file is larger than %(unpacked)s MB once it is unpacked."),
    "import_file.not_json": _("This is neither a zip file nor JSON. Choose the export as you have got it."),
    "import_file.cut": _("The file ends in the middle, or is no JSON. Download the export again."),
    "import_file.bad_zip": _("The zip file is damaged. Download the export again."),
    "import_file.packed": _(
        "The zip file is packed in an unusual way. Unpack it first and choose its conversations.json."
    ),
    "import_file.encrypted": _(
        "The zip file is locked by a password. Unpack it first and choose its conversations.json."
    ),
    "import_file.crowded": _("The zip file holds too many files. Unpack it first and choose its conversations.json."),
    "import_file.many": _("The file holds more than %(conversations)s conversations."),
    "import_file.empty": _("There are no conversations in this file."),
    "import_file.missing": _("The file was lost on the server. Choose it once more."),
    "import_file.faulty": _(
        "The file could not be read, three times. Whoever runs this server finds the reason in its log."
    ),
    # Of one conversation that was left aside.
    "import_conversation.unknown": _("its format is not known"),
    "import_conversation.newer": _("a newer OneClaw has written it"),
    "import_conversation.broken": _("it is no JSON"),
    "import_conversation.empty": _("nothing was said in it"),
    "import_conversation.too_large": _("it has more than %(largest)s MB"),
    "import_conversation.too_deep": _("its parts lie in each other too deeply"),
    "import_conversation.too_many": _("it has more than %(messages)s messages"),
    "import_conversation.deleted": _("you have deleted it here; it can be restored on the page of all conversations"),
    "import_conversation.faulty": _("it could not be stored"),
}
