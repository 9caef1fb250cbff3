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
    "unpacked": _("What is in the file is larger than %(unpacked)s MB once it is unpacked."),
    "not_json": _("This is neither a zip file nor JSON. Choose the export as you have got it."),
    "cut": _("The file ends in the middle, or is no JSON. Download the export again."),
    "bad_zip": _("The zip file is damaged. Download the export again."),
    "packed": _("The zip file is packed in an unusual way. Unpack it first and choose its conversations.json."),
    "encrypted": _("The zip file is locked by a password. Unpack it first and choose its conversations.json."),
    "crowded": _("The zip file holds too many files. Unpack it first and choose its conversations.json."),
    "many": _("The file holds more than %(conversations)s conversations."),
    "empty": _("There are no conversations in this file."),
    "missing": _("The file was lost on the server. Choose it once more."),
    "faulty": _("The file could not be read, three times. Whoever runs this server finds the reason in its log."),
}

CONVERSATION: Mapping[str, Any] = {
    "unknown": _("its format is not known"),
    "newer": _("a newer OneClaw has written it"),
    "broken": _("it is no JSON"),
    "empty": _("nothing was said in it"),
    "too_large": _("it has more than %(largest)s MB"),
    "too_deep": _("its parts lie in each other too deeply"),
    "too_many": _("it has more than %(messages)s messages"),
    "deleted": _("you have deleted it here; it can be restored on the page of all conversations"),
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
