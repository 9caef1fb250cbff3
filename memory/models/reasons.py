"""Why a document was changed, for the history: kept in English in the row, shown in the reader's language."""

import re

from django.utils.translation import gettext, gettext_noop

EDITED = gettext_noop("Edited on the memory page")
LINE_DELETED = gettext_noop("Deleted a line on the memory page")
FILE_DELETED = gettext_noop("Its file was deleted in the folder")
FILE_CHANGED = gettext_noop("Changed in the folder")
FILE_NEW = gettext_noop("A new file in the folder")
LAST_MESSAGES = gettext_noop("The last messages before a new conversation")
FOLDER_IMPORTED = gettext_noop("Imported")
FORGOTTEN = gettext_noop("Something was forgotten")
SAVED = gettext_noop("Saved in a conversation")
KEPT_NEW = gettext_noop("Kept the new of two lines that contradicted each other")
KEPT_OLD = gettext_noop("Kept the old of two lines that contradicted each other")
SAVED_AS_SAID = gettext_noop("Saved as it was said, with its secret")
REMOVED = gettext_noop("Removed a line from which a secret was left out")
ADMIN_EDITED = gettext_noop("Edited in the admin")
ADMIN_DELETED = gettext_noop("Deleted in the admin")
API_WRITTEN = gettext_noop("Written by a program")
API_ADDED = gettext_noop("Added by a program")
# Those that name something.
RESTORED = gettext_noop("Restored change %(number)s")
TAKEN_BACK = gettext_noop("Took change %(number)s back")
NOTES = gettext_noop("Notes of “%(title)s”")
SUMMARY = gettext_noop("Summary of “%(title)s”")
IMPORTED = gettext_noop("Imported from %(name)s")
BOTH_CHANGED = gettext_noop("%(path)s was changed here and in the folder, in the same lines")

NAMING = (RESTORED, TAKEN_BACK, NOTES, SUMMARY, IMPORTED, BOTH_CHANGED)


def shown(reason: str) -> str:
    """A row's reason in the reader's language; what somebody wrote themselves as it is."""
    for template in NAMING:
        pattern = re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.*)", re.escape(template))
        if found := re.fullmatch(pattern, reason, re.DOTALL):
            return gettext(template) % found.groupdict()
    return gettext(reason)
