"""Errors and limits of an import; chat/wordings.py has the sentences."""

from django.conf import settings

from oneclaw.reasons import Reason
from oneclaw.text import formatted_number

# Bytes of JSON of one conversation, its messages, and how deep its parts may lie in each other: LibreChat puts answers
# into what they answer, two levels each. What reads them does not recurse.
CONVERSATION_MAX_BYTES = 50 * 1024 * 1024
MAX_MESSAGES = 10_000
NESTING_MAX_LEVELS = 4 * MAX_MESSAGES
# Conversations of one file.
MAX_CONVERSATIONS = 100_000
# Characters of a message; a longer one is cut.
MESSAGE_MAX_CHARS = 200_000


class ImportFileRefusedError(Exception):
    """The whole file cannot be imported. `code` is that of a wording import_file.…."""

    def __init__(self, code: str):
        super().__init__(code)
        self.code = code


class NotImportableError(Exception):
    """One conversation cannot be imported. `code` is that of a wording import_conversation.…."""

    def __init__(self, code: str):
        super().__init__(code)
        self.code = code


def of_file(code: str) -> str:
    return str(Reason(f"import_file.{code}", limits()))


def of_conversation(code: str) -> str:
    return str(Reason(f"import_conversation.{code}", limits()))


def limits() -> dict[str, str]:
    return {
        "file": formatted_number(settings.IMPORT_MEGABYTES),
        "unpacked": formatted_number(settings.IMPORT_UNPACKED_MEGABYTES),
        "largest": formatted_number(CONVERSATION_MAX_BYTES // 1024 // 1024),
        "messages": formatted_number(MAX_MESSAGES),
        "conversations": formatted_number(MAX_CONVERSATIONS),
    }
