"""Why something was not imported, for the person: what a code of a row means in a sentence."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from oneclaw.text import counted

# Bytes of JSON of one conversation, how deep its parts may lie in each other, and its messages.
LARGEST = 50 * 1024 * 1024
DEEPEST = 100
MOST_MESSAGES = 10_000
# Conversations of one file.
MOST_CONVERSATIONS = 100_000
# Characters of a message; a longer one is cut.
LONGEST = 200_000


class FileRefused(Exception):
    """The whole file cannot be taken in. `code` is a key of FILE."""

    def __init__(self, code: str):
        super().__init__(code)
        self.code = code


class NotBrought(Exception):
    """One conversation cannot be taken in. `code` is a key of CONVERSATION."""

    def __init__(self, code: str):
        super().__init__(code)
        self.code = code


FILE: Mapping[str, Any] = {
    "none": _("Choose a file first."),
    "open": _("Another import is still running: wait until it is done."),
    "too_large": _("The file is larger than %(file)s MB. Try the conversations.json that is in the zip file."),
    "unpacked": _("The file is larger than %(unpacked)s MB when it is unpacked."),
    "not_json": _("This is neither a zip file nor JSON. Choose the export file as you received it."),
    "cut": _("The file is incomplete or not valid JSON. Download the export again."),
    "bad_zip": _("The zip file is damaged. Download the export again."),
    "packed": _("The compression of the zip file is not supported. Unpack it first and choose its conversations.json."),
    "encrypted": _("The zip file is protected by a password. Unpack it first and choose its conversations.json."),
    "crowded": _("The zip file contains too many files. Unpack it first and choose its conversations.json."),
    "many": _("The file contains more than %(conversations)s conversations."),
    "empty": _("There are no conversations in this file."),
    "missing": _("The file was lost on the server. Choose it again."),
    "faulty": _("The file could not be read after three attempts. The server log has the reason."),
}

CONVERSATION: Mapping[str, Any] = {
    "unknown": _("its format is unknown"),
    "newer": _("it was written by a newer OneClaw"),
    "broken": _("it is not JSON"),
    "empty": _("it has no messages"),
    "too_large": _("it is larger than %(largest)s MB"),
    "too_deep": _("it is nested too deeply"),
    "too_many": _("it has more than %(messages)s messages"),
    "deleted": _("you deleted it; you can restore it on the page of all conversations"),
    "faulty": _("it could not be stored"),
}


def of_file(code: str) -> str:
    return str(FILE[code]) % limits()


def of_conversation(code: str) -> str:
    return str(CONVERSATION[code]) % limits()


def limits() -> dict[str, str]:
    return {
        "file": counted(settings.IMPORT_MEGABYTES),
        "unpacked": counted(settings.IMPORT_UNPACKED_MEGABYTES),
        "largest": counted(LARGEST // 1024 // 1024),
        "messages": counted(MOST_MESSAGES),
        "conversations": counted(MOST_CONVERSATIONS),
    }
